"""ASGI without a framework: a request with its headers, its body and its response, and how long each may take."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Iterator, MutableMapping
from contextlib import nullcontext
from contextvars import Context
from itertools import chain
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.json.text import ENDS
from mcp_runtime.core.transports.http.statuses import Case, HttpLimits, Refusal

K = TypeVar("K")


class Delay(Generic[K]):
    """Reports when a wait takes too long.

    Args:
        seconds: the maximum duration in seconds.
        expire: called with a wait that took too long, which is then forgotten.
    """

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
    """Ends what takes too long, as `asyncio.timeout` does, but with one timer for all tasks that are in it.

    It is a context manager, which raises TimeoutError; a task may be in it once at a time.

    Args:
        seconds: the maximum duration in seconds.
    """

    def __init__(self, seconds: float) -> None:
        self._delay: Delay[asyncio.Task[Any] | None] = Delay(seconds, self._expire)
        self._late: set[asyncio.Task[Any] | None] = set()

    def _expire(self, task: "asyncio.Task[Any] | None") -> None:
        if task is not None and task.cancel():
            self._late.add(task)

    def __enter__(self) -> None:
        self._delay.begin(asyncio.current_task())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        task = asyncio.current_task()
        if self._delay.end(task) or task is None or task not in self._late:
            return
        self._late.discard(task)
        if task.uncancel() == 0 and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def clear(self) -> None:
        """Stop the timer; what still runs is not limited any more."""
        self._delay.clear()


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

_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_FRAMING: Final = (b"transfer-encoding", b"content-length")

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"

Headers: TypeAlias = dict[bytes, bytes]
"""The raw headers of a request: most of them are never read."""


def texts_of(headers: Headers) -> dict[str, str]:
    """Return headers as handlers see them."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}


def is_framed(headers: Iterable[tuple[bytes, bytes]], version: str) -> bool:
    """Return whether all recipients of a request agree on where its body ends.

    Its only transfer coding is chunked, and there is no length beside it (RFC 9112, 6.1 and 6.3).
    """
    given = [(name, value.strip(b" \t").lower()) for name, value in headers if name in _FRAMING]
    return (b"transfer-encoding" not in dict(given)) or (given == [_CHUNKED] and version != "1.0")


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


class Protection(Protocol):
    """What an endpoint needs of its authorization; `mcp_runtime.Bearer` has it."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that every request needs."""
        ...

    @property
    def paths(self) -> frozenset[str]:
        """The paths of its metadata."""
        ...

    async def metadata_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send its metadata (RFC 9728): ASGI's `scope`, `receive` and `send`."""

    async def verify(self, token: str, address: str | None = None) -> Principal:
        """Return the sender of a request, given its `token` and the address that it comes from.

        Raises InvalidToken, or AuthorizationError for now.
        """
        ...

    def challenge(self, error: str = "", reason: str = "", scopes: Collection[str] = ()) -> bytes:
        """Return a ``WWW-Authenticate`` header."""
        ...


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
        headers: its headers, once they are read: lower-case names, repeated values joined by commas.
        sender: who sent it, once that is checked.
    """

    headers: Headers
    sender: Sender

    def __init__(self, scope: Scope, receive: Receive, send: Send, limit: TimeLimit | None = None) -> None:
        self.scope, self.receive = scope, receive
        self._send, self._limit = send, limit or _UNLIMITED

    def read_headers(self, max_bytes: int) -> None:
        """Read the headers.

        Raises:
            Refusal: they are too large.
        """
        raw: tuple[tuple[bytes, bytes], ...] = tuple(self.scope["headers"])
        if len(b"".join(chain.from_iterable(raw))) + 4 * len(raw) > max_bytes:
            raise Refusal(Case.HEADERS_TOO_LARGE, max_bytes)
        # ASGI requires lower-case names.
        self.headers = found = dict(raw)
        if len(found) < len(raw):
            found.clear()
            for name, value in raw:
                found[name] = b"%b, %b" % (found[name], value) if name in found else value

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
                with self._limit:
                    if not at and start is not None:
                        await self._send(start)
                    await self._send(part)
            except TimeoutError:
                raise Disconnected from None


_CLOSE: Final = ((b"connection", b"close"),)
"""The header of an answer to a body that is not read to its end: the connection cannot be used again."""


class TooLarge(Refusal):
    """A request whose body is too large.

    Args:
        max_bytes: the maximum size in bytes.
        start: the beginning of the body, if it was read.
        end: the end of the body, if it was read.
    """

    def __init__(self, max_bytes: int, start: bytes = b"", end: bytes = b"") -> None:
        super().__init__(Case.LONG_BODY, max_bytes, headers=_CLOSE)
        self.start = start
        self.end = end


class Arriving:
    """The bodies that are arriving at an endpoint.

    Args:
        limits: their size, number and time.

    Attributes:
        limits: the same.
        count: counts them.
        time: limits how long each takes.
        size: counts their bytes, except for those of bodies that arrive whole.
    """

    def __init__(self, limits: HttpLimits) -> None:
        self.count = Pool(limits.max_arriving)
        self.size = Pool(max(limits.max_arriving_bytes, 2 * limits.max_message_bytes))
        self.time = TimeLimit(limits.body_timeout)
        self.limits: Final = limits

    async def read(self, request: HttpRequest) -> bytes:
        """Read the body of a request, which is not compressed: clients do not, and a small one could grow large.

        Raises:
            TooLarge: the body is too large.
            Refusal: it arrives too slowly, too much is arriving, or it is compressed.
            Disconnected: the client disconnected.
        """
        headers, peer, limits = request.headers, request.sender.peer, self.limits
        length = headers.get(b"content-length", b"")
        if length.isdigit() and (len(length) > 18 or int(length) > 2 * limits.max_message_bytes):
            raise TooLarge(limits.max_message_bytes)
        if b"content-encoding" in headers and headers[b"content-encoding"].strip().lower() not in (b"", b"identity"):
            raise Refusal(Case.ENCODING)
        if not self.count.take(peer):
            raise Refusal(Case.ARRIVING, headers=_CLOSE)
        try:
            with self.time:
                return await self._parts(request.receive, peer)
        except TimeoutError:
            raise Refusal(Case.SLOW_BODY, limits.body_timeout) from None
        finally:
            self.count.add(peer, -1)

    async def _parts(self, receive: Receive, peer: str | None) -> bytes:
        max_bytes = self.limits.max_message_bytes
        size, start, end, body = 0, b"", b"", bytearray()
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Disconnected
                part: bytes = message.get("body", b"")
                is_last = not message.get("more_body", False)
                if is_last and not size and len(part) <= max_bytes:
                    return part  # Only parts that wait for more are counted.
                size += len(part)
                if size > max_bytes:
                    start = start or bytes((body + part)[:ENDS])
                    end = (end + part)[-ENDS:]
                    self.size.add(peer, -len(body))
                    body.clear()
                    if is_last or size > 2 * max_bytes:
                        # As much again was read and discarded: a client that is sending rarely looks for a response.
                        raise TooLarge(max_bytes, start, end if is_last else b"")
                elif self.size.take(peer, len(part)):
                    body += part
                else:
                    raise Refusal(Case.ARRIVING, headers=_CLOSE)
                if is_last:
                    return bytes(body)
        finally:
            if body:
                self.size.add(peer, -len(body))
