"""What kind of JSON value something is, for type checkers too."""

import json
from typing import Any, TypeGuard

MAX_DESCRIPTION = 4_000
"""How much of a description becomes documentation, in characters."""


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a JSON number; true is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def default(schema: object) -> str:
    """Return the default of a property, as JSON; empty if its schema has none."""
    return json.dumps(schema["default"]) if is_object(schema) and "default" in schema else ""


def description(schema: object) -> str:
    """Return the description in a schema; may be empty."""
    found = schema.get("description") if is_object(schema) else None
    return found.strip()[:MAX_DESCRIPTION] if isinstance(found, str) else ""
