"""ASGI requests and responses without a framework, their timeouts, and what clients have not read yet."""

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextvars import Context
from itertools import chain
from typing import Any, Final, Generic, TypeAlias, TypeVar

from mcp_runtime.json_text import ENDS
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_REQUEST, write_error
from mcp_runtime.transports.http.events import HttpLimits

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


class TimeLimit(Delay["asyncio.Task[Any]"]):
    """Limits how long a task waits for something.

    Args:
        seconds: the maximum duration in seconds.
    """

    __slots__ = ()

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, _cancel)

    async def within(self, work: Awaitable[T]) -> T:
        """Wait for an awaitable.

        Raises:
            TimeoutError: it took too long.
        """
        task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        self.begin(task)
        try:
            return await work
        except asyncio.CancelledError:
            # Cancelled by the timeout, unless something else cancelled it too.
            if self.end(task) or task.uncancel() > cancelling:
                raise
            raise TimeoutError from None
        finally:
            self._until.pop(task, None)


class Delays:
    """The timeouts of an endpoint.

    Args:
        limits: the duration of each.

    Attributes:
        body: for receiving the body of a request.
        first: for the first message of an answer, by the future that it resolves.
        quiet: for the next event of a stream, by the future that it resolves.
        write: for a client to read what is sent to it.
    """

    __slots__ = ("body", "first", "quiet", "write")

    def __init__(self, limits: HttpLimits) -> None:
        self.body = TimeLimit(limits.body_timeout)
        self.first: Delay[asyncio.Future[None]] = Delay(limits.stream_after, resolve)
        self.quiet: Delay[asyncio.Future[None]] = Delay(limits.keepalive, resolve)
        self.write = TimeLimit(limits.write_timeout)

    def clear(self) -> None:
        """Forget all waits."""
        for delay in (self.body, self.first, self.quiet, self.write):
            delay.clear()


def _cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()


def resolve(future: "asyncio.Future[None]") -> None:
    """Wake up the waiters of a future."""
    if not future.done():
        future.set_result(None)


HIGH_WATER: Final = 64 << 10
"""How many bytes may be queued on each stream, whatever the total, before handlers wait."""


class Unread:
    """How many bytes wait for clients to read them.

    Args:
        limit: the maximum.

    Attributes:
        size: the current number.
    """

    __slots__ = ("limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self.size = 0

    @property
    def is_full(self) -> bool:
        """Whether the maximum is reached."""
        return self.size > self.limit

    def has_room(self, more: int, queued: int = 0) -> bool:
        """Whether more bytes may be queued on a stream or response that has some already."""
        return queued + more <= HIGH_WATER or self.size + more <= self.limit


Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

JSON: Final = b"application/json"
EVENTS: Final = b"text/event-stream"

Headers: TypeAlias = dict[bytes, bytes]
"""The raw headers of a request: most of them are never read."""

_DECODERS: Final[Mapping[bytes, int]] = {
    b"gzip": 16 + zlib.MAX_WBITS,
    b"x-gzip": 16 + zlib.MAX_WBITS,
    b"deflate": zlib.MAX_WBITS,
}
"""Content encodings, and the zlib window for each."""


class Refusal(Exception):
    """A request that is answered with an error status.

    Args:
        status: the HTTP status.
        reason: what is wrong, for people; nothing secret.
        headers: further headers of the response.
    """

    def __init__(self, status: int, reason: str, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.headers = tuple(headers)

    async def answer(self, send: Send) -> None:
        """Send the response; raises what `send` does."""
        await respond(send, self.status, self.body, headers=self.headers)

    @property
    def body(self) -> bytes:
        """A JSON-RPC error without an id, as the body of the response."""
        code = INTERNAL_ERROR if self.status >= 500 else INVALID_REQUEST
        return write_error(None, code, self.reason, null_id=False)


class TooLarge(Refusal):
    """A request whose body is too large.

    Args:
        max_bytes: the maximum size in bytes.
        start: the beginning of the decompressed body, if it was read.
        end: the end of the decompressed body, if it was read.
    """

    def __init__(self, max_bytes: int, start: bytes = b"", end: bytes = b"") -> None:
        # The rest of the body is not read, so the connection cannot be used again.
        super().__init__(413, f"the body has more than {max_bytes:,} bytes", [(b"connection", b"close")])
        self.start = start
        self.end = end


class Disconnected(Exception):
    """The client disconnected, or does not read: an answer would not be read."""


def headers_of(scope: Scope, max_bytes: int) -> Headers:
    """Return the headers of a request: lower-case names, repeated values joined by commas.

    Raises:
        Refusal: they are too large.
    """
    raw: tuple[tuple[bytes, bytes], ...] = tuple(scope["headers"])
    if len(b"".join(chain.from_iterable(raw))) + 4 * len(raw) > max_bytes:
        raise Refusal(431, f"the headers have more than {max_bytes:,} bytes")
    # ASGI requires lower-case names.
    found = dict(raw)
    if len(found) < len(raw):
        found.clear()
        for name, value in raw:
            found[name] = b"%b, %b" % (found[name], value) if name in found else value
    return found


def limited(send: Send, limit: TimeLimit) -> Send:
    """Return ASGI's send function with a limit: it waits for clients that do not read what they were sent before.

    It raises `Disconnected` if a client does not read in time. The ASGI server then closes the connection, as the
    response is incomplete.
    """

    async def send_in_time(message: Message) -> None:
        try:
            await limit.within(send(message))
        except TimeoutError:
            raise Disconnected from None

    return send_in_time


async def respond(send: Send, status: int, body: bytes = b"", *, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
    """Send a response with a complete body; raises what `send` does.

    Args:
        send: ASGI's send function.
        status: the HTTP status.
        body: the body, which is JSON.
        headers: further headers.
    """
    sent = [(b"content-length", b"%d" % len(body)), *headers]
    if body:
        sent.append((b"content-type", JSON))
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await write(send, body, is_last=True)


async def write(send: Send, data: bytes, *, is_last: bool) -> None:
    """Send a part of a body, in pieces: ASGI servers accept the first one, however large it is.

    Between two pieces the event loop runs, since a server may not wait and yet learn that the client has disconnected.
    """
    start = 0
    while len(data) - start > HIGH_WATER:
        piece = data[start : start + HIGH_WATER]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        start += HIGH_WATER
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": data[start:], "more_body": not is_last})


async def read_body(receive: Receive, headers: Headers, *, max_bytes: int, limit: TimeLimit) -> bytes:
    """Read the body of a request, decompressed.

    Args:
        receive: ASGI's receive function.
        headers: the headers of the request.
        max_bytes: the maximum size, before and after decompression.
        limit: the time in which the whole body must arrive.

    Raises:
        TooLarge: the body exceeds `max_bytes`.
        Refusal: it arrives too slowly, or its compression is not supported.
        Disconnected: the client disconnected.
    """
    length = headers.get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > 2 * max_bytes):
        raise TooLarge(max_bytes)
    window = _window(headers[b"content-encoding"]) if b"content-encoding" in headers else None
    try:
        body = await limit.within(_all_parts(receive, max_bytes))
    except TooLarge:
        if window is not None:
            raise TooLarge(max_bytes) from None
        raise
    except TimeoutError:
        raise Refusal(408, f"the body did not arrive within {limit.seconds:g} s") from None
    return body if window is None else _decompressed(body, window, max_bytes)


def _window(encoding: bytes) -> int | None:
    """Return the zlib window for a content encoding; None if there is nothing to decompress.

    Raises:
        Refusal: it is not supported.
    """
    encoding = encoding.strip().lower()
    if encoding in (b"", b"identity"):
        return None
    if encoding not in _DECODERS:
        raise Refusal(415, f"the content encoding must be one of {b', '.join(sorted(_DECODERS)).decode()}")
    return _DECODERS[encoding]


async def _all_parts(receive: Receive, max_bytes: int) -> bytes:
    parts: list[bytes] = []
    size, start, end = 0, b"", b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        part: bytes = message.get("body", b"")
        is_last = not message.get("more_body", False)
        if is_last and not size and len(part) <= max_bytes:
            return part  # Most bodies arrive whole.
        size += len(part)
        if size <= max_bytes:
            parts.append(part)
        else:
            start = start or (b"".join(parts) + part)[:ENDS]
            end = (end + part)[-ENDS:]
            parts.clear()
            if is_last or size > 2 * max_bytes:
                # As much again was read and discarded: clients that are still sending rarely look for a response.
                raise TooLarge(max_bytes, start, end if is_last else b"")
        if is_last:
            return b"".join(parts)


def _decompressed(body: bytes, window: int, max_bytes: int) -> bytes:
    decoder = zlib.decompressobj(window)
    try:
        found = decoder.decompress(body, max_bytes + 1)
    except zlib.error:
        raise Refusal(400, "the body is not compressed as its Content-Encoding says") from None
    if len(found) > max_bytes:
        raise TooLarge(max_bytes, found[:ENDS])
    if not decoder.eof or decoder.unused_data:
        raise Refusal(400, "the body is not compressed as its Content-Encoding says")
    return found
