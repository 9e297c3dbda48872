"""``oneOf``, ``allOf`` and ``contains``: types say what can be decided, and text the rest; judged by jsonschema."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mcp_bindgen.emit.json_schema import json_schema
from mcp_bindgen.ir.diagnostics import Diagnostics
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
BESIDE: list[Any] = [
    *({"required": ["x"]}, {"required": ["kind", "x"]}, {"properties": {"x": STRING}}, {"additionalProperties": False}),
    {"properties": {"kind": STRING}, "additionalProperties": {"type": "integer"}},
    *({"minProperties": 2}, {"required": ["x"], "minLength": 2}, {"properties": {"x": False}}),
]
"""What says something about objects alone, and does not say that a value is one."""
VALUES: list[Any] = [
    *("x", "y", "z", "xyz", "", 0, 1, 2, 1.5, True, None, [], ["x"], [1], {}),
    *(["x", 1], [None, "x", 2], ["y", "y"], [{"kind": "a"}], [{}, 1], {"y": 1}, {"kind": "a", "y": 1}),
    *({"kind": "a"}, {"kind": "b"}, {"kind": "a", "x": "t"}, {"kind": 1}, {"x": "t"}, {"x": 1}, {"kind": "b", "x": 1}),
]


def exclusive(rng: random.Random) -> Any:
    chosen = [rng.choice(MEMBERS) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
    return {"oneOf": [*chosen, chosen[0]] if rng.random() < 0.2 else chosen}


def containing(rng: random.Random) -> Any:
    bounds = rng.choice(({}, {}, {"minContains": 2}, {"minContains": 0, "maxContains": 1}, {"maxContains": 1}))
    listed = {"type": "array", "items": rng.choice(MEMBERS), "contains": rng.choice(MEMBERS), **bounds}
    return rng.choice((listed, {**listed, "type": ["array", "null"]}, {"anyOf": [listed, STRING]}))


def joined(rng: random.Random) -> Any:
    whole, *others = rng.choice(MEMBERS), *rng.sample(BESIDE, rng.choice((1, 1, 2)))
    union = {"anyOf": [whole, rng.choice(MEMBERS)]}
    return rng.choice(({"allOf": [whole, *others]}, {"allOf": [*others, union]}, {"allOf": [whole], **others[0]}))


def schemas(draw: Callable[[random.Random], Any], rng: random.Random, number: int) -> Iterator[Any]:
    for _ in range(number):
        yield draw(rng)


def read(schema: Any) -> tuple[Any, bool]:
    """Return the schema that a type amounts to, and whether text says the rest."""
    declarations, found = read_json({"Whole": schema, **NAMED})
    assert found == []
    definitions = build(declarations, "schema.json", Diagnostics())
    protocol = protocol_of(definitions)
    has_text = any(fact.accepted != "never" for fact in opaque_facts(protocol))
    return {**json_schema(protocol), "$ref": "#/$defs/Whole"}, has_text


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("draw", [exclusive, containing, joined])
def test_what_a_type_says_is_exact_and_text_says_the_rest(
    draw: Callable[[random.Random], Any], seed: int, cases: int
) -> None:
    """Without a text, the type accepts what the schema accepts; with one, all of that and perhaps more."""
    exact = 0
    for schema in schemas(draw, random.Random(seed), 200 if cases >= 3000 else 25):
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
        {"oneOf": [STRING, STRING]},
        {"oneOf": [STRING, {**STRING, "description": "Words."}, INTEGER]},
        {"oneOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/AOrB"}, NULL]},
        {"oneOf": [{"$ref": "#/$defs/MaybeText"}, NULL]},
        {"oneOf": [{"enum": ["x", "y"]}, {"enum": ["y", "z"]}]},
        {"type": "array", "items": STRING, "contains": INTEGER},
        {"type": "array", "items": {"enum": ["x", "y"]}, "contains": STRING, "minContains": 2, "maxContains": 3},
        {"type": "array", "items": {"$ref": "#/$defs/AOrB"}, "contains": NULL, "minContains": 0},
        {"allOf": [{"$ref": "#/$defs/A"}, {"required": ["x"]}]},
        {"allOf": [{"$ref": "#/$defs/AOrB"}, {"properties": {"x": STRING}, "required": ["x"]}]},
        {"allOf": [{"type": ["string", "object"]}, {"required": ["x"]}]},
        {"oneOf": [{"const": f"v{number}", "title": str(number)} for number in range(300)]},
        {
            "oneOf": [
                {"anyOf": [{**STRING, "maxLength": 4}, *({"const": f"v{number}"} for number in range(6000))]},
                *({"const": number} for number in range(6000)),
            ]
        },
    ],
)
def test_what_types_express_needs_no_text(schema: Any) -> None:
    assert not read(schema)[1]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"oneOf": [STRING, {**STRING, "minLength": 1}]}, "exactly one of string, string (min length 1)"),
        (
            {"type": "object", "oneOf": [{"required": ["x"]}, {"required": ["y"]}]},
            'exactly one of {"required": ["x"]}, {"required": ["y"]}',
        ),
        ({"oneOf": [{"const": 1}, {"const": 1.0}]}, "exactly one of 1, 1.0"),
        (
            {"oneOf": [{"minLength": 1}, {"pattern": "^a"}]},
            'exactly one of {"minLength": 1}, {"pattern": "^a"}',
        ),
        (
            {"oneOf": [{"type": "array", "contains": {"type": "null"}}, {"type": "array", "maxItems": 1}]},
            'exactly one of any[] (max items 1), any[] ({"contains": {"type": "null"}})',
        ),
        (
            {"type": "array", "items": {"type": "number"}, "contains": INTEGER, "minContains": 2},
            '{"contains": {"type": "integer"}, "minContains": 2}',
        ),
    ],
)
def test_a_text_says_what_each_of_the_overlapping_types_is(schema: Any, text: str) -> None:
    declarations, _ = read_json({"Whole": schema, **NAMED})
    found = opaque_facts(protocol_of(build(declarations, "schema.json", Diagnostics())))
    assert any(text in fact.opaque.text for fact in found)


@pytest.mark.parametrize(("many", "is_text"), [(50, False), (100, True)])
def test_alternatives_are_compared_up_to_a_bound(many: int, is_text: bool) -> None:
    ours, theirs = ({"anyOf": [tagged(f"{word}{number}") for number in range(many)]} for word in "ab")
    assert read({"type": "array", "items": ours, "contains": theirs})[1] is is_text


@pytest.mark.parametrize("other", [INTEGER, {"const": "b"}, False])
def test_objects_are_not_apart_by_what_they_may_lack(other: Any) -> None:
    optional = {"type": "object", "properties": {"kind": {"const": "a"}}}
    assert read({"oneOf": [optional, {"type": "object", "properties": {"kind": other}}]})[1]
