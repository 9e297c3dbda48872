"""Parsed JSON values: their kinds, and JSON pointers into them (RFC 6901).

A value is what `json.text.read` returns: an object is a dict with str keys, an array a list, a number an int or a
float. A pointer is a sequence of tokens, each after a slash: the name of a property or the index of an item. In a
token, ``~`` is written ``~0`` and ``/`` is written ``~1``.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a parsed JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether a parsed JSON value is an array."""
    return isinstance(value, list)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a parsed JSON value is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def escaped(token: str | int) -> str:
    """Return a token as a pointer contains it.

    Args:
        token: the name of a property, or the index of an item.
    """
    return str(token).replace("~", "~0").replace("/", "~1")


def unescaped(token: str) -> str:
    """Return the name or the index that a token of a pointer stands for.

    Args:
        token: the token, without a slash.
    """
    return token.replace("~1", "/").replace("~0", "~")


def spell_pointer(path: Iterable[str | int]) -> str:
    """Return the pointer to a place in a value; empty for the value itself.

    Args:
        path: the names and indexes that lead to it.
    """
    return "".join(f"/{escaped(token)}" for token in path)


def read_pointer(pointer: str) -> tuple[str, ...]:
    """Return the names and indexes that a pointer consists of.

    Args:
        pointer: the pointer; empty, or beginning with a slash.
    """
    return tuple(map(unescaped, pointer.split("/")[1:]))
