"""JSON values: their kinds, for type checkers too, and the pointers into them (RFC 6901).

The compiler has these of its own, since `generate` must work while the runtime or the bindings are broken.
"""

import json
from collections.abc import Iterable
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


def escaped(token: str | int) -> str:
    """Return the name of a property or the index of an item as a pointer contains it."""
    return str(token).replace("~", "~0").replace("/", "~1")


def unescaped(token: str) -> str:
    """Return the name or the index that a token of a pointer, without its slash, stands for."""
    return token.replace("~1", "/").replace("~0", "~")


def spell_pointer(path: Iterable[str | int]) -> str:
    """Return the pointer to a place in a value; empty for the value itself."""
    return "".join(f"/{escaped(token)}" for token in path)


def read_pointer(pointer: str) -> tuple[str, ...]:
    """Return the names and indexes that a pointer, empty or beginning with a slash, consists of."""
    return tuple(map(unescaped, pointer.split("/")[1:]))
