"""One MCP endpoint as a plain ASGI application (specification: basic/transports, Streamable HTTP)."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.handshake.server import revisions_of
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.legacy import State
from mcp_runtime.protocol.names import INITIALIZE
from mcp_runtime.transports.http.asgi import (
    EVENTS,
    JSON,
    Disconnected,
    Headers,
    Receive,
    Refusal,
    Scope,
    Send,
    TooLarge,
    headers_of,
    read_body,
    respond,
)
from mcp_runtime.transports.http.checks import METHODS, Places, check_accept, check_content_type
from mcp_runtime.transports.http.delays import Delays
from mcp_runtime.transports.http.event_log import EventLog
from mcp_runtime.transports.http.events import EventStore
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.pump import pump
from mcp_runtime.transports.http.session import HttpSession
from mcp_runtime.transports.http.sessions import Sessions
from mcp_runtime.transports.http.stateless import ASSUMED, method_of, missing_before
from mcp_runtime.transports.http.stream import Stream
from mcp_runtime.transports.http.unread import HIGH_WATER

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"


class HttpApp:
    """One endpoint; see `asgi_app`, which makes it. It answers every path that it is asked for.

    Args:
        servers: answer the clients, one object per revision.
        places: which hosts and origins requests may name.
        principal: says who sends a request, from its ASGI scope.
        events: keeps what was sent; None to keep nothing.
        is_stateless: whether each request stands alone.
        limits: what clients may cost.

    Attributes:
        sessions: the sessions that live.
        is_stopping: whether no more requests are taken.
    """

    def __init__(
        self,
        servers: "Sequence[AnyServer]",
        *,
        places: Places,
        principal: Callable[[Scope], str | None] | None,
        events: EventStore | None,
        is_stateless: bool,
        limits: HttpLimits,
    ) -> None:
        kept = None if is_stateless or events is None else EventLog(events)
        self.sessions = Sessions(servers, limits, kept)
        self._versions = frozenset(revision.encode() for revision in revisions_of(servers))
        self._places = places
        self._principal = principal
        self._limits = limits
        self._delays = Delays(limits)
        self._is_stateless = is_stateless
        self._posts = 0
        self._gets = 0
        self.is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or follow the life of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"this is an HTTP endpoint; it cannot serve {scope['type']}")
        try:
            await self._answer(scope, receive, send)
        except Refusal as refusal:
            await refusal.answer(send)
        except Disconnected:
            pass

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """End the sessions with the application that holds this one: ``FastAPI(lifespan=endpoint.lifespan)``."""
        try:
            yield
        finally:
            await self.aclose()

    @property
    def is_busy(self) -> bool:
        """Whether a POST is being answered."""
        return self._posts > 0

    def stop(self) -> None:
        """Take no more requests; those that are open are answered still, and clients that only listen are let go."""
        self.is_stopping = True
        self.sessions.stop_listening()

    async def aclose(self) -> None:
        """End all sessions."""
        self.stop()
        await self.sessions.end_all("the server is shutting down")
        self._delays.clear()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = headers_of(scope, self._limits.max_header_bytes)
        client = scope.get("client")
        self._places.check(headers, client[0] if client else None)
        principal = self._principal(scope) if self._principal is not None else None
        method = scope["method"]
        if self.is_stopping and (method == "GET" or not len(self.sessions)):
            raise _stopping()
        if self._is_stateless and method != "POST":
            raise Refusal(405, "there are no sessions here, so an endpoint takes POST only", [(b"allow", b"POST")])
        match method:
            case "POST":
                if self._posts >= self._limits.max_requests:
                    raise Refusal(503, "too many requests are open; try again later", [(b"retry-after", b"1")])
                self._posts += 1
                try:
                    await self._post(headers, principal, receive, send)
                finally:
                    self._posts -= 1
            case "GET":
                if self._gets >= self._limits.max_streams:
                    raise Refusal(503, "too many streams are open; try again later", [(b"retry-after", b"30")])
                self._gets += 1
                try:
                    await self._get(headers, principal, receive, send)
                finally:
                    self._gets -= 1
            case "DELETE":
                await self.sessions.end(self._session(headers, principal), "the client ended the session")
                await respond(send, 204)
            case _:
                raise Refusal(405, "an MCP endpoint takes POST, GET and DELETE", [METHODS])

    async def _post(self, headers: Headers, principal: str | None, receive: Receive, send: Send) -> None:
        limits = self._limits
        check_content_type(headers)
        check_accept(headers, JSON.decode(), EVENTS.decode())
        session = None
        if self._is_stateless:
            self._check_version(headers)
        elif SESSION in headers:
            session = self._session(headers, principal)
        if session is not None and session.open_streams >= limits.max_session_requests:
            raise Refusal(429, "too many requests of this session are open; try again later", [(b"retry-after", b"1")])
        try:
            body = await read_body(receive, headers, max_bytes=limits.max_message_bytes, limit=self._delays.body)
        except TooLarge as refusal:
            if session is None:
                raise
            answer = session.skipped(refusal.reason, headers, refusal.start, refusal.end)
            await respond(send, refusal.status, answer or refusal.body, headers=refusal.headers)
            return
        if session is not None and not self.is_stopping:
            await self._take(session, body, headers, receive, send)
            return
        try:
            method = method_of(body)
        except jsonrpc.MalformedMessage as error:
            await respond(send, 400, jsonrpc.write_error(None, error.code, error.reason, null_id=False))
            return
        if self.is_stopping and (session is None or method is not None):
            raise _stopping()
        if session is not None:
            # An answer, which a handler may be waiting for.
            await self._take(session, body, headers, receive, send)
        elif self._is_stateless:
            await self._take_alone(body, headers, principal, receive, send, method=method)
        elif method == INITIALIZE:
            await self._begin(body, headers, principal, receive, send)
        else:
            raise _no_session()

    async def _begin(self, body: bytes, headers: Headers, principal: str | None, receive: Receive, send: Send) -> None:
        """Begin a session with `initialize`."""
        session = await self.sessions.begin(principal)
        stream = session.stream(headers)
        outcome = session.receiver.message_received(body, stream)
        if session.connection.state is State.INITIALIZED:
            self.sessions.keep(session)
            session.enter()
            try:
                await self._respond(stream, receive, send, [(SESSION, session.id.encode())])
            finally:
                session.leave()
            return
        answer = stream.sole
        await self.sessions.end(session, "the handshake failed")
        if answer is None:
            raise Refusal(400, "initialize is a request, which has an id")
        await respond(send, 200 if outcome.is_accepted else 400, answer)

    async def _take(self, session: HttpSession, body: bytes, headers: Headers, receive: Receive, send: Send) -> None:
        stream = session.stream(headers)
        session.enter()
        try:
            outcome = session.receiver.message_received(body, stream)
            if outcome.is_answered:
                await self._respond(stream, receive, send)
                return
            refused = stream.sole
            stream.finish()
            if outcome.is_accepted and refused is None:
                await respond(send, 202)
            else:
                # Of a batch, some messages may have been taken, and others refused.
                status = 200 if outcome.is_accepted else 400
                error = jsonrpc.write_error(None, outcome.code, outcome.reason, null_id=False)
                await respond(send, status, refused or error)
        finally:
            session.leave()

    async def _take_alone(
        self,
        body: bytes,
        headers: Headers,
        principal: str | None,
        receive: Receive,
        send: Send,
        *,
        method: Any,
    ) -> None:
        """Answer a request in a session of its own, which begins in silence and ends with the answer."""
        session = await self.sessions.begin(principal)
        try:
            silence = session.stream(headers)
            for message in missing_before(method, headers.get(VERSION, ASSUMED.encode()).decode("latin-1")):
                session.receiver.message_received(message, silence)
            await self._take(session, body, headers, receive, send)
        finally:
            await session.connection.aclose("the request was answered")

    async def _respond(
        self, stream: Stream, receive: Receive, send: Send, headers: Iterable[tuple[bytes, bytes]] = ()
    ) -> None:
        """Answer a POST with what leaves by its stream: as JSON if it is the answer alone."""
        await stream.first(self._delays.first)
        if stream.is_finished and (answer := stream.sole) is not None:
            if len(answer) <= HIGH_WATER:
                await respond(send, 200, answer, headers=headers)
            else:
                await self._answer_at_length(answer, send, headers)
        else:
            await pump(stream, self._delays, self.sessions.unread, receive, send, headers=headers)

    async def _answer_at_length(self, answer: bytes, send: Send, headers: Iterable[tuple[bytes, bytes]]) -> None:
        unread = self.sessions.unread
        if not unread.has_room(len(answer)):
            raise Refusal(503, "too many answers wait to be read; this one was dropped", [(b"retry-after", b"5")])
        unread.size += len(answer)
        try:
            await respond(send, 200, answer, headers=headers, limit=self._delays.write)
        except TimeoutError:
            pass  # The server closes the connection, as the answer is not complete.
        finally:
            unread.size -= len(answer)

    async def _get(self, headers: Headers, principal: str | None, receive: Receive, send: Send) -> None:
        check_accept(headers, EVENTS.decode())
        session = self._session(headers, principal)
        stream: Stream = session.common
        after: int | None = None
        if last := headers.get(b"last-event-id"):
            try:
                stream, after = await session.find(last.decode("latin-1"))
            except LookupError:
                raise Refusal(400, "the event that Last-Event-ID names is not kept (any more)") from None
        session.enter()
        try:
            await pump(stream, self._delays, self.sessions.unread, receive, send, after=after)
        finally:
            session.leave()

    def _session(self, headers: Headers, principal: str | None) -> HttpSession:
        id_ = headers.get(SESSION)
        if id_ is None:
            raise _no_session()
        session = self.sessions.find(id_, principal)
        self._check_version(headers)
        return session

    def _check_version(self, headers: Headers) -> None:
        version = headers.get(VERSION)
        if version is not None and version not in self._versions:
            known = b", ".join(sorted(self._versions)).decode()
            raise Refusal(400, f"the header MCP-Protocol-Version must name a revision that is spoken here: {known}")


def _stopping() -> Refusal:
    return Refusal(503, "the server is shutting down", [(b"retry-after", b"5")])


def _no_session() -> Refusal:
    return Refusal(400, "the header Mcp-Session-Id is missing; a session begins with initialize")
