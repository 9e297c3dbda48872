"""Distinguishes plain functions from coroutine functions without importing `inspect`, which is slow."""

from types import FunctionType, MethodType
from typing import Final

_COROUTINE: Final = 0x180
"""The flags of code whose call returns an awaitable (`inspect.CO_COROUTINE`, `CO_ITERABLE_COROUTINE`)."""


def blocks(function: object) -> bool:
    """Whether a function is a plain one, whose call may block; wrappers are unwrapped."""
    while (inner := getattr(function, "__wrapped__", None)) is not None:
        function = inner
    if isinstance(function, MethodType):
        function = function.__func__
    return isinstance(function, FunctionType) and not function.__code__.co_flags & _COROUTINE
