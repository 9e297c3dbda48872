"""How the processes of one server share changes, so that each can notify its own clients."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final, Protocol

__all__ = ["FanOut", "MemoryFanOut"]

MAX_WAITING: Final = 10_000
"""How many messages a `MemoryFanOut` keeps for a server that does not read them."""


class FanOut(Protocol):
    """Carries short messages to all processes of a server, this one included.

    It may be slow, it may raise, and it may lose messages, as long as it reports that.
    """

    async def publish(self, message: bytes) -> None:
        """Send a message to everything that currently iterates over `messages`.

        Args:
            message: a short message.

        Raises:
            Exception: the message may not have been sent; it is published again later.
        """
        ...

    def messages(self) -> AsyncGenerator[bytes | None]:
        """Iterate over the messages that are sent from now on.

        None comes first, once nothing is missed any more, and again whenever messages may have been lost.

        Raises:
            Exception: the iteration cannot continue; `messages` is called again later.
        """
        ...


class MemoryFanOut:
    """Connects server objects in the same event loop: for tests, or if several of them share their data."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes | None]] = set()

    async def publish(self, message: bytes) -> None:
        """Send `message` to everything that currently iterates over `messages`."""
        for queue in tuple(self._queues):
            if queue.qsize() < MAX_WAITING:
                queue.put_nowait(message)
            else:
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)

    async def messages(self) -> AsyncGenerator[bytes | None]:
        """Iterate over the messages that are sent from now on; None where some of them were dropped."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield None
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)
