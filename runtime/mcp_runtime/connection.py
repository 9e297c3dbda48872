"""One conversation with one peer, on asyncio.

It stands between a transport, whose `Receiver` it is, and the generated stubs, whose `Caller` it is. Nothing awaits
between a message that arrives and the handler or the caller that it is for.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from mcp_runtime import jsonrpc
from mcp_runtime.binding import Binding
from mcp_runtime.calls import Calls
from mcp_runtime.context import Exchange, Way
from mcp_runtime.dispatch import Dispatch, Handler
from mcp_runtime.errors import ConnectionClosed, McpError, PeerError
from mcp_runtime.events import Cancelled, Event, Progressed, Violation
from mcp_runtime.jsonrpc import Failure, Id, Notification, Request, Result
from mcp_runtime.lifecycle.legacy import INITIALIZE, Side, State
from mcp_runtime.link import ErrorHook, Link, log
from mcp_runtime.method import AnyMethod, NotificationMethod, RequestMethod, WireType
from mcp_runtime.notifications import NotificationStream
from mcp_runtime.settings import Settings
from mcp_runtime.stub import CallOptions, Context, Handlers, Progress, Stub
from mcp_runtime.transports.base import HalfOpen, Transport, TransportError
from mcp_runtime.vendor import VendorMethods, typed_wire

if TYPE_CHECKING:
    from mcp_runtime.bridge.wire import Wire

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

CloseHook: TypeAlias = Callable[[str], None]
"""Is told why a connection ended."""

PING: Final = "ping"
_RECEIVED: Final = Way.RECEIVED  # of its own, since Python 3.11 runs code to find a member of an enumeration


class Connection(VendorMethods):
    """One conversation with one peer.

    Args:
        transport: carries the messages; `start` starts it.
        side: which end this is.
        settings: how it behaves.

    Attributes:
        side: which end this is.
        settings: how it behaves.
        peer_info: how the peer names itself, by wire names (``name``, ``version``, ...); empty until it has.
        instructions: what the server says on how to use it; None if nothing.
        last_activity: when the last message came, by the clock of the event loop in seconds.
        log_level: the least severe level of log messages that the client wants; None until it says so.
        features: what the parts of the runtime keep for this connection, by their names.
        on_initialize: answers `initialize` with the result by wire names; None on a client's side.
    """

    def __init__(self, transport: Transport, side: Side, settings: Settings) -> None:
        self.side = side
        self.settings = settings
        self.peer_info: Mapping[str, Any] = {}
        self.instructions: str | None = None
        self.last_activity = 0.0
        self.log_level: str | None = None
        self.features: dict[str, Any] = {}
        self.on_initialize: Callable[[Request], Mapping[str, Any]] | None = None
        self._link = Link(transport, side, settings)
        self._calls = Calls(self._link)
        self._dispatch = Dispatch(
            self._link,
            self._calls,
            open_exchange=self._open_exchange,
            make_context=self._make_context,
            settled=self._settle,
        )
        self._link.spawn = self._dispatch.spawn
        self._stub: Stub | None = None
        self._context: type[Context[Any]] = Context
        self._close_hooks: list[CloseHook] = []
        self._is_over = False
        self._over: asyncio.Event | None = None  # made for who waits, since most connections are idle

    @property
    def binding(self) -> Binding | None:
        """The generated revision that is spoken, None until it is agreed upon."""
        return self._link.binding

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty until it is agreed upon."""
        return self._link.revision

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, by wire names."""
        return self._link.declared

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
        return len(self._calls) + len(self._link.session.incoming)

    @property
    def stub(self) -> Stub:
        """The peer as a generated stub.

        Raises:
            ConnectionClosed: there is no conversation.
        """
        if self._stub is None:
            raise ConnectionClosed(self.closed_because or "the conversation has not begun")
        return self._stub

    async def start(self) -> None:
        """Begin to listen to the peer.

        Raises:
            ConnectionClosed: the peer cannot be reached.
        """
        self._link.loop = asyncio.get_running_loop()
        self.last_activity = self._link.loop.time()
        try:
            await self._link.transport.start(self)
        except TransportError as error:
            self.connection_lost(error)
            raise ConnectionClosed(str(error)) from error

    def bind(self, binding: Binding, stub: Stub, handlers: Handlers | None, wire: "Wire | None" = None) -> None:
        """Speak a revision, or another one over a bridge, with these handlers for what the peer sends."""
        if self.binding is not None and self.binding is not binding:
            self._dispatch.forget(self.binding.methods)
        self._link.bind(binding, wire)
        self._stub = stub
        if handlers is not None:
            self._context = handlers.__context__
            for name in handlers.implemented():
                self.handle(binding.methods[name], getattr(handlers, handlers.__handlers__[name]))
            handlers.connected(self)

    def declare(self, own: Mapping[str, Any], peers: Mapping[str, Any]) -> None:
        """Set what both sides can do, as they declared it."""
        self._link.declare(own, peers)

    def on_error(self, hook: ErrorHook) -> None:
        """Be told of what goes wrong without ending the conversation: violations, and values that were repaired."""
        self._link.error_hooks.append(hook)

    def on_close(self, hook: CloseHook) -> None:
        """Be told once that the connection has ended, and why."""
        if self.closed_because is None:
            self._close_hooks.append(hook)
        else:
            hook(self.closed_because)

    async def wait_closed(self) -> str:
        """Wait until the connection has ended and all that it began is over; returns why."""
        if not self._is_over:
            self._over = self._over or asyncio.Event()
            await self._over.wait()
        return self.closed_because or ""

    async def aclose(self, reason: str = "closed by this side") -> None:
        """End the conversation: open requests fail, handlers are cancelled, the transport is closed in good order.

        Waits until all of that is over, unless a handler calls it, which would wait for itself.
        """
        if self.closed_because is None:
            self._end(reason)
        try:
            await self._link.transport.close()
        finally:
            if not self._dispatch.runs(asyncio.current_task()):
                await self.wait_closed()

    def message_received(self, message: bytes) -> None:
        """Take one whole message."""
        link = self._link
        if link.closed_because is not None:
            return
        self.last_activity = link.loop.time()
        if link.settings.trace is not None:
            link.trace(Way.RECEIVED, message)
        for event in link.session.receive(message):
            self._take(event, message)

    def message_refused(self, reason: str) -> None:
        """Learn that a message was too large to read; nobody knows its id, so the answer has none."""
        self._link.report(self._link.violation(reason))
        self._link.refuse_unread(reason)

    def connection_lost(self, reason: TransportError | None) -> None:
        """Learn that the transport has ended."""
        if self.closed_because is not None:
            return
        because = str(reason) if reason else "the peer closed the connection"
        transport = self._link.transport
        if reason is None and isinstance(transport, HalfOpen) and transport.can_still_send:
            # Who writes its requests and then closes its end still wants the answers; it has nothing more to say.
            self._link.ending = because
            self._calls.fail_all(because)
            self._link.loop.call_later(self.settings.linger, self._end, because)
            self._settle()
        else:
            self._end(because)

    def _take(self, event: Event, text: bytes) -> None:
        match event:
            case Result():
                self._calls.take_result(event, text)
            case Request():
                self._take_request(event, text)
            case Notification():
                self._dispatch.take_notification(event, text)
            case Failure():
                self._calls.take_failure(event)
            case Progressed():
                self._calls.take_progress(event)
            case Cancelled():
                self._dispatch.take_cancelled(event)
            case Violation():
                self._take_violation(event)

    def _take_request(self, request: Request, text: bytes) -> None:
        if request.method == PING and self._dispatch.handler(PING) is None:
            # Promptly, whatever else there is to do (basic/utilities/ping).
            self._link.send_at_once(self._link.session.answer(request.id, b"{}"))
        elif request.method == INITIALIZE:
            self._take_initialize(request)
        else:
            self._dispatch.take_request(request, text)

    def _take_initialize(self, request: Request) -> None:
        if self.on_initialize is None:
            self._link.refuse(request.id, jsonrpc.METHOD_NOT_FOUND, f"{INITIALIZE} is not answered here")
            return
        try:
            result = self.on_initialize(request)
        except PeerError as error:
            self._link.refuse(request.id, error.code, error.message, error.data)
        except Exception as error:
            log.error("%s failed", INITIALIZE, exc_info=error)
            self._link.refuse(request.id, jsonrpc.INTERNAL_ERROR, "internal error")
        else:
            self._link.send(self._link.session.answer(request.id, jsonrpc.dump(result)))

    def _take_violation(self, violation: Violation) -> None:
        error = self._link.violation(violation.reason, violation.method)
        self._link.report(error)
        self._link.send_at_once(violation.answer)
        self._calls.fail(violation.failed, error)

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
        if not self.settings.middleware:
            return self._calls.ask(method, params, type_, options)
        return self._request_through(method, params, type_, options)

    async def _request_through(
        self, method: RequestMethod[Any, Any], params: Any, type_: WireType[T], options: CallOptions | None
    ) -> T:
        exchange = Exchange(self, method, params, way=Way.SENT)
        found: T = await self._link.through(exchange, lambda: self._calls.ask(method, exchange.params, type_, options))
        return found

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification.

        Raises:
            ConnectionClosed: the connection is gone.
            MissingCapability: nobody declared what the notification needs.
            LocalProtocolError: it is not allowed now.
        """
        if self.settings.middleware:
            exchange = Exchange(self, method, params, way=Way.SENT)
            await self._link.through(exchange, lambda: self._calls.tell(method, exchange.params))
        else:
            await self._calls.tell(method, params)

    def post(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification past the middleware, without waiting for the peer to take it; raises as `notify` does."""
        self._calls.post(method, params)

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return {}

    async def report_progress(
        self, id_: Id, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Tell the peer how far its open request has come; does nothing if it did not ask, or is answered.

        Raises:
            LocalProtocolError: the progress is not more than what was reported before.
        """
        self._link.progress.report(id_, progress, total, message)
        await self._link.transport.drain()

    def expect_progress(self, token: Id, listener: Progress) -> Callable[[], None]:
        """Listen to reports under a token that outlives its request, as that of a task does; returns what ends it."""
        return self._calls.expect_progress(token, listener)

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the client, if it wants messages of that level.

        Raises:
            ValueError: there is no such level.
            MissingCapability: this server did not declare that it logs.
        """
        from mcp_runtime.logs import send_log

        await send_log(self, level, data, logger)

    def handle(self, method: AnyMethod, handler: Handler) -> None:
        """Answer a method with a handler, which gets the typed params and a context; a later one takes its place."""
        self._dispatch.handle(method, handler)

    def handler(self, name: str) -> Handler | None:
        """Return the handler of a method, None if there is none."""
        return self._dispatch.handler(name)

    async def ask_self(self, method: RequestMethod[P, R], params: P | None) -> R | None:
        """Return what this side's own handler of a method answers, None if there is none."""
        handler, exchange = self.handler(method.name), self._open_exchange(method, params, None, None)
        return await handler(params, self._make_context(exchange)) if handler else None

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> NotificationStream[P]:
        """Iterate over the params of one method's notifications that arrive from now on."""
        stream = self._dispatch.stream(method, limit)
        if self.closed_because is not None:
            stream.close()
        return stream

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run something beside the messages, which is cancelled when the connection ends."""
        return self._dispatch.spawn(work)

    def report_error(self, error: McpError) -> None:
        """Tell the hooks, or the log if there are none, of something that does not end the conversation."""
        self._link.report(error)

    def _open_exchange(self, method: AnyMethod, params: Any, id_: Id | None, raw: dict[str, Any] | None) -> Exchange:
        return Exchange(self, method, params, way=_RECEIVED, id_=id_, raw=raw)

    def _make_context(self, exchange: Exchange) -> Context[Any]:
        return self._context(self._stub, exchange.id, exchange)

    def _end(self, reason: str) -> None:
        """Fail what is open, cancel what runs, tell the hooks."""
        if self.closed_because is not None:
            return
        self._link.close(reason)
        self._calls.fail_all(reason)
        self._dispatch.end(reason)
        for hook in self._close_hooks:
            try:
                hook(reason)
            except Exception as error:
                log.error("a hook for the end failed", exc_info=error)
        self._settle()

    def _settle(self) -> None:
        if self.closed_because is None and self._link.ending is not None and not self._link.session.incoming:
            self._end(self._link.ending)
        elif self._dispatch.is_idle and self.closed_because is not None:
            self._is_over = True
            if self._over is not None:
                self._over.set()
