"""What a client is to be told, kept until it reads: nobody waits for one that does not."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import ConnectionClosed

RESOURCE: Final = "resource"
"""What has changed: a resource. A list is named by its area."""
EVERYTHING: Final = "everything"
"""What has changed: nobody knows, since it was too much, or was not heard of."""
MAX_URI: Final = 8_192
"""How many characters the URI of a resource may have for clients to hear of it."""
RELAY: Final = "_mcp_relay"
"""Where a server keeps what joins it with other processes; nowhere if it is alone."""
MAX_NEWS: Final = 10_000
"""How many different changes are kept for a client that does not read; the oldest are dropped beyond that."""


class News:
    """What one client is to be told, and has not been: each change once, however often it came.

    Attributes:
        task: tells the client; None while there is nothing to tell.
    """

    __slots__ = ("_waiting", "task")

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Callable[[], Coroutine[Any, Any, None]]] = {}
        self.task: asyncio.Task[None] | None = None

    def put(
        self, connection: Connection, change: tuple[str, str], tell: Callable[[], Coroutine[Any, Any, None]]
    ) -> "asyncio.Task[None] | None":
        """Keep one more change; returns the task that begins to tell of it, None if one has begun already."""
        self._waiting.pop(change, None)
        self._waiting[change] = tell
        if len(self._waiting) > MAX_NEWS:
            del self._waiting[next(iter(self._waiting))]
        if self.task is not None:
            return None
        self.task = connection.spawn(self._send())
        return self.task

    async def _send(self) -> None:
        """Tell the client, as fast as it reads."""
        try:
            while self._waiting:
                tell = self._waiting.pop(next(iter(self._waiting)))
                with suppress(ConnectionClosed):
                    await tell()
        finally:
            self.task = None


async def begun(telling: "Iterable[asyncio.Task[None] | None]") -> int:
    """Let clients that read be told, and wait for no other; returns how many were given.

    Raises:
        MissingCapability: a change was not to be told of, since nobody declared it.
    """
    tasks = list(telling)
    started = [task for task in tasks if task is not None]
    if started:
        # Those that read have been told after one turn of the event loop.
        await asyncio.wait(started, timeout=0)
    for task in started:
        if task.done() and not task.cancelled():
            task.result()
    return len(tasks)
