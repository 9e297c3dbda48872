"""One session of HTTP+SSE: a transport whose messages to the client share a single stream of events."""

import asyncio
from collections.abc import Mapping, Sequence

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.journal import Journal
from mcp_runtime.connection.transport import Identifying, Receiver
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome, Verdict
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.server.requests.asgi import Headers, TooLarge
from mcp_runtime.transports.http.server.requests.unread import Unread
from mcp_runtime.transports.http.server.streams.event_log import EventLog
from mcp_runtime.transports.http.server.streams.outlet import Outlet
from mcp_runtime.transports.http.server.streams.stream import Stream


class SseSession:
    """The transport of one session, which lives for as long as its stream.

    Args:
        id_: the id of the session.
        endpoint: where the client posts its messages: the path and the query of a URL.
        headers: the headers of the request that opened the stream.
        principal: who sent that request; None if unknown.
        limits: resource limits.
        unread: counts the bytes that clients have not read yet, for all sessions.
        journal: limits the log lines about all sessions.

    Attributes:
        connection: the conversation over it.
        stream: the stream to the client.
        posts: how many of its POSTs are being answered.
    """

    __slots__ = (
        "_readable",
        "_receiver",
        "connection",
        "events",
        "id",
        "is_closed",
        "journal",
        "limits",
        "posts",
        "primes",
        "principal",
        "stream",
        "unread",
    )

    connection: Connection

    def __init__(
        self,
        id_: str,
        endpoint: bytes,
        headers: Headers,
        *,
        principal: str | None,
        limits: HttpLimits,
        unread: Unread,
        journal: Journal,
    ) -> None:
        self.id = id_
        self.principal = principal
        self.limits = limits
        self.unread = unread
        self.journal = journal
        # A stream of HTTP+SSE cannot be resumed, so nothing is stored.
        self.events: EventLog | None = None
        self.primes = False
        self.is_closed = False
        self.posts = 0
        self.stream = SseStream(self, endpoint, headers)
        self._receiver: Receiver
        self._readable = asyncio.Event()
        self._readable.set()

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the request that opened the stream, as handlers see them."""
        return self.stream.headers

    async def ready(self) -> None:
        """Wait until the client has read enough of what it was sent."""
        await self._readable.wait()

    async def take(self, body: bytes) -> Outcome:
        """Process a message as soon as the session is ready for it.

        A refused message counts as accepted if its sender gets the error on the stream.
        """
        await self.ready()
        sent = self.stream.last
        outcome = self._receiver.message_received(body, self)
        is_told = self.stream.last > sent and outcome.verdict is not Verdict.MALFORMED
        return ACCEPTED if is_told else outcome

    def skip(self, refusal: TooLarge) -> None:
        """Handle a message that was too large to read; its sender gets the error on the stream."""
        if isinstance(self._receiver, Identifying):
            self._receiver.message_skipped(refusal.reason, self, refusal.start, refusal.end)
        else:
            self._receiver.message_refused(refusal.reason, self)

    def finished(self, stream: Stream) -> None:
        """Do nothing: the stream ends with the session."""

    def send(self, message: bytes) -> None:
        """Send a message to the client."""
        self.stream.send(message)

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""
        await self.stream.drain()

    def pause_reading(self) -> None:
        """Let POSTs wait until `resume_reading`."""
        self._readable.clear()

    def resume_reading(self) -> None:
        """Accept messages again."""
        self._readable.set()

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages."""
        self._receiver = receiver

    async def close(self) -> None:
        """End the stream once everything queued has been sent."""
        if not self.is_closed:
            self.is_closed = True
            self.stream.finish()
            self._readable.set()
            self._receiver.connection_lost(None)


class SseStream(Stream):
    """The stream of a session: its first event names the endpoint for messages.

    Args:
        owner: the session.
        endpoint: where the client posts its messages.
        headers: the headers of the request that it answers.
    """

    __slots__ = ("_endpoint",)

    def __init__(self, owner: SseSession, endpoint: bytes, headers: Headers) -> None:
        super().__init__(owner, 0, headers, owner.principal)
        self._endpoint = endpoint

    def attach(self, outlet: Outlet, missed: Sequence[tuple[int, bytes]] | None = None) -> None:
        """Send events through a response, which begins with the endpoint."""
        outlet.put(b"event: endpoint\ndata: %b\n\n" % self._endpoint)
        super().attach(outlet, missed)

    def _encoded(self, number: int, message: bytes) -> bytes:
        # Encoded JSON contains no line ends.
        return b"event: message\ndata: %b\n\n" % message
