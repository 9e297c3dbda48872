"""What streams to clients are sent through: an open response, and the transport that it belongs to."""

import asyncio
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.timers import Journal, endpoint_journal, log
from mcp_runtime.core.connection.transport import Channel, Receiver, Transport
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.transports.http.events import EventLog
from mcp_runtime.core.transports.http.server.asgi import HIGH_WATER, Delay, Receive, resolve
from mcp_runtime.core.transports.http.statuses import HttpLimits

T = TypeVar("T", bound=Channel)


class Shared(NamedTuple):
    """What the sessions of an endpoint have in common.

    Attributes:
        limits: resource limits.
        events: stores what was sent on streams; None to store nothing.
        unread: counts the bytes that clients have not read yet.
        journal: limits the log lines about all sessions.
    """

    limits: HttpLimits
    events: EventLog | None
    unread: Pool
    journal: Journal

    @classmethod
    def of(cls, limits: HttpLimits, events: EventLog | None) -> "Shared":
        """Return what sessions with these limits and this store share."""
        return cls(limits, events, Pool(limits.max_unread_total), endpoint_journal())


class Owner(Transport):
    """A transport with a channel for each POST.

    Attributes:
        id: its id.
        shared: what all sessions have in common.
        primes: whether streams begin with an event without data, so that clients can resume them from the start.
        connection: the conversation over it.
        receiver: receives the messages.
    """

    id = ""
    shared: Shared
    primes = False
    connection: Connection
    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages."""
        self.receiver = receiver

    @abstractmethod
    def finished(self, stream: Any) -> None:
        """Forget a stream that has ended."""


async def watch(receive: Receive, left: Callable[[], None]) -> None:
    """Wait until the client of a request disconnects, then call `left`."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except Exception as error:
        # Middleware may raise instead; without `receive`, nothing would tell that the client is gone.
        log.warning("a client counts as disconnected, since receiving failed: %s", clipped(repr(error)))
    left()


@contextmanager
def until_expired(stream: T, act: Callable[[T], object]) -> Generator[None]:
    """Call a function if a block is still running when the token of a stream's latest sender has expired."""
    timer: asyncio.TimerHandle | None = None

    def check() -> None:
        nonlocal timer
        expires = stream.principal.expires if stream.principal else None
        if expires is not None and expires <= sources.wall():
            act(stream)
        elif expires is not None:
            timer = asyncio.get_running_loop().call_later(expires - sources.wall(), check)

    check()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


class Outlet:
    """An open HTTP response through which the events of a stream are sent.

    Args:
        unread: counts the bytes that wait to be sent.
        peer: the client.

    Attributes:
        is_over: whether nothing more will be queued.
        was_cut: whether it was ended because the client did not read.
        queued: how many bytes wait to be sent.
    """

    def __init__(self, unread: Pool, peer: str | None) -> None:
        self._queue: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._task = asyncio.current_task()
        self._unread = unread
        self._peer = peer
        self.queued = 0
        self.is_over = False
        self.was_cut = False

    def put(self, data: bytes) -> None:
        """Queue bytes for the response."""
        if not self.is_over:
            self._queue.append(data)
            self.queued += len(data)
            self._unread.add(self._peer, len(data))
            self._wake()

    def take(self) -> tuple[bytes, bool]:
        """Return what is queued, or as much as is written at once, and whether that is the end."""
        queue = self._queue
        if self.queued <= HIGH_WATER or len(queue) <= 1:
            data = b"".join(queue)
            queue.clear()
            return data, self.is_over
        parts, size = [queue.popleft()], 0
        while queue and (size := size + len(parts[-1])) + len(queue[0]) <= HIGH_WATER:
            parts.append(queue.popleft())
        return b"".join(parts), self.is_over and not queue

    def written(self, data: bytes) -> None:
        """Record that bytes have been sent."""
        self.queued -= len(data)
        self._unread.add(self._peer, -len(data))
        if self._drained is not None and self.queued <= HIGH_WATER and not self._drained.done():
            self._drained.set_result(None)

    def end(self) -> None:
        """End the response once everything queued has been sent."""
        self.is_over = True
        self._wake()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def cut(self) -> None:
        """End the response now: the client reads too slowly, or disconnected."""
        self._queue.clear()
        self.was_cut = True
        self.end()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    def leave(self) -> None:
        """Handle that the client disconnected."""
        # Once the end is being written, the ASGI server reports it in the same way.
        if not self.is_over:
            self.cut()

    def close(self) -> None:
        """Handle that the response is over; queued bytes are dropped."""
        self._queue.clear()
        self._unread.add(self._peer, -self.queued)
        self.queued = 0

    async def changed(self, quiet: "Delay[asyncio.Future[None]]") -> bool:
        """Wait until something is queued or the end has come; return False after a delay."""
        if self._queue or self.is_over:
            return True
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        quiet.begin(waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            quiet.end(waiter)
        return bool(self._queue) or self.is_over

    async def drained(self) -> None:
        """Wait until few bytes are queued, or the response has ended."""
        if self.queued > HIGH_WATER and not self.is_over:
            if self._drained is None or self._drained.done():
                self._drained = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)

    def _wake(self) -> None:
        if self._waiter is not None:
            resolve(self._waiter)
