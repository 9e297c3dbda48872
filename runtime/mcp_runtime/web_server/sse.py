"""HTTP+SSE as an ASGI application (specification of 2024-11-05: basic/transports, HTTP with SSE)."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, quote

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.transport import ACCEPTED, Outcome, Verdict
from mcp_runtime.core.handshake.server import by_era, start_session
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import State
from mcp_runtime.core.transports.http.server.access import Application, SseServerOptions
from mcp_runtime.core.transports.http.server.app import ONLY_EVENTS, check_accept, check_content_type
from mcp_runtime.core.transports.http.server.asgi import Delay, Headers, HttpRequest, Scope, Sender, TooLarge, texts_of
from mcp_runtime.core.transports.http.server.outlet import Outlet, Shared, until_expired
from mcp_runtime.core.transports.http.server.sessions import ID_BYTES, HttpSession, method_of, oldest_unused
from mcp_runtime.core.transports.http.server.streams import Stream, pump
from mcp_runtime.core.transports.http.statuses import Case, Refusal

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers


class SseSession(HttpSession):
    """The transport of one session, which has one stream.

    Args:
        id_: the id of the session.
        shared: what all sessions have in common.
        sender: who sent the request that opened the stream.
        endpoint: where the client posts its messages: the path and the query of a URL.
        headers: the headers of that request.
    """

    def __init__(self, id_: str, shared: Shared, sender: Sender, *, endpoint: bytes, headers: Headers) -> None:
        super().__init__(id_, shared, sender)
        self.headers = texts_of(headers)
        self.common = SseStream(self, endpoint)
        self._readable = asyncio.Event()
        self._readable.set()

    async def ready(self) -> None:
        """Wait until the client has read enough of what it was sent."""
        await self._readable.wait()

    async def take(self, body: bytes, sender: Sender) -> Outcome:
        """Process a message as soon as the session is ready for it. What its sender may do, its own token says.

        A refused message counts as accepted if its sender gets the error on the stream.
        """
        await self.ready()
        sent, self.principal = self.common.last, sender.principal
        self.common.principal = sender.principal
        outcome = self.receiver.message_received(body, self)
        has_error = self.common.last > sent and outcome.verdict is not Verdict.MALFORMED
        return ACCEPTED if has_error else outcome

    def pause_reading(self) -> None:
        """Let POSTs wait until `resume_reading`."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Accept messages again."""
        self._readable.set()

    async def close(self) -> None:
        """End the stream once everything queued has been sent."""
        self._readable.set()
        await super().close()


class SseStream(Stream):
    """The stream of a session: its first event names the endpoint for messages.

    Args:
        owner: the session.
        endpoint: where the client posts its messages.
    """

    def __init__(self, owner: SseSession, endpoint: bytes) -> None:
        super().__init__(owner, 0, owner.sender)
        self._endpoint = endpoint

    def attach(self, outlet: Outlet, missed: Sequence[tuple[int, bytes]] | None = None) -> None:
        """Send events through a response, which begins with the endpoint."""
        outlet.put(b"event: endpoint\ndata: %b\n\n" % self._endpoint)
        super().attach(outlet, missed)

    def _encoded(self, number: int, message: bytes) -> bytes:
        # Encoded JSON contains no line ends.
        return b"event: message\ndata: %b\n\n" % message


SESSION: Final = "session_id"
"""The query parameter that names the session in the endpoint for messages."""


class SseApp(Application):
    """HTTP+SSE at one path; created by `sse_app`. It answers every path that it is asked for.

    A GET opens a stream, whose first event names the endpoint for messages: the same path, with the id of the session.

    Args:
        servers: the servers, one object per revision.
        options: how they are served.

    Attributes:
        sessions: the open sessions, by id.
        is_stopping: whether new requests are refused.
    """

    def __init__(self, servers: "Sequence[ServerHandlers]", options: SseServerOptions) -> None:
        if not by_era(servers).legacy:
            raise ValueError("HTTP+SSE carries revisions that have a handshake, and none of these servers speaks one")
        super().__init__(servers, options)
        self.sessions: dict[str, SseSession] = {}
        self.is_stopping = False
        # A stream of HTTP+SSE cannot be resumed, so nothing is stored.
        self._shared = Shared.of(self.limits, None)
        self._shares = Pool(min(self.limits.max_sessions, self.limits.max_streams))
        self._silent: Delay[SseSession] = Delay(self.limits.session_unused, _end_stream)
        self._posts = Pool(self.limits.max_requests)

    @property
    def is_busy(self) -> bool:
        """Whether a stream or a POST is being answered."""
        return self.arriving.count.used + self._posts.used > 0 or any(
            session.connection.open_requests for session in self.sessions.values()
        )

    def stop(self) -> None:
        """Refuse new requests; open ones are still answered."""
        self.is_stopping = True

    async def end_sessions(self) -> None:
        """End all sessions."""
        self.stop()
        for session in tuple(self.sessions.values()):
            await session.connection.aclose("the server is shutting down")
        self._silent.clear()

    async def _answer(self, request: HttpRequest) -> None:
        id_ = _session_of(request.scope)
        match request.scope["method"]:
            case "GET" if id_ is None:
                await self._open(request)
            case "POST" if id_ is not None:
                await self._post(self._find(id_, request.sender), request)
            case _:
                # With this status, clients that try Streamable HTTP first know that they have to open a stream.
                taken = b"GET" if id_ is None else b"POST"
                raise Refusal(Case.NOT_HERE, headers=[(b"allow", taken)])

    async def _open(self, request: HttpRequest) -> None:
        """Begin a session, which ends with its stream."""
        sender = request.sender
        if b"accept" in request.headers:
            check_accept(request.headers, ONLY_EVENTS)
        if self.is_stopping:
            raise Refusal(Case.STOPPING)
        if not self._shares.has_room(sender.peer):
            _end_stream(oldest := oldest_unused(self._silent, self._shares, sender.peer))
            self._silent.end(oldest)
        id_ = sources.token_hex(ID_BYTES)
        session = SseSession(id_, self._shared, sender, endpoint=_endpoint(request.scope, id_), headers=request.headers)
        session.connection = await start_session(session, *self._servers)
        self.sessions[id_] = session
        self._shares.add(sender.peer, 1)
        self._silent.begin(session)
        try:
            with until_expired(session.common, Stream.finish):
                await pump(session.common, request, self._quiet)
        finally:
            del self.sessions[id_]
            self._shares.add(sender.peer, -1)
            self._silent.end(session)
            await session.connection.aclose("the client closed the stream")

    async def _post(self, session: SseSession, request: HttpRequest) -> None:
        check_content_type(request.headers)
        if session.exchanges >= self.limits.max_session_requests:
            raise Refusal(Case.BUSY)
        with session:
            await self._take(session, request)

    async def _take(self, session: SseSession, request: HttpRequest) -> None:
        # Before the body is read, so that what waits stays with the client.
        await session.ready()
        sender = request.sender
        try:
            body = await self.arriving.read(request)
        except TooLarge as refusal:
            # Its sender gets the error on the stream too.
            session.receiver.message_refused(refusal.reason, session, refusal.start, refusal.end)
            raise
        self.check_scopes(sender.principal, body)
        if self.is_stopping and _is_call(body):
            raise Refusal(Case.STOPPING)
        if not self._posts.take(sender.peer):
            raise Refusal(Case.REQUESTS)
        try:
            outcome = await session.take(body, sender)
        finally:
            self._posts.add(sender.peer, -1)
        if session.is_closed:
            raise Refusal(Case.NO_STREAM)
        if outcome.scopes:
            raise self.lacking(outcome.scopes)
        if session.connection.state is not State.NEW:
            self._silent.end(session)
        if outcome.is_accepted:
            await request.respond(Case.ACCEPTED.status)
        else:
            await request.respond(Case.VIOLATION.status, outcome.error)

    def _find(self, id_: str, sender: Sender) -> SseSession:
        session = self.sessions.get(id_)
        if session is None or session.sender.principal != sender.principal or session.is_closed:
            raise Refusal(Case.NO_STREAM)
        return session


def _session_of(scope: Scope) -> str | None:
    """Return the id of the session that a request names; None if it names none."""
    try:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True, max_num_fields=10)
    except ValueError:
        raise Refusal(Case.QUERY) from None
    return given[SESSION][0] if SESSION in given else None


def _endpoint(scope: Scope, id_: str) -> bytes:
    """Return the endpoint for the messages of a session: the path of the stream, with the session's id."""
    path, root = scope["path"], scope.get("root_path", "")
    # Frameworks differ in whether the path includes that of the mounted application.
    whole = path if path.startswith(root) else root + path
    # Two slashes at the beginning would name another host.
    return f"/{quote(whole.lstrip('/'))}?{SESSION}={id_}".encode()


def _is_call(body: bytes) -> bool:
    """Whether a message is a request or a notification, not an answer that a handler may be waiting for."""
    try:
        return method_of(body) is not None
    except jsonrpc.Fault:
        return True


def _end_stream(session: SseSession) -> None:
    session.common.finish()
