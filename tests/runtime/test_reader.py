"""The cost of a message with many errors: bounded work, bounded memory, a short report."""

import tracemalloc
from typing import Any

import pytest

from mcp_bindings.v2025_11_25 import METHODS
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.method import WireType
from mcp_runtime.core.protocol.validation import MAX_FOUND, MAX_REPORTED, Reader

CALL_TOOL: Any = METHODS["tools/call"]
CREATE_ELICITATION: Any = METHODS["elicitation/create"]
GET_PROMPT: Any = METHODS["prompts/get"]
LIST_TOOLS: Any = METHODS["tools/list"]
TOOL: dict[str, Any] = {"name": "t", "inputSchema": {"type": "object"}}


def reading(type_: WireType[Any] | None, value: dict[str, Any]) -> tuple[Any, list[RemoteProtocolError]]:
    assert type_ is not None
    reported: list[RemoteProtocolError] = []
    return Reader("2025-11-25", lenient=True, report=reported.append).read(type_, value, "x"), reported


def peak_while_refused(type_: WireType[Any] | None, value: dict[str, Any]) -> tuple[int, RemoteProtocolError]:
    assert type_ is not None
    type_.compile()
    tracemalloc.start()
    try:
        with pytest.raises(RemoteProtocolError) as refused:
            reading(type_, value)
        return tracemalloc.get_traced_memory()[1], refused.value
    finally:
        tracemalloc.stop()


def test_a_list_reports_its_first_bad_item_only() -> None:
    peak, refused = peak_while_refused(CALL_TOOL.result, {"content": [1] * 1_000_000})
    assert refused.pointer == "/content/0"
    assert peak < 100_000


def test_many_errors_in_an_object_are_counted_instead_of_listed() -> None:
    values: dict[str, Any] = {str(number): None for number in range(MAX_FOUND + 1)}
    peak, refused = peak_while_refused(GET_PROMPT.params, {"name": "p", "arguments": values})
    assert refused.reason == "10,001 values do not match the schema"
    assert peak < 5_000_000


def test_names_in_pointers_are_clipped() -> None:
    _, refused = peak_while_refused(GET_PROMPT.params, {"name": "p", "arguments": {"x" * 1_000_000: 1}})
    assert len(refused.pointer) < 1_000


def test_nulls_in_items_of_a_list_are_repaired_together() -> None:
    tools = [TOOL | {"title": None}] * 5_000 + [TOOL | {"annotations": None}] * 5_000
    read, reported = reading(LIST_TOOLS.result, {"tools": tools})
    assert len(read.tools) == 10_000
    assert [error.pointer for error in reported] == ["/tools/0/title", "/tools/5000/annotations"]


def test_null_as_a_value_is_kept() -> None:
    read, _ = reading(CALL_TOOL.params, {"name": "x", "_meta": None, "arguments": {"_meta": None, "x": [None]}})
    assert read.arguments == {"_meta": None, "x": [None]}


@pytest.mark.slow
def test_remembered_repairs_are_bounded() -> None:
    reported: list[RemoteProtocolError] = []
    reader = Reader("2025-11-25", lenient=True, report=reported.append)
    tracemalloc.start()
    try:
        for number in range(2 * MAX_REPORTED):
            names = {f"{number}{'x' * 100_000}": "kept", f"{number}-{'x' * 100_000}": None}
            assert GET_PROMPT.params is not None
            reader.read(GET_PROMPT.params, {"name": "p", "arguments": names}, "x")
            reported[:-1] = []
        assert tracemalloc.get_traced_memory()[0] < 5_000_000
    finally:
        tracemalloc.stop()


def test_elicited_content_is_read_as_before() -> None:
    read, reported = reading(CREATE_ELICITATION.result, {"action": "accept", "content": {"a": ["x"], "b": 1.5}})
    assert (read.content, reported) == ({"a": ["x"], "b": 1.5}, [])
