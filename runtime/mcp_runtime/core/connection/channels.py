"""The channels of one connection, and what is sent on them.

A message comes over a channel and is answered on it. A transport with a single stream is its own only channel; over
HTTP every POST has one, which is kept here while something is open or unread on it. What belongs to no open request
is sent on the main channel.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final, cast

from mcp_runtime.core.connection.background import Background
from mcp_runtime.core.connection.calls import CURRENT, Call, Reply
from mcp_runtime.core.connection.transport import ANSWER_SENT, MAX_UNREAD, Channel, Sent
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.protocol.session import Session

MAX_IDLE: Final = 1000
"""How many channels without open requests are kept before they are checked."""


class Channels:
    """The channels of one connection.

    Args:
        main: the channel of messages that belong to no open request.
        session: the open requests of both sides.
        background: runs what waits for a peer that does not read.
        trace: called with each message that is sent; None for no one.

    Attributes:
        main: the channel of messages that belong to no open request.
    """

    __slots__ = ("_background", "_closed_because", "_kept", "_session", "_trace", "main")

    def __init__(
        self, main: Channel, session: Session, background: Background, trace: Callable[[bytes], None] | None
    ) -> None:
        self.main: Final = main
        self._session, self._background, self._trace = session, background, trace
        self._kept: dict[Channel, None] = {main: None}
        self._closed_because: str | None = None

    def __iter__(self) -> Iterator[Channel]:
        return iter(self._kept)

    def __contains__(self, channel: object) -> bool:
        return channel in self._kept

    def opened(self, reply: Reply) -> None:
        """Keep the channel of a request, which is not the main one, since that is open on it."""
        reply.channel.calls[reply.id] = reply
        self._keep(reply.channel)

    @property
    def has_open_calls(self) -> bool:
        """Whether a request of the peer is open that ends by itself: one that listens does not."""
        return any(reply.call is not None and reply.call.keeper is None for reply in self.replies())

    def replies(self) -> Iterator[Reply]:
        """Iterate over the open requests of the peer, which the session or their channels have booked."""
        on_channels = (channel.calls.values() for channel in self._kept)
        in_session = cast("Iterable[Reply]", self._session.incoming.values())
        return iter({*in_session, *chain.from_iterable(on_channels)})

    def _keep(self, channel: Channel) -> None:
        """Keep a channel until nothing is open or unread on it, or its channel is lost."""
        self._kept[channel] = None
        if len(self._kept) % MAX_IDLE == 0:
            # A transport that does not report lost channels must not fill the memory.
            for idle in [kept for kept in self._kept if not kept.calls and not kept.is_reading_paused]:
                self.forget(idle)

    def forget(self, channel: Channel) -> None:
        """Handle that a channel is gone, or that nothing is open on it any more."""
        if channel is not self.main:
            self._kept.pop(channel, None)

    def living(self, channel: Channel) -> Channel:
        """Return a channel if it belongs to this connection and is still open, otherwise the main one."""
        return channel if channel in self._kept else self.main

    def of(self, call: Call | None = None) -> Channel:
        """Return the channel for what belongs to a message: its own while it is open.

        Args:
            call: the message; by default the one being handled.
        """
        call = call or CURRENT.get()
        return self.main if call is None or not call.is_open else self.living(call.channel)

    def send(self, message: bytes, channel: Channel, about: Sent = ANSWER_SENT) -> None:
        """Send a message, unless it is empty or the connection has ended."""
        if message and self._closed_because is None:
            if self._trace is not None:
                self._trace(message)
            channel.send(message, about)

    def ask(self, request: bytes, channel: Channel, about: Sent) -> None:
        """Send a request, and count it until the peer has read most of what was sent."""
        self.send(request, channel, about)
        before, channel.asked_bytes = channel.asked_bytes, channel.asked_bytes + len(request)
        if before <= MAX_UNREAD < channel.asked_bytes:
            self._background.spawn(self.drain(channel))

    async def drain(self, channel: Channel) -> None:
        """Wait until the peer has read most of what it was sent without waiting."""
        await channel.drain()
        channel.asked_bytes = channel.posted_bytes = 0

    def send_at_once(self, message: bytes, channel: Channel, about: Sent = ANSWER_SENT) -> None:
        """Send an answer that no handler's task waits with; pause reading from a peer that does not read its answers.

        Reading resumes as soon as the peer has read its answers. Other channels are not slowed down.
        """
        self.send(message, channel, about)
        channel.unread_bytes += len(message)
        if channel is not self.main:
            self._keep(channel)
        if channel.unread_bytes > MAX_UNREAD and not channel.is_reading_paused and self._closed_because is None:
            channel.is_reading_paused = True
            channel.pause_reading()
            self._background.spawn(self._listen_when_drained(channel))

    async def _listen_when_drained(self, channel: Channel) -> None:
        await channel.drain()
        channel.unread_bytes, channel.is_reading_paused = 0, False
        if not channel.calls:
            self.forget(channel)
        channel.resume_reading()

    async def drain_result(self, channel: Channel, size: int) -> None:
        """Wait until the peer has read most of what was sent over a channel, including a result of `size` bytes."""
        channel.owed_bytes += size
        try:
            await channel.drain()
        finally:
            channel.owed_bytes -= size
            if channel.room is not None and channel.owed_bytes <= MAX_UNREAD:
                channel.room.set()
                channel.room = None

    async def wait_for_room(self, channel: Channel) -> None:
        """Wait until the peer has read most of the results that were sent over a channel."""
        while channel.owed_bytes > MAX_UNREAD:
            channel.room = channel.room or asyncio.Event()
            await channel.room.wait()

    def answer(self, reply: Reply, result: bytes, *, at_once: bool = False) -> Channel:
        """Answer an open request with its result, over its own channel, and return the channel; see `send_at_once`."""
        return self._conclude(reply, self._session.answer(reply, result), at_once=at_once)

    def refuse(self, reply: Reply, code: int, message: str, data: Any = None) -> None:
        """Answer an open request with an error, over its own channel."""
        self._conclude(reply, self._session.refuse(reply, code, message, data), Sent(code=code), at_once=True)

    def drop(self, reply: Reply) -> None:
        """Forget a request whose answer the peer no longer wants."""
        if reply.book is not None:
            self._conclude(reply, self._session.drop(reply))

    def _conclude(self, reply: Reply, message: bytes, about: Sent = ANSWER_SENT, *, at_once: bool = False) -> Channel:
        """Send what is left to send on a request, over its own channel, which is finished with its last request."""
        channel, is_last, reply.call = reply.channel, False, None
        if channel is not self.main:
            channel.calls.pop(reply.id, None)
            is_last = not channel.calls
            if is_last and not channel.unread_bytes:
                self._kept.pop(channel, None)
        (self.send_at_once if at_once else self.send)(message, channel, about)
        if is_last:
            channel.finish()
        return channel

    def check_open(self, call: Call | None = None) -> None:
        """Check that the connection is open.

        Args:
            call: what is about to be sent belongs to it; a suspended request's handler may outlive its connection.

        Raises:
            ConnectionClosed: it has ended.
        """
        if self._closed_because is not None and not (call is not None and call.is_suspended):
            raise ConnectionClosed(self._closed_because)

    def close(self, reason: str) -> None:
        """Handle the end of the connection: no request is open any more, and nothing is sent."""
        self._closed_because = reason
        for channel in self._kept:
            for reply in channel.calls.values():
                reply.book = None
            channel.calls = {}
