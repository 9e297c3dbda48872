"""Hostile schemas of a given size: seven families, each in several forms, that ask a reader for endless work."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

SIZE: Final = 100_000
"""The size of a hostile schema, as JSON text."""

Make = Callable[[int], dict[str, Any]]


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _nested(levels: int, schema: Any, word: str) -> Any:
    for _ in range(levels):
        schema = {word: [schema]}
    return schema


def _linked(count: int, link: Callable[[str, str], Any], last: Any) -> dict[str, Any]:
    """Return definitions of which each leads to the next, and the last one to the end."""
    names = [f"#/$defs/a{number}" for number in range(count + 1)]
    definitions = {f"a{number}": link(names[number + 1], names[(number + 7) % count]) for number in range(count)}
    return {**_object(x={"$ref": names[0]}), "$defs": {**definitions, f"a{count}": last}}


def _numbered(count: int, schema: Any, name: str = "p") -> dict[str, Any]:
    return {f"{name}{number}": schema for number in range(count)}


FAMILIES: Final[Mapping[str, Make]] = {
    "wide enums": lambda n: _object(x={"allOf": [{"enum": [*_numbered(n, 0)]}] * 2}),
    "enums of objects": lambda n: _object(x={"enum": [{"a": number} for number in range(n)]}),
    "enums in alternatives": lambda n: _object(x={"anyOf": [{"enum": [f"a{i}", f"b{i}"]} for i in range(n)]}),
    "long names": lambda n: _object(**{"x" * 500 + name: {"type": "string"} for name in _numbered(n, 0)}),
    "one long name": lambda n: _object(**{"x" * (10 * n): _object(**_numbered(n, {"minLength": 1}))}),
    "deep allOf": lambda n: _object(x=_nested(50, {"properties": _numbered(n, {})}, "allOf")),
    "wide allOf": lambda n: {**_object(), "required": [*_numbered(2 * n, 0)], "allOf": [_object(p=True)] * n},
    "open and closed": lambda n: _object(
        x={"properties": _numbered(n, {"type": "string"}), "allOf": [{"additionalProperties": {}}] * n}
    ),
    "references that double": lambda n: _linked(n, lambda next_, _: {"allOf": [{"$ref": next_}] * 2}, {}),
    "few references that double": lambda n: {
        **_linked(min(n, 16), lambda next_, _: {"allOf": [{"$ref": next_}] * 2}, {"minProperties": 0}),
        "$comment": "x" * n,
    },
    "references that triple": lambda n: _linked(
        n, lambda next_, _: {"anyOf": [{"$ref": next_}] * 3}, {"type": "object", "required": ["z"]}
    ),
    "one definition everywhere": lambda n: {
        **_object(**_numbered(n, {"$ref": "#/$defs/a"})),
        "$defs": {"a": _object(**_numbered(n, {"type": "string"}, "q"))},
    },
    "recursive arrays": lambda n: _object(
        **{f"p{i}": {"type": "array", "items": {"$ref": f"#/properties/p{(i + 1) % n}"}} for i in range(n)}
    ),
    "recursive alternatives": lambda n: _linked(
        n, lambda next_, other: {"anyOf": [{"$ref": next_}, {"type": "array", "items": {"$ref": other}}]}, True
    ),
    "many properties": lambda n: _object(**_numbered(n, {"type": "string"})),
    "many alternatives": lambda n: _object(
        x={"anyOf": [{"properties": {f"p{i}": {}}, "required": [f"p{i}"]} for i in range(n)]}
    ),
    "big numbers": lambda n: _object(**_numbered(n, {"type": "number", "minimum": 10**300, "multipleOf": 1e-300})),
    "one big number": lambda n: _object(x={"type": "integer", "enum": [10**4000] * n}),
    "references by anchor": lambda n: {
        **_object(**{f"p{i}": {"$ref": f"#a{i}"} for i in range(n)}),
        "$defs": {f"d{i}": {"$anchor": f"a{i}"} for i in range(n)},
    },
    "references by id": lambda n: {
        **_object(**{f"p{i}": {"$ref": f"urn:a{i}"} for i in range(n)}),
        "$defs": {f"d{i}": {"$id": f"urn:a{i}"} for i in range(n)},
    },
    "one long pattern": lambda n: _object(p0={"type": "string", "pattern": "(a|b?c*)+" + "[" * n + "]"}),
    "patterns": lambda n: _object(**_numbered(n, {"type": "string", "pattern": "(a{0,99}){0,99}$"})),
}
"""Makes a schema with a number of parts, by the name of the family and form."""
VALUE: Final[dict[str, Any]] = {"x": {}, "p0": "a" * 100_000, "p1": [[[]]], "p2": 1, "p3": [{}] * 60}
"""Arguments that fit none of the schemas."""


def hostile(family: str, size: int = SIZE) -> dict[str, Any]:
    """Return the largest schema of a family whose text is not longer than `size`."""
    make, low, high = FAMILIES[family], 1, 8
    while len(json.dumps(make(high))) < size:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(json.dumps(make(middle))) < size else (low, middle)
    return make(low)
