"""Received notifications: as an async iterator, and for handlers, of which a limited number runs at once."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, Generic, TypeAlias, TypeVar

from mcp_runtime.connection.calls import LIGHT, Reservation, ReservedBytes
from mcp_runtime.connection.link import Link
from mcp_runtime.errors import ConnectionClosed

P = TypeVar("P")


class NotificationStream(Generic[P]):
    """The params of one method's notifications, as they arrive; ends with the connection, or when it is closed.

    Attributes:
        dropped: how many were dropped, oldest first, because the reader was slower than the peer.
    """

    def __init__(self, limit: int, max_bytes: int, forget: "Callable[[NotificationStream[P]], None]") -> None:
        self.dropped = 0
        self._limit = limit
        self._max_bytes = max_bytes
        self._bytes = 0
        self._sizes: deque[int] = deque()
        self._forget = forget
        self._items: deque[P | None] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def put(self, params: P | None, size: int) -> None:
        """Add the params of one notification.

        Args:
            params: the params; None if it has none.
            size: the length of its text in bytes.
        """
        while self._items and (len(self._items) >= self._limit or self._bytes + size > self._max_bytes):
            self._take()
            self.dropped += 1
        self._items.append(params)
        self._sizes.append(size)
        self._bytes += size
        self._wake()

    def _take(self) -> P | None:
        self._bytes -= self._sizes.popleft()
        return self._items.popleft()

    def close(self) -> None:
        """Stop receiving; what has arrived can still be read."""
        self._is_closed = True
        self._forget(self)
        self._wake()

    def __aiter__(self) -> "NotificationStream[P]":
        return self

    async def __anext__(self) -> P | None:
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()

    async def next(self, timeout: float | None = None) -> P | None:
        """Wait for the next notification, and return its params.

        Args:
            timeout: seconds to wait; None to wait indefinitely.

        Raises:
            TimeoutError: none arrived in time.
            ConnectionClosed: no more will arrive.
        """
        try:
            async with asyncio.timeout(timeout):
                return await anext(self)
        except StopAsyncIteration:
            raise ConnectionClosed("the stream of notifications is closed") from None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


Run: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class NotificationQueue:
    """Runs the handlers of notifications, in order.

    Args:
        link: its limits and background tasks.
        reserved: the memory taken by the peer's messages.
    """

    __slots__ = ("_link", "_reserved", "_running", "_waiting")

    def __init__(self, link: Link, reserved: ReservedBytes) -> None:
        self._link = link
        self._reserved = reserved
        self._running = 0
        self._waiting: deque[tuple[Run, Reservation | None, Context]] = deque()

    def take(self, text: bytes, parts: int, peer: str | None, run: Run) -> bool:
        """Run a handler now or later; return whether there is room.

        Args:
            text: the message, or the batch that contains it.
            parts: how many messages the text contains.
            peer: the peer that sent it.
            run: runs the handler.
        """
        limits = self._link.limits
        has_turn = self._running < limits.max_in_flight
        if not has_turn and len(self._waiting) >= limits.max_queued:
            return False
        held = None
        if (len(text) > LIGHT or not has_turn) and (held := self._reserved.reserve(text, parts, peer)) is None:
            return False
        if has_turn:
            self._begin(run, held)
        else:
            # Run it in its own contextvars context, not in that of the handler that makes room for it.
            self._waiting.append((run, held, copy_context()))
        return True

    def clear(self) -> None:
        """Drop the queued handlers."""
        self._waiting.clear()

    def _begin(self, run: Run, held: Reservation | None) -> None:
        self._running += 1
        self._link.background.spawn(self._take_turn(run, held))

    async def _take_turn(self, run: Run, held: Reservation | None) -> None:
        try:
            await run()
        finally:
            self._running -= 1
            if held is not None:
                held.release()
            while self._waiting and self._running < self._link.limits.max_in_flight:
                following, its, context = self._waiting.popleft()
                context.run(self._begin, following, its)
