"""One endpoint of Streamable HTTP: the body of a POST determines the era, and each era answers in its own way."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.handshake.server import by_era
from mcp_runtime.core.protocol import jsonrpc, names
from mcp_runtime.core.protocol.dispatch import State
from mcp_runtime.core.protocol.jsonrpc import Fault, Message
from mcp_runtime.core.protocol.names import INITIALIZE, SUBSCRIPTIONS_LISTEN
from mcp_runtime.core.transports.http.events import EventLog, MemoryEventStore
from mcp_runtime.core.transports.http.server import asgi
from mcp_runtime.core.transports.http.server.access import REMEMBERED, Application, HttpServerOptions
from mcp_runtime.core.transports.http.server.asgi import SESSION, VERSION, Headers, HttpRequest
from mcp_runtime.core.transports.http.server.modern import ModernEndpoint, ModernStream
from mcp_runtime.core.transports.http.server.outlet import Shared, until_expired, watch
from mcp_runtime.core.transports.http.server.sessions import ASSUMED, HttpSession, Sessions, method_of, missing_before
from mcp_runtime.core.transports.http.server.streams import Stream, pump
from mcp_runtime.core.transports.http.statuses import STATUSES, Case, Refusal

_MARK: Final = names.VERSION.encode()
EITHER: Final = (asgi.JSON.decode(), asgi.EVENTS.decode())
"""The media types of the answer to a POST."""
ONLY_EVENTS: Final = (asgi.EVENTS.decode(),)
"""The media type of the answer to a GET."""
METHODS: Final = ("GET", "POST", "DELETE")
"""The methods of an endpoint with sessions; without them it accepts POST only."""


class HttpApp(Application):
    """One endpoint; created by `asgi_app`. It answers every path that it is asked for.

    Args:
        servers: the servers, one object per revision.
        options: how they are served.

    Attributes:
        sessions: the open sessions.
        is_stopping: whether only answers are accepted, for which handlers may be waiting.
    """

    def __init__(self, servers: Sequence[ServerHandlers], options: HttpServerOptions) -> None:
        eras = by_era(servers)
        super().__init__(servers, options)
        self._is_stateless = options.get("stateless", False)
        events = options["events"] if "events" in options else MemoryEventStore()
        kept = None if self._is_stateless or events is None else EventLog(events)
        shared = Shared.of(self.limits, kept)
        self.sessions = Sessions(servers, eras.legacy, shared)
        self.is_stopping = False
        self._endpoint = ModernEndpoint(servers, shared._replace(events=None))
        self._methods = METHODS if eras.legacy and not self._is_stateless else ("POST",)
        self._has_legacy = bool(eras.legacy)
        self._modern_versions = frozenset(revision.encode() for revision in eras.modern)
        self._supported = sorted((*eras.legacy, *eras.modern))
        # POSTs whose bodies have arrived, except for those that listen; GETs, and POSTs that listen.
        self._requests = Pool(self.limits.max_requests)
        self._streams = Pool(self.limits.max_streams)

    @property
    def is_busy(self) -> bool:
        """Whether a POST is being answered."""
        return self._requests.used > 0 or self.arriving.count.used > 0

    def stop(self) -> None:
        """Refuse new requests; open ones are still answered, and streams of listening clients end."""
        self.is_stopping = True
        self.sessions.stop_listening()
        self._endpoint.stop_listening()

    async def end_sessions(self) -> None:
        """End all sessions, and cancel what runs."""
        self.stop()
        await self.sessions.end_all("the server is shutting down")
        await self._endpoint.aclose("the server is shutting down")

    def _answer(self, request: HttpRequest) -> Awaitable[None]:
        method = request.scope["method"]
        if self.is_stopping and (method == "GET" or not len(self.sessions)):
            raise Refusal(Case.STOPPING)
        if method not in self._methods:
            allowed = ", ".join(self._methods)
            raise Refusal(Case.METHOD, allowed, headers=[(b"allow", allowed.encode())])
        if method == "POST":
            return self._post(request)
        return self._get(request) if method == "GET" else self._delete(request)

    async def _delete(self, request: HttpRequest) -> None:
        await self.sessions.end(self.sessions.named(request.headers, request.sender), "the client ended the session")
        await request.respond(Case.ENDED.status)

    async def _get(self, request: HttpRequest) -> None:
        headers, sender, streams = request.headers, request.sender, self._streams
        if not streams.take(sender.peer):
            raise Refusal(Case.STREAMS)
        try:
            check_accept(headers, ONLY_EVENTS)
            session = self.sessions.named(headers, sender)
            stream: Stream = session.common
            after: int | None = None
            if last := headers.get(b"last-event-id"):
                stream, after = await session.find(last.decode("latin-1"))
            if stream.lacks(needed := session.needed_by(stream), sender.principal):
                raise self.lacking(sorted(needed))
            stream.principal = sender.principal
            with session, until_expired(stream, Stream.end_response):
                await pump(stream, request, self._quiet, after=after)
        finally:
            streams.add(sender.peer, -1)

    async def _post(self, request: HttpRequest) -> None:
        """Answer a POST.

        Raises:
            Refusal: it is answered with an error status.
            Disconnected: the client disconnected, or does not read.
        """
        headers = request.headers
        check_content_type(headers)
        check_accept(headers, EITHER)
        peer = request.sender.peer
        try:
            body = await self.arriving.read(request)
        except asgi.TooLarge as refusal:
            session: HttpSession | None = None
            if SESSION in headers and not self._is_stateless:
                with suppress(Refusal):
                    session = self.sessions.named(headers, request.sender)
            await request.respond(refusal.status, _skipped(refusal, session), headers=refusal.headers)
            return
        if self.auth is not None:
            self.check_scopes(request.sender.principal, body)
        if not self._requests.take(peer):
            raise Refusal(Case.REQUESTS)
        try:
            if (found := self._modern(body, headers)) is not None:
                await self._post_modern(*found, body, request)
            elif SESSION in headers and not self._is_stateless:
                await self._post_in_session(self.sessions.named(headers, request.sender), body, request)
            else:
                await self._post_without_session(body, request)
        except Fault as error:
            await request.respond(
                Case.NOT_A_MESSAGE.status, jsonrpc.write_error(error.id, error.code, error.reason, null_id=False)
            )
        finally:
            self._requests.add(peer, -1)

    def _modern(self, body: bytes, headers: Headers) -> tuple[Message, Mapping[str, Any]] | None:
        """Return the message in a body and its `_meta`, if it is of the modern era.

        Raises:
            Fault: only the modern era is served, and it is neither a request nor a notification.
        """
        if not self._modern_versions:
            return None
        is_named = headers.get(VERSION) in self._modern_versions and SESSION not in headers
        may_be_legacy = self._has_legacy and not is_named
        # Most legacy-era bodies are recognized without parsing: only escapes could hide the name.
        if may_be_legacy and not (_MARK in body or b"\\u00" in body or b"\\/" in body):
            return None
        try:
            value: Any = jsonrpc.parse(body)
        except Fault:
            if may_be_legacy:
                return None
            raise
        meta = jsonrpc.meta_of(value.get("params") if value.__class__ is dict else None)
        if may_be_legacy and names.VERSION not in meta:
            return None
        if value.__class__ is not dict or "method" not in value:
            raise Fault(jsonrpc.INVALID_REQUEST, "the body must be one request or notification")
        return jsonrpc.classify(value), meta

    async def _post_modern(self, message: Message, meta: Mapping[str, Any], body: bytes, request: HttpRequest) -> None:
        if self.is_stopping:
            raise Refusal(Case.STOPPING)
        if not isinstance(message, jsonrpc.Request):
            await self._respond_to_notification(request)
            return
        listens = message.method == SUBSCRIPTIONS_LISTEN
        if listens and not self._streams.has_room(request.sender.peer):
            raise Refusal(Case.STREAMS)
        endpoint, headers = self._endpoint, asgi.texts_of(request.headers)
        if not endpoint.is_ready:
            await endpoint.make_ready()
        try:
            requester = endpoint.requester(message, meta, headers, request.sender)
        except PeerError as error:
            refused = jsonrpc.write_error(message.id, error.code, error.message, error.data)
            await request.respond(STATUSES.get(error.code, Case.ANSWERED.status), refused)
            return
        stream = endpoint.stream(request.sender)
        if not endpoint.connection.receiving.take(message, requester, stream, body).is_answered:
            raise Refusal(Case.STOPPING)
        await (self._listen if listens else self._respond)(stream, request)

    async def _respond_to_notification(self, request: HttpRequest) -> None:
        """Ignore a notification: the era has none over HTTP, where clients cancel by closing the connection."""
        named = request.headers.get(VERSION)
        if named is None or named in self._modern_versions:
            await request.respond(Case.ACCEPTED.status)
            return
        data = {"supported": self._supported, "requested": named.decode("latin-1")[:64]}
        error = jsonrpc.write_error(
            None, names.UNSUPPORTED_VERSION, "this protocol version is not supported", data, null_id=False
        )
        await request.respond(Case.UNSUPPORTED.status, error)

    async def _listen(self, stream: ModernStream, request: HttpRequest) -> None:
        """Answer a request that stays open for as long as its client listens."""
        peer = request.sender.peer
        self._requests.add(peer, -1)
        self._streams.add(peer, 1)
        try:
            with until_expired(stream, self._endpoint.stop_listening):
                await self._respond(stream, request)
        finally:
            self._streams.add(peer, -1)
            self._requests.add(peer, 1)

    async def _post_in_session(self, session: HttpSession, body: bytes, request: HttpRequest) -> None:
        """Process a message of a session."""
        if len(session.streams) >= self.limits.max_session_requests:
            raise Refusal(Case.BUSY)
        self.sessions.unused.end(session)
        # Answers are still accepted: a handler may be waiting for one.
        if self.is_stopping and method_of(body) is not None:
            raise Refusal(Case.STOPPING)
        with session:
            stream = session.stream(request.sender)
            outcome = session.receiver.message_received(body, stream)
            if outcome.is_answered:
                await self._respond(stream, request)
                return
            refused = stream.sole
            stream.finish()
            if outcome.scopes:
                raise self.lacking(outcome.scopes)
            if outcome.is_accepted and refused is None:
                await request.respond(Case.ACCEPTED.status)
            else:
                # Some messages of a batch may have been accepted, and others refused.
                case = Case.ANSWERED if outcome.is_accepted else Case.VIOLATION
                await request.respond(case.status, refused or outcome.error)

    async def _post_without_session(self, body: bytes, request: HttpRequest) -> None:
        """Process a message of the legacy era that belongs to no session, or begins one."""
        method = method_of(body)
        if self.is_stopping:
            raise Refusal(Case.STOPPING)
        if self._is_stateless:
            self.sessions.check_version(request.headers)
            await self._post_statelessly(body, request, method=method)
        elif method == INITIALIZE:
            await self._begin(body, request)
        else:
            raise Refusal(Case.NO_SESSION)

    async def _begin(self, body: bytes, request: HttpRequest) -> None:
        """Begin a session with `initialize`."""
        session = await self.sessions.begin(request.sender)
        stream = session.stream(request.sender)
        stream.headers = asgi.texts_of(request.headers)
        outcome = session.receiver.message_received(body, stream)
        if session.connection.state is State.INITIALIZED:
            self.sessions.keep(session)
            with session:
                await self._respond(stream, request, [(SESSION, session.id.encode())])
            return
        answer = stream.sole
        await self.sessions.end(session, "the handshake failed")
        if answer is None:
            raise Refusal(Case.NO_ID)
        await request.respond((Case.ANSWERED if outcome.is_accepted else Case.VIOLATION).status, answer)

    async def _post_statelessly(self, body: bytes, request: HttpRequest, *, method: Any) -> None:
        """Answer a request in a separate session, which is set up silently and ends with the answer."""
        session = await self.sessions.begin(request.sender)
        try:
            silence = session.stream(request.sender)
            for message in missing_before(method, request.headers.get(VERSION, ASSUMED.encode()).decode("latin-1")):
                session.receiver.message_received(message, silence)
            await self._post_in_session(session, body, request)
        finally:
            await session.connection.aclose("the request was answered")

    async def _respond(self, stream: Stream, request: HttpRequest, headers: Iterable[tuple[bytes, bytes]] = ()) -> None:
        """Answer with the result alone, or with a stream."""
        await asyncio.sleep(0)  # Most handlers finish in their first step.
        watcher, leave = None, stream.leave if stream.ends_with_client else None
        try:
            if not stream.is_finished:
                watcher = asyncio.ensure_future(watch(request.receive, leave)) if leave is not None else None
                await stream.first(self._first)
            answer = stream.sole if stream.is_finished else None
            if answer is None:
                await pump(stream, request, self._quiet, watcher=watcher, headers=headers)
                return
            status = stream.statuses.get(stream.code, Case.ANSWERED.status)
            if stream.lacking and stream.code:
                status, headers = Case.SCOPES.status, [*headers, *self.forbids(stream.lacking)]
            # A long answer counts as unread until it is written.
            size = len(answer) if len(answer) > asgi.HIGH_WATER else 0
            if size and not stream.unread.take(request.sender.peer, size):
                raise Refusal(Case.UNREAD)
            try:
                await request.respond(status, answer, headers=headers)
            finally:
                if size:
                    stream.unread.add(request.sender.peer, -size)
        finally:
            if watcher is not None:
                watcher.cancel()
            if leave is not None and not stream.is_finished:
                stream.finish()


def _skipped(refusal: asgi.TooLarge, session: HttpSession | None) -> bytes:
    """Return the answer to a message that was too large to read."""
    if session is not None:
        return session.skipped(refusal.reason, refusal.start, refusal.end) or refusal.body
    error = jsonrpc.unreadable(jsonrpc.INVALID_REQUEST, refusal.reason, refusal.start, refusal.end)
    id_ = None if error.is_answer else error.id
    return jsonrpc.write_error(id_, error.code, error.reason, null_id=False)


def check_content_type(headers: Headers) -> None:
    """Check that a body is JSON.

    Raises:
        Refusal: it is not.
    """
    given = headers.get(b"content-type")
    if given != asgi.JSON and (given or b"").partition(b";")[0].strip().lower() != asgi.JSON:
        raise Refusal(Case.CONTENT_TYPE)


def check_accept(headers: Headers, wanted: tuple[str, ...]) -> None:
    """Check that a client accepts all media types that the answer may have.

    Raises:
        Refusal: it does not.
    """
    if not _accepts(headers.get(b"accept", b""), wanted):
        raise Refusal(Case.ACCEPT, " and ".join(wanted))


@lru_cache(REMEMBERED)
def _accepts(given: bytes, wanted: tuple[str, ...]) -> bool:
    parts = given.decode("latin-1").lower().split(",")
    ranges = {part.partition(";")[0].strip() for part in parts if not _is_excluded(part)}
    return all(ranges & {type_, f"{type_.partition('/')[0]}/*", "*/*"} for type_ in wanted)


def _is_excluded(part: str) -> bool:
    """Whether a client refuses a media range (RFC 9110, 12.4.2)."""
    return any(parameter.strip() in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in part.split(";")[1:])
