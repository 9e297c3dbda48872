"""Pending changes for a client, kept until it reads: no client delays another."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import ConnectionClosed

RESOURCE: Final = "resource"
"""The kind of a change: a resource. A list is named by its area."""
EVERYTHING: Final = "everything"
"""The kind of a change: unknown, since there were too many changes, or some were missed."""
MAX_URI: Final = 8_192
"""The maximum length in characters of a resource URI that is reported to clients."""
RELAY: Final = "_mcp_relay"
"""The attribute of a server that holds its relay to other processes; absent if there is none."""
MAX_NEWS: Final = 10_000
"""How many different changes are kept for a client that does not read; beyond that the oldest are dropped."""


class News:
    """The pending changes for one client: each change once, however often it happened.

    Attributes:
        task: notifies the client; None while nothing is pending.
    """

    __slots__ = ("_waiting", "task")

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Callable[[], Coroutine[Any, Any, None]]] = {}
        self.task: asyncio.Task[None] | None = None

    def put(
        self, connection: Connection, change: tuple[str, str], tell: Callable[[], Coroutine[Any, Any, None]]
    ) -> "asyncio.Task[None] | None":
        """Add a change; return the task that notifies the client, None if it is running already."""
        self._waiting.pop(change, None)
        self._waiting[change] = tell
        if len(self._waiting) > MAX_NEWS:
            del self._waiting[next(iter(self._waiting))]
        if self.task is not None:
            return None
        self.task = connection.spawn(self._send())
        return self.task

    async def _send(self) -> None:
        """Notify the client, as fast as it reads."""
        try:
            while self._waiting:
                tell = self._waiting.pop(next(iter(self._waiting)))
                with suppress(ConnectionClosed):
                    await tell()
        finally:
            self.task = None


async def begun(telling: "Iterable[asyncio.Task[None] | None]") -> int:
    """Let clients that read be notified, without waiting for the others; return how many changes were given.

    Raises:
        MissingCapability: a change must not be reported, since the capability was not declared.
    """
    tasks = list(telling)
    started = [task for task in tasks if task is not None]
    if started:
        # Clients that read have been notified after one turn of the event loop.
        await asyncio.wait(started, timeout=0)
    for task in started:
        if task.done() and not task.cancelled():
            task.result()
    return len(tasks)
