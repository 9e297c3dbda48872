"""What kind of JSON value something is, for type checkers too."""

import json
from typing import Any, Final, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value is a JSON array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a JSON number; true is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def as_object(value: object) -> dict[str, Any]:
    """Return a value if it is a JSON object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """Return a value if it is a JSON array, else an empty one."""
    return value if is_list(value) else []


NOT_JSON: Final = object()
"""Stands for the value of a text that is not JSON."""


def json_value(text: str | bytes) -> Any:
    """Return the value of a JSON text; `NOT_JSON` if it is not one, or is nested too deeply."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return NOT_JSON
