"""The streams of messages to a client, and the HTTP responses through which they are sent.

For a client that does not read, handlers wait (`Stream.drain`), a stream that still grows is cut (`Stream.send`), the
stream of a session's other messages drops the oldest (`CommonStream`), and no further stream begins (`pump`). The
limits are those of `HttpLimits`, where half of the total is the most for one client.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, Final

from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.transport import ANSWER_SENT, NO_HEADERS, Channel, Sent
from mcp_runtime.core.transports.http.server import asgi
from mcp_runtime.core.transports.http.server.asgi import HIGH_WATER, HttpRequest, Sender, resolve
from mcp_runtime.core.transports.http.server.outlet import Outlet, Owner, watch
from mcp_runtime.core.transports.http.statuses import Case, Refusal


class Stream(Channel):
    """A stream of messages to the client: what belongs to one POST.

    Until the HTTP response is known to be a stream, messages wait; then each becomes an event, which is stored for
    clients that reconnect if the session has an event store.

    Args:
        owner: the session that it belongs to.
        number: identifies it in the session.
        sender: who sent its request.

    Attributes:
        is_finished: whether nothing more belongs to it.
        last: the number of its last event.
        outlet: the response that its events are sent through, or None at the moment.
        code: the code of the last message, if that is an error response; otherwise 0.
    """

    statuses: ClassVar[Mapping[int, int]] = {}
    """The HTTP statuses of errors, by code."""
    ends_with_client: ClassVar[bool] = False
    """Whether what belongs to it is cancelled when its client disconnects."""

    def __init__(self, owner: Owner, number: int, sender: Sender) -> None:
        self.number = number
        self.sender = sender
        self.principal, self.address = sender
        self.headers = NO_HEADERS
        self.is_finished = False
        self.code = 0
        self.last = 0
        self.outlet: Outlet | None = None
        self._owner = owner
        self._early: list[bytes] | None = []
        self._waiter: asyncio.Future[None] | None = None
        self._begun: asyncio.Future[None] | None = None
        self.can_resume = owner.primes
        self._is_closing = False

    @property
    def unread(self) -> Pool:
        """Counts the bytes that clients have not read yet."""
        return self._owner.shared.unread

    @property
    def sole(self) -> bytes | None:
        """The only message that waits; None if there are none or several."""
        return self._early[0] if self._early is not None and len(self._early) == 1 else None

    @property
    def is_complete(self) -> bool:
        """Whether all its messages wait for a response, and are few bytes."""
        return self.is_finished and bool(self._early) and sum(map(len, self._early or ())) <= HIGH_WATER

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Send a message to the client, now or when it reconnects; without an event store it may be lost until then."""
        self.code = about.code
        if self._early is None:
            self._put(message)
        else:
            self._early.append(message)
            if self._waiter is not None:
                resolve(self._waiter)

    async def drain(self) -> None:
        """Wait until the client has read enough, or is gone."""
        if self._early and not self.is_finished and sum(map(len, self._early)) > HIGH_WATER:
            self._begun = self._begun or asyncio.get_running_loop().create_future()
            await asyncio.shield(self._begun)
        if self.outlet is not None:
            await self.outlet.drained()

    def finish(self) -> None:
        """Handle that nothing more belongs to it: the response ends."""
        self.close()
        self._owner.finished(self)
        if self.calls or self.unread_bytes:
            self._owner.receiver.channel_lost(self, None)

    def close(self) -> None:
        """Handle the end of its session: the response ends."""
        self.is_finished = True
        if self.outlet is not None:
            self.outlet.end()
        if self._waiter is not None or self._begun is not None:
            self.wake()

    def close_stream(self) -> None:
        """End the response; messages sent from now on are stored until the client reconnects."""
        if self._early is not None:
            # It has not begun yet: it will, with the event that lets the client resume it.
            self._is_closing = True
            self.wake()
        else:
            self.end_response()

    async def first(self, delay: "asgi.Delay[asyncio.Future[None]]") -> None:
        """Wait for the first message, or the end of the stream or of the delay, unless the stream is to be closed."""
        if self._early or self.is_finished or self._is_closing:
            return
        self._waiter = waiter = asyncio.get_running_loop().create_future()
        delay.begin(waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            delay.end(waiter)

    async def missed(self, after: int) -> Sequence[tuple[int, bytes]]:
        """Return the messages that followed an event, with their numbers.

        Raises:
            Refusal: there was no such event, or what followed it is no longer stored.
        """
        if after > self.last:
            raise Refusal(Case.EVENTS_GONE)
        found: list[tuple[int, bytes]] = []
        events = self._owner.shared.events
        # More may be sent while the store reads.
        while after < self.last:
            more = await events.after(self._owner.id, self.number, after) if events is not None else None
            if not more:
                raise Refusal(Case.EVENTS_GONE)
            found += more
            after = more[-1][0]
        return found

    def attach(self, outlet: Outlet, missed: Sequence[tuple[int, bytes]] | None = None) -> None:
        """Send events through a response; an earlier one ends.

        Args:
            outlet: the response.
            missed: what a reconnecting client has missed; None for a client that has received nothing yet.
        """
        if self.outlet is not None:
            self.outlet.end()
        self.outlet = outlet
        for number, message in missed or ():
            outlet.put(self._encoded(number, message))
        for event in self.begin(is_first=missed is None):
            outlet.put(event)
        if self.is_finished:
            outlet.end()
        if self._is_closing:
            self._is_closing = False
            self.detach(outlet)

    def begin(self, *, is_first: bool = True) -> list[bytes]:
        """Return the events that waited for a response; further ones no longer wait.

        Args:
            is_first: whether the client has received nothing yet.
        """
        events: list[bytes] = []
        if is_first and self._owner.primes:
            retry = self._owner.shared.limits.retry * 1000
            events.append(b"id: %d-%d\nretry: %d\ndata: \n\n" % (self.number, self.last, retry))
        early, self._early = self._early, None
        if self._begun is not None:
            resolve(self._begun)
        events += map(self._event, early or ())
        return events

    def detach(self, outlet: Outlet) -> None:
        """Handle the end of a response."""
        if self.outlet is outlet:
            self.outlet = None
        outlet.end()

    def end_response(self) -> None:
        """End the response, if there is one; what is sent from now on waits for the next."""
        if self.outlet is not None:
            self.detach(self.outlet)

    def _put(self, message: bytes) -> None:
        event, outlet, owner = self._event(message), self.outlet, self._owner
        if outlet is None:
            return
        is_behind = outlet.queued and outlet.queued + len(event) > owner.shared.limits.max_unread
        is_much = outlet.queued + len(event) > HIGH_WATER
        if is_behind or (is_much and not owner.shared.unread.has_room(self.sender.peer, len(event))):
            self.detach(outlet)
            outlet.cut()
        else:
            outlet.put(event)

    def _event(self, message: bytes) -> bytes:
        """Build the next event, and store its message for clients that reconnect."""
        self.last += 1
        owner = self._owner
        if owner.shared.events is not None:
            owner.shared.events.append(owner.id, self.number, self.last, message)
        return self._encoded(self.last, message)

    def _encoded(self, number: int, message: bytes) -> bytes:
        # Encoded JSON contains no line ends.
        if self._owner.shared.events is None:
            return b"data: %b\n\n" % message
        return b"id: %d-%d\ndata: %b\n\n" % (self.number, number, message)

    def leave(self) -> None:
        """Handle that the client closed its connection."""
        if self.outlet is not None:
            self.outlet.leave()
        elif not self.is_finished:
            self.finish()

    def wake(self) -> None:
        """Wake up the waiters for the first message."""
        if self._waiter is not None:
            resolve(self._waiter)
        if self.is_finished and self._begun is not None:
            resolve(self._begun)


class CommonStream(Stream):
    """The stream of messages that belong to no request; without a response they wait for the next one."""

    def __init__(self, owner: Owner, sender: Sender) -> None:
        super().__init__(owner, 0, sender)
        self._kept = 0

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Send a message to the client, now or when it listens again; beyond the limit the oldest are dropped."""
        super().send(message, about)
        early, owner = self._early, self._owner
        if early is None:
            return
        self._keep(len(message))
        while len(early) > 1 and (
            self._kept > owner.shared.limits.max_unread or not owner.shared.unread.has_room(self.sender.peer, 0)
        ):
            self._keep(-len(early.pop(0)))

    def need(self, scopes: Collection[str]) -> None:
        """Remember scopes that reading it needs from now on; the response of a client without them ends.

        Args:
            scopes: the scopes.
        """
        super().need(scopes)
        if self.lacks(self.needed, self.principal):
            self.end_response()

    def attach(self, outlet: Outlet, missed: Sequence[tuple[int, bytes]] | None = None) -> None:
        """Send events through a response, starting with those that waited."""
        super().attach(outlet, missed)
        self._keep(-self._kept)

    def close(self) -> None:
        """Drop waiting messages too, since the session is over."""
        super().close()
        self._early = []
        self._keep(-self._kept)

    def _keep(self, size: int) -> None:
        self._kept += size
        self._owner.shared.unread.add(self.sender.peer, size)

    async def drain(self) -> None:
        """Wait until the client has read enough; does not wait for a client that does not listen."""
        if self.outlet is not None:
            await self.outlet.drained()

    def detach(self, outlet: Outlet) -> None:
        """Handle the end of a response, and wait for the next one."""
        if self.outlet is outlet:
            self._early = []
        super().detach(outlet)


# Proxies must neither cache nor buffer events.
_HEADERS: Final = (
    (b"content-type", asgi.EVENTS),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


async def pump(
    stream: Stream,
    request: HttpRequest,
    quiet: "asgi.Delay[asyncio.Future[None]]",
    *,
    watcher: "asyncio.Task[None] | None" = None,
    after: int | None = None,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Answer a request with the events of a stream.

    Args:
        stream: the stream.
        request: the request.
        quiet: reports when no event was sent for long.
        watcher: the task that already waits for the client to disconnect; it is cancelled in the end.
        after: the number of the last event that the client received; None if it received none.
        headers: further headers of the response.

    Raises:
        Refusal: what follows the client's last event is no longer stored, or clients have too much to read already.
        Disconnected: the client does not read.
    """
    peer, unread = stream.sender.peer, stream.unread
    if not unread.has_room(peer, 0):
        raise Refusal(Case.UNREAD)
    start: asgi.Message | None = {"type": "http.response.start", "status": 200, "headers": [*_HEADERS, *headers]}
    if after is None and stream.is_complete:
        # Nothing more is sent on it, and its client needs no time to read this.
        await request.write(start, b"".join(stream.begin()), is_last=True)
        return
    # Nothing may wait between the end of this and `attach`: what were sent then would not arrive.
    missed = None if after is None else await stream.missed(after)
    outlet = Outlet(unread, peer)
    stream.attach(outlet, missed)
    try:
        while not outlet.was_cut:
            data, is_last = outlet.take()
            if data or is_last or start:
                await request.write(start, data, is_last=is_last)
                start = None
                outlet.written(data)
                if is_last:
                    break
                if outlet.queued:
                    await asyncio.sleep(0)
            else:
                watcher = watcher or asyncio.ensure_future(watch(request.receive, outlet.leave))
                if not await outlet.changed(quiet):
                    outlet.put(b":\n\n")
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not outlet.was_cut or task is None:
            raise
        # The server closes the connection, as the response is incomplete; the client may resume the stream.
        task.uncancel()
    finally:
        stream.detach(outlet)
        outlet.close()
        if watcher is not None:
            watcher.cancel()
