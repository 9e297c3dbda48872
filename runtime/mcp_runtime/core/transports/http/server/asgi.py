"""ASGI without a framework: its types, timeouts, and responses that wait for their clients to read."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator, MutableMapping
from contextlib import contextmanager, nullcontext
from contextvars import Context
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.journal import log
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.transports.http.statuses import Refusal

K = TypeVar("K")
T = TypeVar("T")


class Delay(Generic[K]):
    """Reports when a wait takes too long.

    Args:
        seconds: the maximum duration in seconds.
        expire: called with a wait that took too long, which is then forgotten.
    """

    __slots__ = ("_expire", "_loop", "_timer", "_until", "seconds")

    def __init__(self, seconds: float, expire: Callable[[K], object]) -> None:
        self.seconds: Final = seconds
        self._expire = expire
        # In the order of their ends, since all have the same length.
        self._until: dict[K, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, wait: K) -> None:
        """Begin a wait that is not running yet."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # An application may outlive the loop in which it was first called.
            self._until.clear()
            self._loop, self._timer = loop, None
        self._until[wait] = until = loop.time() + self.seconds
        if self._timer is None:
            self._wake_at(loop, until)

    def end(self, wait: K) -> bool:
        """End a wait; return whether it was in time."""
        return self._until.pop(wait, None) is not None

    def __iter__(self) -> Iterator[K]:
        """Return the waits that are running, the oldest first."""
        return iter(self._until)

    def clear(self) -> None:
        """Forget all waits, and stop the timer."""
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake_at(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        # In its own context: otherwise the current request's context would be kept alive as long.
        self._timer = loop.call_at(until, self._look, loop, until, context=Context())

    def _look(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        # The timer is not moved when a wait ends, so it may belong to one that is over.
        self._timer = None
        now = max(now, loop.time())
        while self._until:
            wait, until = next(iter(self._until.items()))
            if until > now:
                self._wake_at(loop, until)
                return
            del self._until[wait]
            self._expire(wait)


class TimeLimit:
    """Ends what takes too long, as `asyncio.timeout` does, but with one timer for all that runs at the same time.

    Args:
        seconds: the maximum duration in seconds.
    """

    __slots__ = ("_delay",)

    def __init__(self, seconds: float) -> None:
        self._delay: Delay[_Limited] = Delay(seconds, _Limited.expire)

    def __call__(self) -> "_Limited":
        """Return a context that raises TimeoutError if it takes too long."""
        return _Limited(self._delay)

    def clear(self) -> None:
        """Stop the timer; what still runs is not limited any more."""
        self._delay.clear()


class _Limited:
    __slots__ = ("_delay", "_is_late", "_task")

    def __init__(self, delay: "Delay[_Limited]") -> None:
        self._delay = delay
        self._task = asyncio.current_task()
        self._is_late = False

    def expire(self) -> None:
        self._is_late = self._task is not None and self._task.cancel()

    def __enter__(self) -> None:
        self._delay.begin(self)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        self._delay.end(self)
        if self._is_late and self._task and self._task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error


_UNLIMITED: Final = nullcontext()


def resolve(future: "asyncio.Future[None]") -> None:
    """Wake up the waiters of a future."""
    if not future.done():
        future.set_result(None)


HIGH_WATER: Final = 64 << 10
"""How many bytes may be queued on each stream, whatever the total, before handlers wait."""


Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"
EVENTS: Final = b"text/event-stream"

Headers: TypeAlias = dict[bytes, bytes]
"""The raw headers of a request: most of them are never read."""


def texts_of(headers: Headers) -> dict[str, str]:
    """Return headers as handlers see them."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}


class Sender(NamedTuple):
    """Who sent a request.

    Attributes:
        principal: the authenticated sender; None if unknown.
        address: an IPv4 address, or the /64 of an IPv6 address; None if unknown, as over a Unix socket.
    """

    principal: Principal | None = None
    address: str | None = None

    @property
    def peer(self) -> str | None:
        """The name that limits per client use: the principal, or else the address."""
        return self.address if self.principal is None else self.principal.key


class Disconnected(Exception):
    """The client disconnected, or does not read: an answer would not be read."""


class HttpRequest:
    """One request, and the response to it, which waits for a client that does not read what it was sent before.

    Args:
        scope: the scope of the request.
        receive: ASGI's function to read its body.
        send: ASGI's function to send the response.
        limit: the time in which the client must read a part; None for any.

    Attributes:
        headers: its headers; they and its sender are known once they are checked.
        sender: who sent it.
    """

    __slots__ = ("_limit", "_send", "headers", "receive", "scope", "sender")

    headers: Headers
    sender: Sender

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: TimeLimit | None = None) -> None:
        self.scope, self.receive = scope, receive
        self._send, self._limit = send, limit

    def respond(
        self, status: int, body: bytes = b"", *, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> Coroutine[Any, Any, None]:
        """Send a response with a complete body, which is JSON.

        Raises:
            Disconnected: the client does not read. The ASGI server then closes the connection, as the response is
                incomplete.
        """
        sent = [(b"content-length", b"%d" % len(body)), *headers]
        if body:
            sent.append((b"content-type", JSON))
        return self.write({"type": "http.response.start", "status": status, "headers": sent}, body, is_last=True)

    def refuse(self, refusal: Refusal) -> Coroutine[Any, Any, None]:
        """Send the response to a request that is refused; raises Disconnected."""
        return self.respond(refusal.status, refusal.body, headers=refusal.headers)

    async def write(self, start: Message | None, data: bytes, *, is_last: bool) -> None:
        """Send a part of a response, in pieces: ASGI servers accept the first one, however large it is.

        Between two pieces the event loop runs, since a server may not wait and yet learn that the client has
        disconnected.

        Args:
            start: the start of the response; None if it was sent.
            data: a part of the body.
            is_last: whether it is the last part.

        Raises:
            Disconnected: the client does not read.
        """
        for at in range(0, len(data) or 1, HIGH_WATER):
            if at:
                await asyncio.sleep(0)
            more = not is_last or len(data) - at > HIGH_WATER
            part = {"type": "http.response.body", "body": data[at : at + HIGH_WATER], "more_body": more}
            try:
                with _UNLIMITED if self._limit is None else self._limit():
                    if not at and start is not None:
                        await self._send(start)
                    await self._send(part)
            except TimeoutError:
                raise Disconnected from None


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
def until(moment: float | None, act: Callable[[T], object], about: T) -> Generator[None]:
    """Call a function if a block is still running at a time, in seconds since the epoch; None for never."""
    timer = None
    if moment is not None:
        timer = asyncio.get_running_loop().call_later(moment - sources.wall(), act, about)
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

    __slots__ = ("_drained", "_peer", "_queue", "_task", "_unread", "_waiter", "is_over", "queued", "was_cut")

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
