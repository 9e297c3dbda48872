"""The sessions of one endpoint: a transport each, with a channel for each POST (basic/transports)."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.requester import UNKNOWN_CLIENT
from mcp_runtime.core.connection.transport import ANSWER_SENT, Sent
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.handshake.server import start_session
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol.jsonrpc import dump, parse, write_notification, write_request
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_INITIALIZED
from mcp_runtime.core.transports.http.server.asgi import SESSION, VERSION, Delay, Headers, Sender
from mcp_runtime.core.transports.http.server.outlet import Owner, Shared
from mcp_runtime.core.transports.http.server.streams import CommonStream, Stream
from mcp_runtime.core.transports.http.statuses import Case, Refusal

ASSUMED: Final = "2025-03-26"
"""The revision of a client that names none (basic/transports, Protocol Version Header)."""


def method_of(body: bytes) -> Any:
    """Return the method of a message; None if it has none.

    Raises:
        Fault: it is not JSON.
    """
    value = parse(body)
    return value.get("method") if is_object(value) else None


def missing_before(method: Any, revision: str) -> tuple[bytes, ...]:
    """Return the messages that should have preceded a request of a client without a session.

    Args:
        method: the method of the request.
        revision: the revision of the client.
    """
    if method == INITIALIZE:
        return ()
    params = dump({"protocolVersion": revision, "capabilities": {}, "clientInfo": UNKNOWN_CLIENT})
    hello = write_request("handshake", INITIALIZE, params)
    ready = write_notification(NOTIFICATIONS_INITIALIZED, None)
    return (hello,) if method == NOTIFICATIONS_INITIALIZED else (hello, ready)


PRIMES_SINCE: Final = "2025-11-25"
"""The first revision in which streams begin with an event without data, and may be closed early."""


MAX_NEEDED: Final = 1000
"""Of how many ended streams a session knows which scopes a client needs to read them again."""


class HttpSession(Owner):
    """The transport of one session.

    Args:
        id_: the id of the session.
        shared: what all sessions have in common.
        sender: who began it.

    Attributes:
        common: the stream of messages that belong to no request.
        streams: those of the POSTs that are not answered yet, even if the client no longer waits for them, by number.
        exchanges: how many of its HTTP requests are being answered.
        last_used: when the last request ended, by the event loop's clock in seconds.
    """

    def __init__(self, id_: str, shared: Shared, sender: Sender) -> None:
        self.id = id_
        self.shared, self.log_limit = shared, shared.journal
        self.sender = sender
        self.address = sender.address
        self.exchanges = 0
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self.last_used = self._loop.time()
        self.common: Stream = CommonStream(self, sender)
        self.streams: dict[int, Stream] = {}
        self._next = 1
        self._needed: dict[int, frozenset[str]] = {}  # the scopes of the last ended streams whose calls needed some
        self._forgotten = 0  # the last stream of which that is no longer known
        self._silent: tuple[int, ...] = ()  # the last that ended without a message: their calls were cancelled

    def begin(self) -> None:
        """Handle that the handshake has succeeded."""
        self.primes = self.shared.events is not None and self.connection.revision >= PRIMES_SINCE

    def stream(self, sender: Sender) -> Stream:
        """Create the stream of a POST, whose token may allow more than that of the POST that began the session."""
        number, self._next = self._next, self._next + 1
        stream = self.streams[number] = Stream(self, number, sender)
        return stream

    def skipped(self, reason: str, start: bytes, end: bytes) -> bytes | None:
        """Handle a message that was too large to read; return its answer, if there is one.

        Args:
            reason: what is wrong, for people.
            start: its first kilobytes.
            end: its last kilobytes.
        """
        stream = self.stream(self.sender)
        self.receiver.message_refused(reason, stream, start, end)
        answer = stream.sole
        stream.finish()
        return answer

    async def find(self, event_id: str) -> tuple[Stream, int]:
        """Return the stream that an event belongs to, and the number of the event in it.

        Raises:
            Refusal: there is no such event in this session, or what followed it is no longer stored.
        """
        stream, _, number = event_id.partition("-")
        if not stream.isdecimal() or not number.isdecimal() or len(event_id) > 40:
            raise Refusal(Case.NO_EVENT)
        found = self.common if stream == "0" else self.streams.get(int(stream))
        if found is None:
            found = await self._ended(int(stream), int(number))
        return found, int(number)

    def finished(self, stream: Stream) -> None:
        """Forget a stream that has ended; its events are stored for a while."""
        if stream.needed and self.shared.events is not None:
            self._needed[stream.number] = stream.needed
            if len(self._needed) > MAX_NEEDED:
                self._forgotten = next(iter(self._needed))
                del self._needed[self._forgotten]
        if self.streams.pop(stream.number, None) is not None and stream.outlet is not None and not stream.last:
            self._silent = (*self._silent[-99:], stream.number)

    def __enter__(self) -> None:
        """Record the start of an HTTP request."""
        self.exchanges += 1

    def __exit__(self, *exc_info: object) -> None:
        """Record the end of an HTTP request."""
        self.exchanges -= 1
        self.last_used = self._loop.time()

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Send a message that belongs to no request, on the stream that the client listens to."""
        if not self.is_closed:
            self.common.send(message, about)

    async def drain(self) -> None:
        """Wait until the client has read enough of the messages that belong to no request."""
        await self.common.drain()

    async def close(self) -> None:
        """End every response."""
        if self.is_closed:
            return
        self.is_closed = True
        for stream in (self.common, *self.streams.values()):
            stream.close()
        self.streams.clear()
        self.receiver.connection_lost(None)
        if self.shared.events is not None:
            await self.shared.events.forget(self.id)

    def need(self, scopes: Collection[str]) -> None:
        """Remember scopes that reading its common stream needs from now on.

        Args:
            scopes: the scopes.
        """
        self.common.need(scopes)

    def needed_by(self, stream: Stream) -> frozenset[str]:
        """Return the scopes that a client needs to read a stream again."""
        return self._needed.get(stream.number, stream.needed)

    async def _ended(self, number: int, after: int) -> Stream:
        """Return a stream that has ended, with its stored messages."""
        if self.shared.events is None or not self._forgotten < number < self._next:
            raise Refusal(Case.NO_EVENT)
        kept = await self.shared.events.after(self.id, number, after)
        if kept is None and (after or number not in self._silent):
            raise Refusal(Case.NO_EVENT)
        stream = Stream(self, number, self.sender)
        stream.last = kept[-1][0] if kept else after
        stream.is_finished = True
        return stream


S = TypeVar("S", bound=HttpSession)

ID_BYTES: Final = 16
"""The length of a session id in random bytes."""
SWEEPS: Final = 10
"""How often sessions are checked during the time after which one expires."""


def oldest_unused(sessions: Iterable[S], pool: Pool, peer: str | None) -> S:
    """Return the session that ends to make room for another one of a peer: one of its own if it has half of them.

    Args:
        sessions: those that were not used after `initialize`, the oldest first.
        pool: counts the sessions.
        peer: the peer.

    Raises:
        Refusal: there is none.
    """
    has_its_share = pool.has_its_share(peer)
    for session in sessions:
        if not has_its_share or session.sender.peer == peer:
            return session
    raise Refusal(Case.OPEN_SESSIONS)


class Sessions:
    """The sessions of one endpoint.

    Args:
        servers: the servers, one object per revision.
        revisions: the revisions that have sessions.
        shared: what all sessions have in common.

    Attributes:
        unused: the sessions that were not used after `initialize`, the oldest first.
    """

    def __init__(self, servers: Sequence[ServerHandlers], revisions: Iterable[str], shared: Shared) -> None:
        self._servers = servers
        self._versions = frozenset(revision.encode() for revision in revisions)
        self.shared = shared
        limits = self._limits = shared.limits
        self.unused: Delay[HttpSession] = Delay(limits.session_unused, self._expire)
        self._pool = Pool(limits.max_sessions)
        self._held: dict[bytes, HttpSession] = {}
        self._sweeper: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._held)

    async def begin(self, sender: Sender) -> HttpSession:
        """Begin a session, which cannot be found before it is kept; if there are too many, an unused one ends.

        Raises:
            Refusal: there are too many, and all of them are used.
        """
        if not self._pool.has_room(sender.peer):
            self._expire(oldest_unused(self.unused, self._pool, sender.peer))
        session = HttpSession(sources.token_hex(ID_BYTES), self.shared, sender)
        session.connection = await start_session(session, *self._servers)
        return session

    def keep(self, session: HttpSession) -> None:
        """Keep a session whose handshake succeeded."""
        session.begin()
        self._held[session.id.encode()] = session
        self._pool.add(session.sender.peer, 1)
        self.unused.begin(session)
        if self._sweeper is None:
            self._arm()

    def named(self, headers: Headers, sender: Sender) -> HttpSession:
        """Return the session that a request names.

        Raises:
            Refusal: it names none, one of another principal, or a revision that has no sessions here.
        """
        id_ = headers.get(SESSION)
        if id_ is None:
            raise Refusal(Case.NO_SESSION)
        session = self._held.get(id_)
        if session is None or session.sender.principal != sender.principal or session.connection.end.is_closed:
            raise Refusal(Case.UNKNOWN_SESSION)
        self.check_version(headers)
        return session

    def check_version(self, headers: Headers) -> None:
        """Check the revision that a legacy-era request names, if any.

        Raises:
            Refusal: it is not supported here.
        """
        version = headers.get(VERSION)
        if version is not None and version not in self._versions:
            known = b", ".join(sorted(self._versions)).decode()
            raise Refusal(Case.VERSION, known)

    async def end(self, session: HttpSession, reason: str) -> None:
        """End a session, and cancel what runs in it."""
        self._forget(session)
        await session.connection.aclose(reason)

    async def end_all(self, reason: str) -> None:
        """End all sessions."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        self.unused.clear()
        for session in tuple(self._held.values()):
            await self.end(session, reason)
        for task in tuple(self._ending):
            await task

    def stop_listening(self) -> None:
        """End the streams for messages that belong to no request."""
        for session in self._held.values():
            session.common.end_response()

    def _forget(self, session: HttpSession) -> None:
        if self._held.pop(session.id.encode(), None) is not None:
            self._pool.add(session.sender.peer, -1)
            self.unused.end(session)

    def _expire(self, session: HttpSession) -> None:
        self._forget(session)
        task = asyncio.ensure_future(session.connection.aclose("the session expired"))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweeper = loop.call_later(self._limits.session_idle / SWEEPS, self._sweep)

    def _sweep(self) -> None:
        now = asyncio.get_running_loop().time()
        for session in tuple(self._held.values()):
            is_old = not session.exchanges and now - session.last_used > self._limits.session_idle
            if is_old or session.connection.closed_because is not None:
                self._expire(session)
        if self._held:
            self._arm()
        else:
            self._sweeper = None
