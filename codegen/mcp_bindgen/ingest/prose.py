"""Take the prose out of a JSON Schema, so that only its structure is left."""

from typing import Any, cast

PROSE = frozenset(("description", "title", "$comment", "examples"))
_NAMED = frozenset(("properties", "definitions", "$defs"))


def without_prose(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without its prose; a property that is called like a keyword of prose stays."""
    return {
        word: _named(value) if word in _NAMED else _plain(value) for word, value in schema.items() if word not in PROSE
    }


def _named(members: object) -> object:
    if not isinstance(members, dict):
        return members
    return {name: _plain(member) for name, member in cast(dict[str, object], members).items()}


def _plain(value: object) -> object:
    match value:
        case dict():
            return without_prose(cast(dict[str, Any], value))
        case list():
            return [_plain(item) for item in cast(list[object], value)]
        case _:
            return value
