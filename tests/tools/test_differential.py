"""The arguments that a generated client accepts are those that jsonschema accepts."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.json_values import is_object
from mcp_bindgen.ir.nodes import Ref
from mcp_bindgen.tool_clients.comparing.narrowing import closed, gaps, read
from mcp_bindgen.values.builder import Builder
from mcp_runtime.tools import Tool, ToolArgumentError, ToolModel, ToolOutputError
from tools.schemas import corpus
from tools.talking import load, text_of, tool, validator

SCHEMAS = dict(corpus())
LOOSER = {
    "patternProperties": "patterns of names have no linear bound, so the runtime leaves them to the server",
}
"""Keywords for which the client accepts more than jsonschema does, and why."""
VALUES: list[Any] = [
    *("", "a", "b", "aa", "abcde", "x", "old", None, True, False, 0, 1, 2, 7, 1.0, 7.0, 1.5, 0.5, -1, 10, 11, 2**53),
    *([], [1], ["a"], ["a", "a"], [1, 2, 3], [None], [[1.5]], [["a"]], ["ab"], ["a", 1]),
    *({}, {"a": "x"}, {"a": "xy", "b": 1}, {"a": 1}, {"a": None}, {"b": 2}, {"x1": "no"}, {"kind": "a"}, {"kind": "c"}),
    *({"value": 1}, {"value": 1, "children": [{"value": 2}]}, {"value": 1, "children": [{}]}, {"a": {"b": {"c": 1}}}),
    *({"a": "x", "z": 1}, {"a": "x", "z": "no"}, {"z": 1}, {"value": 1.0}, {"value": "1"}, {"k": {"a": "x"}}),
]


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tool[Any]]:
    listed = [tool(name, schema) for name, schema in SCHEMAS.items()]
    module = load(text_of(listed), tmp_path_factory.mktemp("tools"))
    return dict(module.TestTools.__tools__)


def test_the_corpus_is_large_enough() -> None:
    assert len(SCHEMAS) >= 200


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_client_and_jsonschema_agree(name: str, tools: dict[str, Tool[Any]]) -> None:
    schema = SCHEMAS[name]
    judge = validator(schema)
    what = name.partition(",")[0]
    seen: Counter[bool] = Counter()
    for arguments in instances(schema):
        expected = bool(judge.is_valid(arguments))
        found = accepts(tools[name], arguments)
        seen[expected] += 1
        assert found == expected or (found and what in LOOSER), arguments
        assert not found or tools[name].check(arguments) == arguments, "sent unchanged"
    assert seen[True] or what in ("false", "enum that contradicts"), "nothing was accepted, so nothing was compared"


@pytest.mark.slow
def test_answers_agree_with_jsonschema_and_are_unchanged(tmp_path: Path, cases: int) -> None:
    schemas = {name: schema for name, schema in SCHEMAS.items() if is_object(schema) and "patternProp" not in name}
    schemas = dict(islice(schemas.items(), None, None, 1 if cases >= 3000 else 4))
    module = load(text_of([tool(name, {"type": "object"}, schema) for name, schema in schemas.items()]), tmp_path)
    for name, schema in schemas.items():
        judge, known = validator(schema), module.TestTools.__tools__[name]
        for answer in instances(schema):
            try:
                found = known.read(answer)
            except ToolOutputError:
                assert not judge.is_valid(answer), (name, answer)
            else:
                assert judge.is_valid(answer), (name, answer)
                assert (json.loads(found.model_dump_json()) if isinstance(found, ToolModel) else found) == answer


@pytest.mark.parametrize("what", LOOSER)
def test_every_exception_is_needed(what: str, tools: dict[str, Tool[Any]]) -> None:
    name = f"{what}, required"
    judge = validator(SCHEMAS[name])
    pairs = [(accepts(tools[name], found), judge.is_valid(found)) for found in instances(SCHEMAS[name])]
    assert any(ours != theirs for ours, theirs in pairs), "remove the unused exception"


def test_most_tools_carry_no_schema() -> None:
    diagnostics = Diagnostics()
    text = text_of([tool(name, schema) for name, schema in SCHEMAS.items()], diagnostics=diagnostics)
    carried = text.count("input_schema=")
    assert 0 < carried < len(SCHEMAS) * 0.6


@pytest.mark.slow
def test_a_change_without_a_gap_refuses_nothing(cases: int) -> None:
    """Compare every schema with some others; without a gap, the second must accept all that the first allows."""
    names = list(SCHEMAS) if cases >= 3000 else list(SCHEMAS)[::2]
    steps = (1, 3, 31) if cases >= 3000 else (1,)
    safe = broken = checked = 0
    for number, name in enumerate(names):
        for other in (names[(number + step) % len(names)] for step in steps):
            found = gaps(SCHEMAS[name], SCHEMAS[other])
            ours, theirs = validator(SCHEMAS[name]), validator(SCHEMAS[other])
            for gap in found:
                broken += gap.is_proven
                assert not gap.is_proven or ours.is_valid(gap.witness)
                assert not gap.is_proven or not theirs.is_valid(gap.witness)
            if not found:
                safe += 1
                sent = validator(closed(SCHEMAS[name]))
                for value in [*instances(SCHEMAS[name]), *samples(SCHEMAS[name])]:
                    if sent.is_valid(value) and ours.is_valid(value):
                        assert theirs.is_valid(value), (name, other, value)
                        checked += 1
    assert safe > 2 * len(steps)
    assert broken > 30 * len(steps)
    assert checked > 150 * len(steps)


def instances(schema: Any) -> Iterator[dict[str, Any]]:
    """Iterate over valid and invalid arguments."""
    properties = properties_of(schema)
    yield {}
    for name in properties or ["x"]:
        others = {other: "y" for other in properties if other != name}
        for value in VALUES:
            yield {name: value}
            yield {**others, name: value}
            yield {**others, name: value, "unknown": 1}
    yield from (value for value in samples(schema) if is_object(value))
    if len(properties) > 2:
        yield dict.fromkeys(properties, "text")
        yield dict.fromkeys(properties, 3)
        yield {"class": "x", **dict.fromkeys(properties, "text")}


def samples(schema: Any) -> Iterator[Any]:
    """Iterate over values that a schema may allow."""
    yield from islice(Builder(read(schema), (1, 3)).along(Ref(name="Value"), ()), 60)


def properties_of(schema: Any) -> dict[str, Any]:
    found = schema.get("properties") if is_object(schema) else None
    return found if is_object(found) else {}


def accepts(known: Tool[Any], arguments: dict[str, Any]) -> bool:
    try:
        known.check(arguments)
    except ToolArgumentError:
        return False
    return True
