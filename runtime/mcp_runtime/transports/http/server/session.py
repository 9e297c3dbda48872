"""One session of a client: a transport for one connection, with a channel for each POST (basic/transports)."""

import asyncio
from typing import Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.journal import Journal
from mcp_runtime.connection.transport import Identifying, Receiver
from mcp_runtime.transports.http.limits import HttpLimits
from mcp_runtime.transports.http.server.requests.asgi import Headers
from mcp_runtime.transports.http.server.requests.unread import Unread
from mcp_runtime.transports.http.server.streams.event_log import EventLog
from mcp_runtime.transports.http.server.streams.stream import CommonStream, ResumableStream, Stream

PRIMES_SINCE: Final = "2025-11-25"
"""The first revision in which streams begin with an event without data, and may be closed early."""


class HttpSession:
    """The transport of one session.

    Args:
        id_: the id of the session.
        limits: resource limits.
        events: stores what was sent; None to store nothing.
        unread: counts the bytes that clients have not read yet, for all sessions.
        journal: limits the log lines about all sessions.
        principal: who began it; None if unknown.

    Attributes:
        connection: the conversation over it.
        receiver: receives the messages.
        common: the stream of messages that belong to no request.
        primes: whether streams begin with an event without data, so that clients can resume them from the start.
        exchanges: how many of its HTTP requests are being answered.
        last_used: when the last request ended, by the event loop's clock in seconds.
    """

    __slots__ = (
        "_loop",
        "_next",
        "_streams",
        "common",
        "connection",
        "events",
        "exchanges",
        "id",
        "is_closed",
        "journal",
        "last_used",
        "limits",
        "primes",
        "principal",
        "receiver",
        "unread",
    )

    connection: Connection
    receiver: Receiver

    def __init__(
        self,
        id_: str,
        limits: HttpLimits,
        events: EventLog | None,
        *,
        unread: Unread,
        journal: Journal,
        principal: str | None,
    ) -> None:
        self.id = id_
        self.limits = limits
        self.events = events
        self.unread = unread
        self.journal = journal
        self.principal = principal
        self.exchanges = 0
        self.primes = False
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self.last_used = self._loop.time()
        self.common = CommonStream(self)
        self._streams: dict[int, Stream] = {}
        self._next = 1

    def begin(self) -> None:
        """Handle that the handshake has succeeded."""
        self.primes = self.events is not None and self.connection.revision >= PRIMES_SINCE

    @property
    def open_streams(self) -> int:
        """How many POSTs are not answered yet, including those that the client no longer waits for."""
        return len(self._streams)

    def stream(self, headers: Headers) -> Stream:
        """Create the stream of a POST."""
        number, self._next = self._next, self._next + 1
        class_ = ResumableStream if self.primes else Stream
        stream = self._streams[number] = class_(self, number, headers, self.principal)
        return stream

    def skipped(self, reason: str, headers: Headers, start: bytes, end: bytes) -> bytes | None:
        """Handle a message that was too large to read; return its answer, if there is one.

        Args:
            reason: what is wrong, for people.
            headers: the headers of its request.
            start: its first kilobytes.
            end: its last kilobytes.
        """
        stream = self.stream(headers)
        if isinstance(self.receiver, Identifying):
            self.receiver.message_skipped(reason, stream, start, end)
        else:
            self.receiver.message_refused(reason, stream)
        answer = stream.sole
        stream.finish()
        return answer

    async def find(self, event_id: str) -> tuple[Stream, int]:
        """Return the stream that an event belongs to, and the number of the event in it.

        Raises:
            LookupError: there is no such event in this session, or what followed it is no longer stored.
        """
        stream, _, number = event_id.partition("-")
        if not stream.isdecimal() or not number.isdecimal() or len(event_id) > 40:
            raise LookupError(event_id)
        found = self.common if stream == "0" else self._streams.get(int(stream))
        if found is None:
            found = await self._ended(int(stream), int(number))
        return found, int(number)

    def finished(self, stream: Stream) -> None:
        """Forget a stream that has ended; its events are stored for a while."""
        if self._streams.pop(stream.number, None) is not None:
            self.receiver.channel_lost(stream, None)

    def enter(self) -> None:
        """Record the start of an HTTP request."""
        self.exchanges += 1

    def leave(self) -> None:
        """Record the end of an HTTP request."""
        self.exchanges -= 1
        self.last_used = self._loop.time()

    def send(self, message: bytes) -> None:
        """Send a message that belongs to no request, on the stream that the client listens to."""
        if not self.is_closed:
            self.common.send(message)

    async def drain(self) -> None:
        """Wait until the client has read enough of the messages that belong to no request."""
        await self.common.drain()

    def pause_reading(self) -> None:
        """Do nothing: every message has its own channel."""

    def resume_reading(self) -> None:
        """Do nothing."""

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages."""
        self.receiver = receiver

    async def close(self) -> None:
        """End every response."""
        if self.is_closed:
            return
        self.is_closed = True
        for stream in (self.common, *self._streams.values()):
            stream.is_finished = True
            if stream.outlet is not None:
                stream.outlet.end()
            stream.wake()
        self._streams.clear()
        self.common.close()
        self.receiver.connection_lost(None)
        if self.events is not None:
            await self.events.forget(self.id)

    async def _ended(self, number: int, after: int) -> Stream:
        """Return a stream that has ended, with its stored messages."""
        if self.events is None or not 0 < number < self._next:
            raise LookupError(number)
        if not (kept := await self.events.after(self.id, number, after)):
            raise LookupError(number)
        stream = Stream(self, number, {}, self.principal)
        stream.last = kept[-1][0]
        stream.is_finished = True
        return stream
