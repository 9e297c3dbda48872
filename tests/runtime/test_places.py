"""Where a peer's message is wrong: the pointer, the intended union branch, and what is repaired."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.methods import ELICITATION_CREATE, TOOLS_CALL
from mcp_runtime.core.errors import McpError, RemoteProtocolError
from mcp_runtime.core.protocol.validation import Reader

FORM: dict[str, Any] = {"type": "object", "properties": {}}


def result(*content: Any) -> dict[str, Any]:
    return {"content": list(content)}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "text", "text": "x", **more}


def resource(**more: Any) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": "file:///x", **more}}


def read(type_: Any, value: dict[str, Any]) -> tuple[Any, list[str]]:
    """Read leniently; return the value and the pointers of the repairs."""
    repaired: list[McpError] = []
    read = Reader("2025-11-25", lenient=True, report=repaired.append).read(type_, value, "m")
    return read, [error.pointer for error in repaired if isinstance(error, RemoteProtocolError)]


@pytest.mark.parametrize(
    ("value", "pointers"),
    [
        (result(text(annotations=None)), ["/content/0/annotations"]),
        (result(text(), text(annotations=None, _meta=None)), ["/content/1/_meta", "/content/1/annotations"]),
        (result(text(annotations={"priority": None})), ["/content/0/annotations/priority"]),
        (result(resource(text="t", mimeType=None)), ["/content/0/resource/mimeType"]),
        (result(resource(blob="", text=None)), []),
        (result({**resource(text="t"), "annotations": None}), ["/content/0/annotations"]),
    ],
)
def test_a_null_inside_a_block_is_repaired(value: dict[str, Any], pointers: list[str]) -> None:
    parsed, repaired = read(TOOLS_CALL.result, value)
    assert isinstance(parsed, v.CallToolResult) and sorted(repaired) == pointers


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        (result(text(text=5)), "/content/0/text"),
        (result(text(text=None)), "/content/0/text"),
        (result({"type": "text"}), "/content/0/text"),
        (result(text(text=None, annotations=5)), "/content/0/text"),
        (result(text(annotations={"priority": "high"})), "/content/0/annotations/priority"),
        (result(resource(text=5)), "/content/0/resource/text"),
        (result(resource(blob=5)), "/content/0/resource/blob"),
        (result({"type": "resource"}), "/content/0/resource"),
        (result({"type": "resource", "resource": 5}), "/content/0/resource"),
        (result({"type": "image", "data": "", "mimeType": 5}), "/content/0/mimeType"),
    ],
)
def test_a_wrong_type_inside_a_block_has_its_pointer(value: dict[str, Any], pointer: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read(TOOLS_CALL.result, value)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    ("params", "pointer"),
    [
        ({"mode": "url", "message": "m", "elicitationId": "i", "url": 5}, "/url"),
        ({"mode": "url", "message": "m", "elicitationId": "i"}, "/url"),
        ({"mode": "form", "message": "m"}, "/requestedSchema"),
        ({"message": "m"}, "/requestedSchema"),
        ({"message": "m", "elicitationId": "i", "url": "https://x.example"}, "/requestedSchema"),
        ({"message": 5, "requestedSchema": FORM}, "/message"),
        ({"mode": "url", "message": 5, "elicitationId": "i", "url": "https://x.example"}, "/message"),
        (
            {
                "message": "m",
                "requestedSchema": {**FORM, "properties": {"a": {"type": "string", "minLength": "x"}}},
            },
            "/requestedSchema/properties/a/minLength",
        ),
    ],
)
def test_elicitation_is_validated_by_its_mode(params: dict[str, Any], pointer: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read(ELICITATION_CREATE.params, params)
    assert caught.value.pointer == pointer
    assert "mode" not in caught.value.reason and ("url" not in caught.value.reason or pointer == "/url")


def test_an_unknown_mode_is_reported() -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read(ELICITATION_CREATE.params, {"mode": "telepathy", "message": "m"})
    assert caught.value.pointer == "/mode"


@pytest.mark.parametrize("mode", ["form", "url"])
def test_a_null_is_repaired_in_the_mode_that_is_named(mode: str) -> None:
    more = {"requestedSchema": FORM} if mode == "form" else {"elicitationId": "i", "url": "https://x.example"}
    parsed, repaired = read(ELICITATION_CREATE.params, {"mode": mode, "message": "m", "task": None, **more})
    assert parsed.mode == mode and repaired == ["/task"]
