"""One conversation with one peer, on asyncio.

A `Connection` has two halves. What the transport receives goes to `Receiving`, which asks the session what it is, and
passes the peer's requests to `Inbound` (a task for each, with typed params and a context), its notifications to
`Notifications`, and answers to `Outbound` (a future for each request of this side). What is sent goes through
`Channels`, over that of the message that it belongs to.

Only the peer cancels its requests, over the channel or in the session that they came over, and with the scopes that
they needed (`Receiving`); this side cancels its own (`Outbound`). Both stop the handler or the caller that waits.

A connection is open, then may wait for the last answers to a peer that sends nothing more, and is then closed: open
requests fail, handlers are cancelled, hooks are called. It is over once everything that it started has ended.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from copy import copy
from typing import Any, TypeAlias, TypeVar

from mcp_runtime.core.connection.base import BaseConnection
from mcp_runtime.core.connection.calls import CURRENT, Call, Proceed, Reply, Way, through
from mcp_runtime.core.connection.inbound import Inbound
from mcp_runtime.core.connection.notifications import NotificationStream, Reports, log_message
from mcp_runtime.core.connection.outbound import Outbound
from mcp_runtime.core.connection.receiving import Identify, OnInitialize, Receiving
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.transport import Transport, TransportError
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.method import AnyMethod, AnyRequest, NotificationMethod, RequestMethod, WireType, typed_wire
from mcp_runtime.core.options import CallOptions, Limits, LogLevel
from mcp_runtime.core.protocol.dispatch import Side, State
from mcp_runtime.core.protocol.jsonrpc import Notification

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

CloseHook: TypeAlias = Callable[[str], None]
"""Called with the reason when a connection has ended."""


class Exchange(Call):
    """A request or a notification on its connection, as handlers and middleware see it.

    Attributes:
        connection: the connection that it was received or is sent on.
        way: the direction of the message.
        method: its record in the method table.
        id: the id of the request; None for a notification, and for a request that has not been sent yet.
        params: its typed params; None if it has none. Middleware may replace them.
        meta: its `_meta`, keyed by wire names; empty if it has none, or if it was not `received`.
        is_cancelled: whether the answer is no longer wanted.
        cancel_reason: the peer's reason for cancelling it.
    """

    connection: "Connection"

    @classmethod
    def of(cls, connection: "Connection", method: AnyMethod, params: Any, way: Way, requester: Requester) -> "Exchange":
        """Return a message of a `method` that did not arrive: one that is sent, or that this side asks itself.

        It has `params`, a `way` and a `requester` on the `connection`. What this side asks itself has the rights of the
        message being handled.
        """
        made = cls(connection, Reply(None, Notification(method.name, None), connection.channels.main))
        made.way, made.requester, made.method, made.params = way, requester, method, params
        cause = CURRENT.get() if way is Way.RECEIVED else None
        made.principal = cause.principal if cause is not None and cause.connection is connection else None
        return made

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress on the request; does nothing if the peer did not ask for it.

        Progress that does not increase is dropped and logged.

        Args:
            progress: how much is done so far.
            total: how much there is to do; None if unknown.
            message: a text to show, or None.
        """
        if self.is_open:
            channel = self.connection.reports.progress(self, progress, total, message)
            if channel is not None:
                await channel.drain()

    async def log(self, level: LogLevel, data: Any, logger: str | None = None) -> None:
        """Send a log message to the peer, if it asked for messages of that level.

        Args:
            level: the severity, by its RFC 5424 name: ``debug`` to ``emergency``.
            data: any JSON value.
            logger: the name of the logger; None to send no name.

        Raises:
            ValueError: there is no such level.
            MissingCapability: this server did not declare logging.
        """
        await self.connection.log(level, data, logger, exchange=self)

    def close_stream(self) -> None:
        """Close the stream that the answer would be sent on; the peer resumes it later, and the handler keeps running.

        Raises:
            LocalProtocolError: the transport cannot resume streams.
        """
        channel = self.channel
        if not channel.can_resume:
            raise self.requester.forbids(self.method, "this transport cannot resume streams")
        channel.close_stream()


Middleware: TypeAlias = Callable[[Exchange, Proceed], Awaitable[Any]]
"""Wraps every request and notification: receives the message and returns its typed result, or None."""


class Connection(BaseConnection):
    """One conversation with one peer; create it within a running event loop.

    Args:
        transport: carries the messages; `start` starts it.
        side: which end of the conversation this is.
        limits: how the connection behaves.
        middleware: wraps every request and notification; the first one is outermost.

    Attributes:
        middleware: wraps every request and notification.
        features: the data that features keep for this connection, by name.
        results: the possible results of requests, including those of extensions.
        reports: the outgoing progress reports and log messages.
        outbound: this side's requests and notifications.
        inbound: the peer's requests and notifications.
        receiving: receives the messages of the transport.
    """

    call_type = Exchange

    def __init__(self, transport: Transport, side: Side, limits: Limits, middleware: Sequence[Middleware] = ()) -> None:
        super().__init__(transport, side, limits)
        self.middleware = tuple(middleware)
        self.features: dict[str, Any] = {}
        self.reports = Reports(self)
        self.outbound = Outbound(self, self.reports)
        self.results = self.outbound.results
        self.inbound = Inbound(self, self.outbound, self.reports, self.middleware)
        self.receiving = Receiving(self, self.inbound, self.outbound)
        self._before_close: Callable[[], None] | None = None
        self._close_hooks: list[CloseHook] = []
        self._over: asyncio.Event | None = None  # created on demand, since most connections are idle

    async def start(self, on_initialize: OnInitialize | None = None, identify: Identify | None = None) -> None:
        """Start receiving messages from the peer.

        Args:
            on_initialize: answers `initialize` with the result, keyed by wire names; None on the client side.
            identify: returns the sender of a modern-era request; None to refuse all of them.

        Raises:
            ConnectionClosed: the peer cannot be reached.
        """
        receiving = self.receiving
        receiving.on_initialize, receiving.identify = on_initialize, identify
        try:
            await self.transport.start(receiving)
        except TransportError as error:
            receiving.connection_lost(error)
            raise ConnectionClosed(str(error)) from error

    def on_close(self, hook: CloseHook) -> None:
        """Register a hook that is called once when the connection has ended.

        Args:
            hook: called with the reason.
        """
        if self.end.is_closed:
            hook(self.end.reason)
        else:
            self._close_hooks.append(hook)

    def before_close(self, hook: Callable[[], None]) -> None:
        """Register a hook that is called once before the connection ends, while messages can still be sent.

        Args:
            hook: the function to call.
        """
        self._before_close = hook

    async def wait_closed(self) -> str:
        """Wait until the connection and everything it started have ended; return the reason."""
        while not self._is_over:
            self._over = self._over or asyncio.Event()
            await self._over.wait()
        return self.end.reason

    async def aclose(self, reason: str = "closed by this side") -> None:
        """End the conversation: open requests fail, handlers are cancelled, the transport is closed gracefully.

        Waits until all of that has finished, unless called by a handler, which would wait for itself.

        Args:
            reason: the reason that open calls and hooks get.
        """
        self.finish(reason)
        try:
            await self.transport.close()
        finally:
            task = asyncio.current_task()
            if task not in self.background and not self.inbound.runs(task):
                await self.wait_closed()

    def finish(self, reason: str) -> None:
        """End the conversation now, and let everything that it started end; see `BaseConnection.finish`."""
        if self.end.is_closed:
            return
        if self._before_close is not None:
            self._before_close()
        self.reports.flush()
        self.receiving.end()
        self._close(reason)
        self.outbound.fail_all(reason)
        current = asyncio.current_task(self.loop)  # which may have stopped
        self.inbound.end(reason, current)
        self.background.cancel(reason, but=current)
        for hook in self._close_hooks:
            try:
                hook(reason)
            except Exception as error:
                self.log_limited(logging.ERROR, "an on_close hook failed", exc_info=error)
        self.settle()

    def settle(self) -> None:
        """End, or wake up those who wait for the end, once nothing runs any more."""
        if self._is_over:
            if self._over is not None:
                self._over.set()
        elif self.end.reason and not self.end.is_closed and not self.channels.has_open_calls:
            self.finish(self.end.reason)

    @property
    def _is_over(self) -> bool:
        return self.end.is_closed and self.inbound.is_idle and not self.background

    @property
    def last_activity(self) -> float:
        """When the last message arrived, by the event loop's clock in seconds."""
        return self.receiving.last_activity

    @property
    def state(self) -> State:
        """The state of the conversation."""
        return self.session.state

    @property
    def open_requests(self) -> int:
        """How many requests of both sides are not answered yet."""
        return len(self.session.outgoing) + sum(1 for _ in self.channels.replies())

    def request(
        self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None
    ) -> Coroutine[Any, Any, R]:
        """Send a request and wait for its result. Cancelling the waiting task cancels the request.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params; None if it has none.
            options: timeouts and progress; None for the defaults.

        Raises:
            PeerError: the peer answered with an error.
            RequestTimeout: the peer did not answer in time.
            ConnectionClosed: the connection has ended.
            MissingCapability: the peer did not declare a capability that the request needs.
            LocalProtocolError: the request is not allowed now.
            RemoteProtocolError: the answer violates the protocol.
        """
        return self._request(method, params, method.result, options)

    def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> Coroutine[Any, Any, T]:
        """Send a request and wait for a result of a type other than the usual one; raises like `request`.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params; None if it has none.
            result: the type of the result.
            options: timeouts and progress; None for the defaults.
        """
        return self._request(method, params, typed_wire(result), options)

    def _request(
        self, method: AnyRequest, params: Any, type_: WireType[T], options: CallOptions | None
    ) -> Coroutine[Any, Any, T]:
        if not self.middleware:
            return self.outbound.ask(method, params, type_, options)
        sent = Exchange.of(self, method, params, Way.SENT, self.requester)
        return self.outbound.ask_through(self.middleware, sent, type_, options)

    async def notify(
        self, method: NotificationMethod[P], params: P | None, *, exchange: Exchange | None = None
    ) -> None:
        """Send a notification.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params; None if it has none.
            exchange: the request that it belongs to, on whose channel it is sent while that is open; by default the one
                being handled.

        Raises:
            ConnectionClosed: the connection has ended.
            MissingCapability: neither side declared a capability that the notification needs.
            LocalProtocolError: it is not allowed now.
        """
        if self.middleware:
            sent = Exchange.of(self, method, params, Way.SENT, self.requester)
            await through(self.middleware, sent, lambda: self.outbound.notify(method, sent.params, exchange))
        else:
            await self.outbound.notify(method, params, exchange)

    def post(self, method: NotificationMethod[P], params: P | None, *, exchange: Exchange | None = None) -> None:
        """Send a notification without middleware, and without waiting for the peer to receive it; see `notify`.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params; None if it has none.
            exchange: the request that it belongs to.
        """
        self.outbound.post(method, params, exchange)

    def plain_meta(self, type_: type[T]) -> T:
        """Return the `_meta` of a request that carries only what every request must; not to be changed.

        Args:
            type_: the generated type of it.
        """
        found: T = self.outbound.shared_meta(type_).model
        # Middleware may change what one call carries without affecting other calls.
        return copy(found) if self.middleware else found

    async def log(
        self, level: LogLevel, data: Any, logger: str | None = None, *, exchange: Exchange | None = None
    ) -> None:
        """Send a log message to the client, if it asked for messages of that level; see `Limits.log_rate`.

        Args:
            level: the severity, by its RFC 5424 name: ``debug`` to ``emergency``.
            data: any JSON value.
            logger: the name of the logger; None to send no name.
            exchange: the request that it belongs to; by default the one being handled.

        Raises:
            ValueError: there is no such level.
            MissingCapability: this server did not declare logging.
        """
        if (message := log_message(self.requester_for(exchange), level, data, logger)) is not None:
            await self.notify(*message, exchange=exchange)

    async def ask_self(self, method: RequestMethod[P, R], params: P | None) -> R | None:
        """Call this side's own handler of a method for the requester, and return its result, or None.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params; None if it has none.
        """
        requester = self.requester_for()
        registered = requester.answers.handlers.get(method.name)
        if registered is None:
            return None
        exchange = Exchange.of(self, method, params, Way.RECEIVED, requester)
        found: R = await exchange.run(registered[1], ())
        return found

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> NotificationStream[P]:
        """Iterate over the params of the notifications of one method that arrive from now on.

        Args:
            method: a record of the `methods` module of the revision's package.
            limit: how many notifications are buffered for a slow reader; the oldest are dropped and counted.
        """
        stream = self.inbound.notifications.stream(method, limit)
        if self.closed_because is not None:
            stream.close()
        return stream
