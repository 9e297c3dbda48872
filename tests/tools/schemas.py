"""Argument schemas as found in the wild: variants of a property, and of the object around it."""

from collections.abc import Iterator
from typing import Any

from tools.talking import objects

DRAFT7 = "http://json-schema.org/draft-07/schema#"
LATEST = "https://json-schema.org/draft/2020-12/schema"

NODE = objects(
    {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "value"
)

PROPERTIES: dict[str, Any] = {
    "string": {"type": "string"},
    "string with lengths": {"type": "string", "minLength": 2, "maxLength": 4},
    "pattern": {"type": "string", "pattern": "^a+$"},
    "format": {"type": "string", "format": "date-time"},
    "uri": {"type": "string", "format": "uri"},
    "integer": {"type": "integer"},
    "integer within": {"type": "integer", "minimum": 0, "maximum": 10},
    "integer beyond": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10},
    "even": {"type": "integer", "multipleOf": 2},
    "number": {"type": "number"},
    "number within": {"type": "number", "minimum": 0.5, "maximum": 10},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "enum": {"enum": ["a", "b"]},
    "enum with type": {"type": "string", "enum": ["a", "b"]},
    "enum of numbers": {"enum": [1, 2]},
    "enum of all kinds": {"enum": [1, "a", None, True]},
    "enum of objects": {"enum": [{"a": 1}, []]},
    "enum with null": {"type": ["string", "null"], "enum": ["a", None]},
    "enum that contradicts": {"type": "integer", "enum": ["a"]},
    "const": {"const": "x"},
    "const number": {"const": 7},
    "const null": {"const": None},
    "types": {"type": ["string", "null"]},
    "types with bounds": {"type": ["string", "integer"], "minLength": 2},
    "types with properties": {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
    "anyOf": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "anyOf with null": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    "anyOf of bounds": {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]},
    "oneOf": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "oneOf that overlaps": {"oneOf": [{"type": "integer"}, {"type": "number"}]},
    "oneOf of objects": {
        "type": "object",
        "oneOf": [objects({"kind": {"const": "a"}}, "kind"), objects({"kind": {"const": "b"}}, "kind")],
    },
    "allOf": {"allOf": [objects({"a": {"type": "string"}}, "a"), objects({"b": {"type": "integer"}})]},
    "allOf that conflicts": {"allOf": [objects({"a": {"type": "string"}}), objects({"a": {"minLength": 2}})]},
    "allOf of strings": {"allOf": [{"type": "string"}, {"minLength": 2}]},
    "not": {"not": {"type": "string"}},
    "if": {"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}},
    "array": {"type": "array"},
    "array of strings": {"type": "array", "items": {"type": "string"}},
    "array with lengths": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    "array of arrays": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
    "array of bounded": {"type": "array", "items": {"type": "string", "minLength": 2}},
    "array of unique": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    "array of anything": {"type": "array", "items": True},
    "array of nothing": {"type": "array", "items": False},
    "tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    "array that contains": {"type": "array", "contains": {"const": 1}},
    "object": {"type": "object"},
    "object without properties": {"type": "object", "properties": {}},
    "object with members": objects({"a": {"type": "string"}, "b": {"type": "integer"}}, "a"),
    "closed object": objects({"a": {"type": "string"}}, "a", additionalProperties=False),
    "object that is empty": {"type": "object", "additionalProperties": False},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "map of objects": {"type": "object", "additionalProperties": objects({"a": {"type": "string"}}, "a")},
    "object and map": objects({"a": {"type": "string"}}, additionalProperties={"type": "integer"}),
    "patternProperties": {"type": "object", "patternProperties": {"^x": {"type": "integer"}}},
    "minProperties": {"type": "object", "minProperties": 1},
    "required alone": {"type": "object", "required": ["a"]},
    "dependentRequired": objects({"a": {}, "b": {}}, dependentRequired={"a": ["b"]}),
    "anything": {},
    "true": True,
    "false": False,
    "reference": {"$ref": "#/$defs/Name"},
    "reference with words": {"$ref": "#/$defs/Name", "description": "x", "default": "y"},
    "reference to an object": {"$ref": "#/$defs/Node"},
    "reference or null": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
    "reference in definitions": {"$ref": "#/definitions/Old"},
    "array of references": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
    "deep": objects({"a": objects({"b": objects({"c": {"type": "integer"}}, "c")}, "b")}, "a"),
    "default": {"type": "integer", "default": 3},
    "default of a list": {"type": "array", "items": {"type": "string"}, "default": ["a"]},
    "default that is invalid": {"type": "integer", "default": "no"},
}
"""What one property can be."""

DEFINITIONS = {
    "$defs": {"Name": {"type": "string", "minLength": 1}, "Node": NODE},
    "definitions": {"Old": {"enum": ["old", "older"]}},
}

NAMES = [
    "class",
    "a b",
    "1st",
    "",
    "é",
    "from",
    "self",
    "options",
    "model_dump",
    "copy",
    "list",
    "str",
    "_x",
    "__x__",
    "a-b",
]

WHOLE: dict[str, Any] = {
    "no properties": {"type": "object"},
    "empty properties": {"type": "object", "properties": {}},
    "closed and empty": {"type": "object", "properties": {}, "additionalProperties": False},
    "nothing said": {},
    "true": True,
    "free map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "alternatives": {
        "type": "object",
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": {}, "b": {}},
    },
    "oneOf at the root": {"oneOf": [objects({"a": {"type": "string"}}, "a"), objects({"b": {"type": "string"}}, "b")]},
    "allOf at the root": {"allOf": [objects({"a": {"type": "string"}}, "a"), objects({"b": {"type": "integer"}})]},
    "reference at the root": {"$ref": "#/$defs/Node", "$defs": {"Node": NODE}},
    "itself": objects({"next": {"$ref": "#"}, "x": {"type": "string"}}),
    "dependent": objects({"a": {"type": "string"}, "b": {"type": "string"}}, dependentRequired={"a": ["b"]}),
    "names": objects({name: {"type": "string"} for name in NAMES}, "class"),
    "names required": objects({name: {"type": "integer"} for name in NAMES}, *NAMES),
    "names that collide": objects({"a b": {"type": "string"}, "a_b": {"type": "integer"}, "aB": {"type": "boolean"}}),
}


def corpus() -> Iterator[tuple[str, Any]]:
    """Iterate over all schemas by name: each property required, optional, with others, and in the older dialect."""
    for name, schema in PROPERTIES.items():
        old = {"$schema": DRAFT7} if name not in ("tuple", "dependentRequired") else {}
        yield f"{name}, required", {**objects({"x": schema}, "x"), **DEFINITIONS}
        yield f"{name}, optional", {**objects({"x": schema}, **old), **DEFINITIONS}
        closed = objects({"x": schema, "y": {"type": "string"}}, "y", additionalProperties=False)
        yield f"{name}, closed", {"$schema": LATEST, **closed, **DEFINITIONS}
    yield from WHOLE.items()
