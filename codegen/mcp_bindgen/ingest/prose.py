"""Take the prose out of a JSON Schema, so that only its structure is left."""

from typing import Any

from mcp_bindgen.json_values import is_list, is_object

PROSE = frozenset(("description", "title", "$comment", "examples"))
_NAMED = frozenset(("properties", "definitions", "$defs"))


def without_prose(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without its prose; a property that is called like a keyword of prose stays."""
    return {
        word: _named(value) if word in _NAMED else _plain(value) for word, value in schema.items() if word not in PROSE
    }


def _named(members: object) -> object:
    return {name: _plain(member) for name, member in members.items()} if is_object(members) else members


def _plain(value: object) -> object:
    if is_object(value):
        return without_prose(value)
    return [_plain(item) for item in value] if is_list(value) else value
