"""A connection as its users see it: handlers, middleware, features, and whoever opened it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from mcp_runtime.caller import CallOptions, Progress
from mcp_runtime.connection.answers import Handler
from mcp_runtime.connection.chain import Proceed, through
from mcp_runtime.connection.conversation import CloseHook, Conversation
from mcp_runtime.connection.known import KnowsPeer
from mcp_runtime.connection.lasting import LastingRequests
from mcp_runtime.connection.link import ErrorHook
from mcp_runtime.connection.notifications import NotificationStream
from mcp_runtime.connection.received import Received
from mcp_runtime.connection.reports import log_message
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.transport import Channel, Resumable, Transport
from mcp_runtime.connection.vendor import VendorMethods, typed_wire
from mcp_runtime.connection.work import Way, Work
from mcp_runtime.errors import ConnectionClosed, LocalProtocolError, McpError
from mcp_runtime.limits import Limits
from mcp_runtime.method import AnyMethod, NotificationMethod, RequestMethod, WireType
from mcp_runtime.protocol.jsonrpc import Id, Key, Request
from mcp_runtime.protocol.legacy import Side, State
from mcp_runtime.protocol.validation import Reader
from mcp_runtime.threads import unblocked

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_RECEIVED = Way.RECEIVED  # once, since Python 3.11 runs code to find a member of an enumeration


class Exchange(Work):
    """A request or a notification on its connection, and what becomes of it.

    Attributes:
        connection: the connection that it came or goes by.
        way: which way it goes.
        method: its record in the method table.
        id: the id of the request; None for a notification, and for a request that has not left yet.
        params: its typed params, None if it has none; middleware may replace them.
        meta: its `_meta`, by wire names; empty if it has none, or if it was not received.
        is_cancelled: whether the answer is no longer wanted.
        cancel_reason: why, in the peer's own words.
    """

    __slots__ = ("connection",)

    def __init__(
        self,
        connection: "Connection",
        method: AnyMethod,
        params: Any,
        *,
        way: Way,
        received: Received | None = None,
    ) -> None:
        if received is None:
            super().__init__(method, params, way=way, requester=connection.requester)
        else:
            message = received.message
            super().__init__(
                method,
                params,
                way=way,
                requester=received.requester,
                line=received.line,
                id_=message.id if isinstance(message, Request) else None,
                key=received.key,
                raw=message.params,
            )
        self.connection = connection

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the peer how far the request has come; does nothing if it did not ask.

        Progress that is not more than before is dropped, with a line in the log.
        """
        if self.key is not None and (self.is_open or not self.requester.is_modern):
            await self.connection.report_progress(self.key, progress, total, message)

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the peer, if it wants messages of that level."""
        await self.connection.log(level, data, logger, exchange=self)

    def close_stream_early(self) -> None:
        """Close the stream that the answer would leave by; the peer resumes it later, and the handler goes on.

        Raises:
            LocalProtocolError: the transport cannot resume streams.
        """
        line = self.line
        if line is None or not isinstance(line.channel, Resumable):
            revision, reason = self.requester.revision, "only a transport that can resume streams can close one early"
            raise LocalProtocolError(revision=revision, method=self.method.name, pointer="", reason=reason)
        line.channel.close_early()


Middleware: TypeAlias = Callable[[Exchange, Proceed], Awaitable[Any]]
"""Wraps every request and notification: gets the message and returns its typed result, None for none."""


class Connection(KnowsPeer, LastingRequests, VendorMethods):
    """One conversation with one peer; made within a running event loop.

    Args:
        transport: carries the messages; `start` starts it.
        side: which end this is.
        settings: how it behaves.
        middleware: wraps every request and notification, the first one outermost.

    Attributes:
        side: which end this is.
        settings: how it behaves.
        middleware: wraps every request and notification.
        features: what the features keep for this connection, by their names.
        results: what requests may be answered with, results of extensions included.
    """

    def __init__(
        self, transport: Transport, side: Side, settings: Limits, middleware: Sequence[Middleware] = ()
    ) -> None:
        self.side = side
        self.settings = settings
        self.middleware = tuple(middleware)
        self.features: dict[str, Any] = {}
        self._exchanges = _Exchanges(self)
        self._conversation = Conversation(transport, side, settings, self._exchanges)
        self._link = self._conversation.link
        self._outbound = self._conversation.outbound
        self._inbound = self._conversation.inbound
        self.results = self._outbound.results

    @property
    def last_activity(self) -> float:
        """When the last message came, by the clock of the event loop in seconds."""
        return self._conversation.last_activity

    @property
    def state(self) -> State:
        """How far the conversation has come."""
        return self._link.session.state

    @property
    def closed_because(self) -> str | None:
        """Why the connection ended; None while it lives."""
        return self._link.closed_because

    @property
    def open_requests(self) -> int:
        """How many requests of both sides are not answered yet."""
        return len(self._outbound) + len(self._link.session.incoming) + len(self._link.modern.incoming)

    @property
    def stub(self) -> Any:
        """The peer as a generated stub.

        Raises:
            ConnectionClosed: there is no conversation.
        """
        stub = self.requester.answers.stub
        if stub is None:
            raise ConnectionClosed(self.closed_because or "the conversation has not begun")
        return stub

    async def start(
        self,
        on_initialize: Callable[[Request, Channel], Mapping[str, Any]] | None = None,
        on_modern: Callable[[Request, Channel], Requester] | None = None,
    ) -> None:
        """Begin to listen to the peer.

        Args:
            on_initialize: answers `initialize` with the result by wire names; None on a client's side.
            on_modern: tells who sent a request of the modern era; None to refuse all of them.

        Raises:
            ConnectionClosed: the peer cannot be reached.
        """
        self._conversation.on_initialize = on_initialize
        self._conversation.on_modern = on_modern
        await self._conversation.start()

    def on_error(self, hook: ErrorHook) -> None:
        """Be told of what goes wrong without ending the conversation: violations, and values that were repaired."""
        self._link.error_hooks.append(hook)

    def on_close(self, hook: CloseHook) -> None:
        """Be told once that the connection has ended, and why."""
        self._conversation.on_close(hook)

    async def wait_closed(self) -> str:
        """Wait until the connection has ended and all that it began is over; returns why."""
        return await self._conversation.wait_closed()

    async def aclose(self, reason: str = "closed by this side") -> None:
        """End the conversation: open requests fail, handlers are cancelled, the transport is closed in good order.

        Waits until all of that is over, unless a handler calls it, which would wait for itself.
        """
        await self._conversation.aclose(reason)

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request and wait for its result; cancelling the task that waits cancels the request.

        Raises:
            PeerError: the peer answered with an error.
            RequestTimeout: it did not answer in time.
            ConnectionClosed: the connection is gone.
            MissingCapability: the peer did not declare what the request needs.
            LocalProtocolError: the request is not allowed now.
            RemoteProtocolError: the answer breaks the protocol.
        """
        return await self._request(method, params, method.result, options)

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request and wait for a result of another type than the usual one; raises as `request` does."""
        return await self._request(method, params, typed_wire(result), options)

    def _request(
        self, method: RequestMethod[Any, Any], params: Any, type_: WireType[T], options: CallOptions | None
    ) -> Coroutine[Any, Any, T]:
        if not self.middleware:
            return self._outbound.ask(method, params, type_, options)
        sent = Exchange(self, method, params, way=Way.SENT)
        return self._outbound.ask_through(self.middleware, sent, type_, options)

    async def notify(
        self, method: NotificationMethod[P], params: P | None, *, exchange: Exchange | None = None
    ) -> None:
        """Send a notification.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params.
            exchange: the request that it belongs to, by whose channel it leaves while that is open; by default the
                one that is being handled.

        Raises:
            ConnectionClosed: the connection is gone.
            MissingCapability: neither side declared what the notification needs.
            LocalProtocolError: it is not allowed now.
        """
        if self.middleware:
            sent = Exchange(self, method, params, way=Way.SENT)
            await through(self.middleware, sent, lambda: self._outbound.tell(method, sent.params, exchange))
        else:
            await self._outbound.tell(method, params, exchange)

    def post(self, method: NotificationMethod[P], params: P | None, *, exchange: Exchange | None = None) -> None:
        """Send a notification past the middleware, without waiting for the peer to take it; see `notify`."""
        self._outbound.post(method, params, exchange)

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return self.requester.meta

    async def report_progress(
        self, key: Key, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the peer how far its open request has come; does nothing if it did not ask, or is answered.

        Args:
            key: the id of the request; one of the modern era has a key of its own (`Exchange.key`).
            progress: how much is done.
            total: of how much, if that is known.
            message: more on that.

        Progress that is not more than before is dropped, with a line in the log.
        """
        line = self._conversation.reports.progress(key, progress, total, message)
        if line is not None:
            await line.channel.drain()

    def expect_progress(self, token: Id, listener: Progress) -> Callable[[], None]:
        """Listen to reports under a token that outlives its request, as that of a task does; returns what ends it."""
        return self._outbound.expect_progress(token, listener)

    async def log(self, level: str, data: Any, logger: str | None = None, *, exchange: Exchange | None = None) -> None:
        """Send a log message to the client, if it wants messages of that level; see `Limits.log_rate` and `notify`.

        Raises:
            ValueError: there is no such level.
            MissingCapability: this server did not declare that it logs.
        """
        if (message := log_message(self._link.requester_for(exchange), level, data, logger)) is not None:
            await self.notify(*message, exchange=exchange)

    def handle(self, method: AnyMethod, handler: Callable[[Any, Any], Any]) -> None:
        """Answer a method with a handler, which gets the typed params and a context; a later one replaces it."""
        self._inbound.handle(method, unblocked(handler))

    def handler(self, name: str) -> Handler | None:
        """Return the handler of a method, None if there is none."""
        return self._inbound.handler(name)

    async def ask_self(self, method: RequestMethod[P, R], params: P | None) -> R | None:
        """Return what this side's own handler of a method answers to the requester, None if there is none."""
        requester = self.current
        registered = requester.answers.handlers.get(method.name)
        if registered is None:
            return None
        exchange = Exchange(self, method, params, way=_RECEIVED)
        exchange.requester = requester
        found: R = await registered[1](params, self._exchanges.context_of(exchange))
        return found

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> NotificationStream[P]:
        """Iterate over the params of one method's notifications that arrive from now on."""
        stream = self._inbound.stream(method, limit)
        if self.closed_because is not None:
            stream.close()
        return stream

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run something beside the messages, which is cancelled when the connection ends."""
        return self._link.background.spawn(work)

    def reader(self, revision: str) -> Reader:
        """Make what reads the messages of a revision, as strictly as the settings say."""
        return self._link.reader(revision)

    def complain(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line to the log, unless too many were written about this connection."""
        self._link.complain(level, text, *args, exc_info=exc_info)

    def report_error(self, error: McpError) -> None:
        """Tell the hooks, or the log if there are none, of something that does not end the conversation."""
        self._link.report(error)


class _Exchanges:
    """Runs the handlers of a connection, with an exchange and a context for each message."""

    __slots__ = ("_connection",)

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def is_watched(self) -> bool:
        return bool(self._connection.middleware)

    def open(self, method: AnyMethod, params: Any, received: Received) -> Exchange:
        return Exchange(self._connection, method, params, way=_RECEIVED, received=received)

    def context_of(self, exchange: Work) -> Any:
        answers = exchange.requester.answers
        return answers.context(answers.stub, exchange.id, exchange)

    def run(self, work: Work, handler: Handler) -> Awaitable[Any]:
        context = self.context_of(work)
        if not self._connection.middleware:
            return handler(work.params, context)
        return through(self._connection.middleware, cast(Exchange, work), lambda: handler(work.params, context))
