"""The chain of middleware around a message."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Passes a message on: to the next middleware, and finally to the handler or the peer."""


async def through(middleware: Sequence[Callable[[T, Proceed], Awaitable[Any]]], message: T, last: Proceed) -> Any:
    """Pass a message through middleware, the first one outermost."""
    proceed = last
    for each in reversed(middleware):
        proceed = _around(each, message, proceed)
    return await proceed()


def _around(each: Callable[[T, Proceed], Awaitable[Any]], message: T, proceed: Proceed) -> Proceed:
    def go_on() -> Awaitable[Any]:
        return each(message, proceed)

    return go_on
