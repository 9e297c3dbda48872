"""Finds calls that an author forgot to await: what they would do is not done, and Python only warns of it.

The context of a handler remembers the coroutines of its own calls. After a decorated function has returned, those that
nothing has begun to run are a mistake of its author.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any


class Noting:
    """Remembers the calls of its methods that are `noted`, of which an author may have forgotten to await some."""

    __begun__: tuple[Any, ...] = ()
    """Coroutines."""


def noted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let an object remember the coroutine of each call of a method, as long as nothing awaits it."""

    @wraps(method)
    def begin(self: Noting, *arguments: Any, **options: Any) -> Any:
        begun = method(self, *arguments, **options)
        self.__begun__ = (*filter(_is_waiting, self.__begun__), begun)
        return begun

    return begin


async def forgotten(noting: object) -> list[str]:
    """Return the names of the methods whose calls were never awaited, and end these calls."""
    if not isinstance(noting, Noting) or not noting.__begun__:
        return []
    if any(map(_is_waiting, noting.__begun__)):
        from asyncio import sleep

        await sleep(0)  # A task that was created for one begins now.
    found = [begun for begun in noting.__begun__ if _is_waiting(begun)]
    noting.__begun__ = ()
    for begun in found:
        begun.close()
    return list(dict.fromkeys(begun.__name__ for begun in found))


def _is_waiting(begun: Any) -> bool:
    return begun.cr_frame is not None and not begun.cr_suspended and not begun.cr_running
