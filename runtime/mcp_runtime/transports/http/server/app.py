"""One MCP endpoint as a plain ASGI application (specification: basic/transports, Streamable HTTP)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final

from mcp_runtime.handshake.server import revisions_of
from mcp_runtime.transports.http.events import EventStore
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.server.modern import ModernEndpoint
from mcp_runtime.transports.http.server.posts import Post, Posts
from mcp_runtime.transports.http.server.requests.application import Application
from mcp_runtime.transports.http.server.requests.asgi import (
    Headers,
    Receive,
    Refusal,
    Scope,
    Send,
    respond,
)
from mcp_runtime.transports.http.server.requests.checks import ONLY_EVENTS, Places, check_accept
from mcp_runtime.transports.http.server.requests.refusals import stopping, too_many_streams
from mcp_runtime.transports.http.server.sessions import Sessions
from mcp_runtime.transports.http.server.streams.event_log import EventLog
from mcp_runtime.transports.http.server.streams.pump import pump
from mcp_runtime.transports.http.server.streams.stream import Stream

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer

METHODS: Final = ("GET", "POST", "DELETE")
"""The methods of an endpoint with sessions; without them it accepts POST only."""


class HttpApp(Application):
    """One endpoint; created by `asgi_app`. It answers every path that it is asked for.

    Args:
        servers: the servers, one object per revision.
        places: the hosts and origins that requests may name.
        principal: returns the authenticated sender of a request, given its ASGI scope.
        events: stores what was sent; None to store nothing.
        is_stateless: whether requests of the legacy era are independent too.
        limits: resource limits for clients.

    Attributes:
        sessions: the open sessions.
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
        super().__init__(places, principal, limits)
        spoken = revisions_of(servers)
        kept = None if is_stateless or events is None else EventLog(events)
        self.sessions = Sessions(servers, spoken.legacy, limits, kept)
        self._endpoint = ModernEndpoint(servers, limits, self.sessions.unread)
        self._methods = METHODS if spoken.legacy and not is_stateless else ("POST",)
        self._posts = Posts(spoken, self.sessions, self._endpoint, self._delays, limits, is_stateless=is_stateless)

    @property
    def is_busy(self) -> bool:
        """Whether a POST is being answered."""
        return self._posts.open.posts > 0

    @property
    def is_stopping(self) -> bool:
        """Whether new requests are refused."""
        return self._posts.is_stopping

    def stop(self) -> None:
        """Refuse new requests; open ones are still answered, and streams of listening clients end."""
        self._posts.is_stopping = True
        self.sessions.stop_listening()
        self._endpoint.stop_listening()

    async def aclose(self) -> None:
        """End all sessions, and cancel what runs."""
        self.stop()
        await self.sessions.end_all("the server is shutting down")
        await self._endpoint.aclose("the server is shutting down")
        self._delays.clear()

    def _answer(
        self, scope: Scope, headers: Headers, principal: str | None, receive: Receive, send: Send
    ) -> Awaitable[None]:
        method = scope["method"]
        if self.is_stopping and (method == "GET" or not len(self.sessions)):
            raise stopping()
        if method not in self._methods:
            allowed = ", ".join(self._methods)
            raise Refusal(405, f"this endpoint takes {allowed}", [(b"allow", allowed.encode())])
        if method == "POST":
            return self._posts.answer(Post(headers, principal, receive, send))
        if method == "GET":
            return self._get(headers, principal, receive, send)
        return self._delete(headers, principal, send)

    async def _delete(self, headers: Headers, principal: str | None, send: Send) -> None:
        await self.sessions.end(self.sessions.named(headers, principal), "the client ended the session")
        await respond(send, 204)

    async def _get(self, headers: Headers, principal: str | None, receive: Receive, send: Send) -> None:
        opened = self._posts.open
        if opened.streams >= self.limits.max_streams:
            raise too_many_streams()
        opened.streams += 1
        try:
            await self._listen(headers, principal, receive, send)
        finally:
            opened.streams -= 1

    async def _listen(self, headers: Headers, principal: str | None, receive: Receive, send: Send) -> None:
        check_accept(headers, ONLY_EVENTS)
        session = self.sessions.named(headers, principal)
        stream: Stream = session.common
        after: int | None = None
        if last := headers.get(b"last-event-id"):
            try:
                stream, after = await session.find(last.decode("latin-1"))
            except LookupError:
                raise Refusal(400, "the event in Last-Event-ID is unknown or no longer kept") from None
        session.enter()
        try:
            await pump(stream, self._delays, self.sessions.unread, receive, send, after=after)
        finally:
            session.leave()
