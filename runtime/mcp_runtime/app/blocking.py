"""Notices coroutines that block the event loop, and so every other call of the server."""

from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Final

from mcp_runtime.core import sources

LIMIT: Final = 1.0
"""Seconds that one step of a coroutine may take."""


@coroutine
def watched(running: Coroutine[Any, Any, Any], blocked: Callable[[float], None]) -> Generator[Any, Any, Any]:
    """Await a coroutine, and report each step between two of its awaits that takes longer than `LIMIT`.

    Args:
        running: the coroutine.
        blocked: called with the seconds that a step took.
    """
    step: Callable[[Any], Any] = running.send
    given: Any = None
    while True:
        began = sources.in_use.now()
        try:
            awaited = step(given)
        except StopIteration as end:
            return end.value
        finally:
            if (taken := sources.in_use.now() - began) > LIMIT:
                blocked(taken)
        try:
            step, given = running.send, (yield awaited)
        except BaseException as error:
            step, given = running.throw, error
