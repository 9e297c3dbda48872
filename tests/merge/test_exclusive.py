"""A ``oneOf`` accepts what exactly one of its members accepts: random schemas, judged by jsonschema."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bindgen.diagnostics import Diagnostics
from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ir.nodes import protocol_of
from mcp_bindgen.ir.spell import opaque_facts
from mcp_bindgen.merge.build import build
from support.samples import read_json

STRING, INTEGER, NULL = {"type": "string"}, {"type": "integer"}, {"type": "null"}


def tagged(value: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"kind": {"const": value}, **more}, "required": ["kind"]}


NAMED: dict[str, Any] = {
    "Text": STRING,
    "Alias": {"$ref": "#/$defs/Text"},
    "MaybeText": {"type": ["string", "null"]},
    "A": tagged("a"),
    "AAgain": tagged("a", x=STRING),
    "B": tagged("b"),
    "AOrB": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
}
MEMBERS: list[Any] = [
    *({"$ref": f"#/$defs/{name}"} for name in NAMED),
    *(STRING, {**STRING, "description": "Words."}, INTEGER, {"type": "number"}, NULL, {"type": "boolean"}),
    *({"enum": ["x", "y"]}, {"const": "y"}, {"const": 1}, {"enum": [None, "z"]}, {"type": ["integer", "null"]}),
    *({**STRING, "maxLength": 1}, {**INTEGER, "minimum": 2}, {"type": "array", "items": STRING}, {"type": "array"}),
    {"type": "object"},
    {"type": "object", "properties": {"x": STRING}, "additionalProperties": False},
    {"type": "object", "properties": {"kind": {"type": "integer"}}},
    {"type": "object", "properties": {"x": STRING}, "allOf": [{"required": ["x"]}, {"required": ["kind"]}]},
    *({}, False, {"anyOf": [STRING, INTEGER]}, {"oneOf": [STRING, {"type": ["string", "null"]}]}),
]
VALUES: list[Any] = [
    *("x", "y", "z", "xyz", "", 0, 1, 2, 1.5, True, None, [], ["x"], [1], {}),
    *({"kind": "a"}, {"kind": "b"}, {"kind": "a", "x": "t"}, {"kind": 1}, {"x": "t"}, {"x": 1}, {"kind": "b", "x": 1}),
]


def schemas(rng: random.Random, number: int) -> Iterator[Any]:
    for _ in range(number):
        chosen = [rng.choice(MEMBERS) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        yield {"oneOf": [*chosen, chosen[0]] if rng.random() < 0.2 else chosen}


def read(schema: Any) -> tuple[Any, bool]:
    """Return the schema that a type amounts to, and whether text says the rest."""
    declarations, found = read_json({"Whole": schema, **NAMED})
    assert found == []
    definitions = build(declarations, "schema.json", Diagnostics())
    protocol = protocol_of(definitions)
    has_text = any(fact.accepted != "never" for fact in opaque_facts(protocol))
    return {**json_schema(protocol), "$ref": "#/$defs/Whole"}, has_text


@pytest.mark.parametrize("seed", range(12))
def test_what_a_type_says_is_exact_and_text_says_the_rest(seed: int, cases: int) -> None:
    """Without a text, the type accepts what the schema accepts; with one, all of that and perhaps more."""
    exact = 0
    for schema in schemas(random.Random(seed), 200 if cases >= 3000 else 25):
        stated: Any = Draft202012Validator({"$defs": NAMED, **schema})
        document, has_text = read(schema)
        typed: Any = Draft202012Validator(document)
        exact += not has_text
        for value in VALUES:
            if stated.is_valid(value):
                assert typed.is_valid(value), (schema, value)
            elif typed.is_valid(value):
                assert has_text, (schema, value)
    assert exact > 3


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [STRING, INTEGER, NULL]},
        {"oneOf": [{"$ref": "#/$defs/AOrB"}, {"type": "array"}, {"const": "x"}, {"enum": [1, 2]}]},
        {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]},
        {"oneOf": [tagged("a"), {"type": "object", "properties": {"kind": {"type": "integer"}}}]},
        {"oneOf": [tagged("a"), {"type": "object", "properties": {"x": STRING}, "additionalProperties": False}]},
        {"type": "object", "properties": {"x": STRING}, "allOf": [{"required": ["x"]}, {"required": ["y"]}]},
        {"oneOf": [{"const": f"v{number}", "title": str(number)} for number in range(300)]},
    ],
)
def test_what_types_express_needs_no_text(schema: Any) -> None:
    assert not read(schema)[1]
