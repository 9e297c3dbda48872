"""Outgoing requests and notifications: a future and a timeout for each request, and what may be sent at all."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine
from functools import partial
from typing import Any, TypeVar, cast

from mcp_runtime.core import errors
from mcp_runtime.core.connection import checks
from mcp_runtime.core.connection.base import BaseConnection
from mcp_runtime.core.connection.calls import CURRENT, AnyMiddleware, Call, Lasting, Pending, through
from mcp_runtime.core.connection.checks import RequestMeta, carrier, check_capabilities, is_embedded
from mcp_runtime.core.connection.notifications import Reports
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.results import Interim, Interrupted, Repeat, Results, check_sent
from mcp_runtime.core.connection.timers import Deadlines
from mcp_runtime.core.connection.transport import ANSWER, Channel, Outcome, Sent, Verdict
from mcp_runtime.core.errors import ConnectionClosed, LocalProtocolError, McpError, PeerError, clipped
from mcp_runtime.core.method import AnyMethod, AnyRequest, NotificationMethod, RequestMethod, WireType
from mcp_runtime.core.options import NO_OPTIONS, CallOptions, call_options, first_timeout, times_of
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Progressed, SentCall, Side
from mcp_runtime.core.protocol.jsonrpc import Failure, Id, Result
from mcp_runtime.core.protocol.names import NOTIFICATIONS_CANCELLED, NOTIFICATIONS_MESSAGE, UNRELATED
from mcp_runtime.core.protocol.rules import LEAVING

R = TypeVar("R")
T = TypeVar("T")


class Outbound:
    """This side's requests and notifications.

    Attributes:
        results: the possible results of requests.
        deadlines: the timeouts of open requests.
    """

    __slots__ = ("_channels", "_connection", "_reports", "_shared_meta", "_timeout", "deadlines", "results")

    def __init__(self, connection: BaseConnection, reports: Reports) -> None:
        self.results = Results(connection.report, connection.limits)
        self._connection, self._channels, self._reports = connection, connection.channels, reports
        self.deadlines = Deadlines(connection.loop, self._expire, connection.limits.max_extension)
        self._shared_meta: RequestMeta | None = None
        self._timeout = first_timeout(NO_OPTIONS, connection.limits)

    def ask_through(
        self, middleware: AnyMiddleware, exchange: Call, type_: WireType[T], options: CallOptions | None
    ) -> Coroutine[Any, Any, T]:
        """Send a request through middleware; the timeout includes what middleware does and asks."""
        options, method = call_options(options), cast("AnyRequest", exchange.method)

        def ask(whole: asyncio.Timeout) -> Awaitable[T]:
            return through(middleware, exchange, lambda: self.ask(method, exchange.params, type_, options, whole))

        return self.deadlines.within(first_timeout(options, self._connection.limits), method.name, ask)

    async def ask(
        self,
        method: AnyRequest,
        params: Any,
        type_: WireType[T],
        options: CallOptions | None,
        whole: asyncio.Timeout | None = None,
        *,
        rounds: int = 0,
        once: bool = False,
    ) -> T:
        """Send a request and wait for its result; see `Connection.request`.

        `rounds` is the number of earlier requests of the call, and `whole` is the timeout of the whole call that the
        request belongs to. With `once`, a result that is not the usual one is returned as an `Interim`.
        """
        if self._connection.side is Side.SERVER:
            if is_embedded(method, self._connection.requester_for(CURRENT.get())):
                return await self._ask_inside(method, params, type_, options)
        elif (wire := self._connection.requester.wire) is not None and method.name in wire.stand_ins:
            return cast("T", await wire.stand_ins[method.name](params))
        call = self._begin(method, params, type_, NO_OPTIONS if options is None else call_options(options), whole)
        # Wait for the answer, not for the transport: a transport that is stuck would outlast every timeout.
        try:
            result: Any = await call.future
        except asyncio.CancelledError as error:
            self.cancel(call.id, str(error.args[0]) if error.args and error.args[0] else None)
            raise
        if result.__class__ is Interim and not once:
            params = params if self._shared_meta is None else self._shared_meta.detached(params)
            result = await self._resume(result, call, params, rounds, whole)
        return cast("T", result)

    async def _resume(
        self, interim: Interim, call: Pending, params: Any, rounds: int, whole: asyncio.Timeout | None
    ) -> Any:
        """Continue a call from a result that is not the usual one."""
        method, times = call.method, interim.times
        if whole is None and times is not None:
            # The timeout of the first request becomes that of the whole call.
            def resume(whole: asyncio.Timeout) -> Awaitable[Any]:
                return self._resume(interim, call, params, rounds, whole)

            return await self.deadlines.within(call.limit, method.name, resume, times)

        def again(params: Any) -> Coroutine[Any, Any, Any]:
            proceed()
            return self.ask(method, params, call.type, call.options, whole, rounds=rounds + 1)

        result: Any = interim
        repeats = 0
        while result.__class__ is Interim:
            ends = result.ends if whole is None else self.deadlines.get(whole)
            proceed = self.deadlines.suspend(whole, limited=result.times is not None)
            asked = Interrupted(method, params, call.options, rounds, repeats, ends, again)
            result = await result.resume(result.result, asked)
            proceed()
            if result.__class__ is Repeat:
                await result.wait()
                params, repeats = result.params, repeats + 1
                result = await self.ask(method, params, call.type, call.options, whole, once=True)
        # A result that depends on input must not be cached, whatever the server says (server/utilities/caching).
        return result.model_copy(update={"ttl_ms": 0}) if method.cacheable else result

    def shared_meta(self, type_: type[Any]) -> RequestMeta:
        """Return what every request must carry in its `_meta`, as this generated type and as JSON."""
        found, required = self._shared_meta, self._connection.requester.meta
        if found is None or found.required is not required:
            found = self._shared_meta = RequestMeta(required, type_)
        return found

    def open(self, method: RequestMethod[Any, R], params: Any) -> "tuple[Id, asyncio.Future[R | None]]":
        """Send a request that stays open for as long as both sides like; return its id, and a future of its result."""
        call = self._begin(method, params, method.result, NO_OPTIONS, None)
        self.deadlines.drop(call.id)
        return call.id, call.future

    def cancel(self, id_: Id, reason: str | None) -> None:
        """Cancel a request of this side; does nothing if it was answered."""
        if (call := self.find(id_)) is not None:
            self._cancel(call, reason)

    def end(self, id_: Id) -> None:
        """Handle that the peer ended a request of this side without an answer."""
        if (call := self.find(id_)) is not None:
            self._connection.session.cancel(id_)
            self.deadlines.drop(id_)
            if not call.future.done():
                call.future.set_result(None)

    def find(self, id_: Id) -> Pending | None:
        """Return an open request of this side."""
        return cast("Pending | None", self._connection.session.outgoing.get(id_))

    def _cancel(self, call: Pending, reason: str | None) -> None:
        connection = self._connection
        self.deadlines.drop(call.id)
        connection.log_limited(logging.INFO, "%s %r was cancelled: %s", call.name, call.id, clipped(reason or "-"))
        about = Sent(NOTIFICATIONS_CANCELLED, cancels=call.id)
        self._channels.send(connection.session.cancel(call.id, reason), self._channels.living(call.channel), about)

    def _begin(
        self, method: AnyRequest, params: Any, type_: WireType[T], options: CallOptions, whole: asyncio.Timeout | None
    ) -> Pending:
        """Send a request; a separate function, so that the waiting caller does not keep its bytes alive."""
        connection = self._connection
        self._channels.check_open()
        exchange = CURRENT.get()
        channel, requester = self._channels.main, connection.requester
        if exchange is not None:
            channel, requester = self._channels.of(exchange), connection.requester_for(exchange)
        if connection.side is Side.SERVER and requester.is_modern:
            raise requester.forbids(method, "a server cannot send requests in the modern era; it asks in its results")
        if connection.end.reason:
            raise ConnectionClosed(connection.end.reason)
        if channel.asked_bytes > connection.limits.max_unread_bytes:
            raise McpError(f"{method.name}: not sent: the peer has not read {channel.asked_bytes:,} bytes of requests")
        if connection.limits.check_capabilities:
            check_capabilities(method, params, requester)
        encoded = self._encode_params(method, params, requester)
        if options.progress is not None:
            encoded = jsonrpc.with_progress_token(encoded, connection.session.next_id)
        call = Pending(method, type_, connection.loop.create_future(), options=options, channel=channel, whole=whole)
        if (
            connection.side is Side.SERVER
            and exchange is not None
            and exchange.requester.principal == requester.principal
        ):
            call.asker = exchange  # unlike a call of another client, which this one must not continue
        data = connection.session.request(call, encoded)
        first = self._timeout if options is NO_OPTIONS else first_timeout(options, connection.limits)
        if first is not None:
            call.limit = first
            self.deadlines.start(call.id, first, whole)
        meta = requester.meta if requester.is_modern else None
        self._channels.ask(data, channel, Sent(method.name, id=call.id, params=params, meta=meta, named=method.named))
        return call

    async def _ask_inside(self, method: AnyRequest, params: Any, type_: WireType[T], options: CallOptions | None) -> T:
        """Ask the client in the result of the request being handled."""
        connection, exchange = self._connection, CURRENT.get()
        self._channels.check_open(exchange)
        requester = connection.requester_for(exchange)
        exchange = carrier(exchange, method, requester)
        if connection.limits.check_capabilities:
            check_capabilities(method, params, requester)
        questions = requester.answers.questions
        if not questions.are_possible:
            reason = "cannot ask for input: ServerOptions(inputs=None) leaves that to the handlers"
            raise requester.forbids(method, reason)
        encoded = self._encode_params(method, params, requester)
        return cast("T", await questions.ask(exchange, method, type_, encoded, options))

    async def notify(self, method: NotificationMethod[Any], params: Any, exchange: Call | None = None) -> None:
        """Send a notification; see `Connection.notify`."""
        await self._channels.drain(self.post(method, params, exchange))

    def post(self, method: NotificationMethod[Any], params: Any, exchange: Call | None = None) -> Channel:
        """Send a notification without waiting for the peer to receive it; return its channel; raises like `notify`."""
        connection, exchange = self._connection, exchange or CURRENT.get()
        self._channels.check_open(exchange)
        requester = connection.requester_for(exchange)
        if requester.wire is not None and requester.wire.is_needless(method):
            return self._channels.main
        listens = exchange is not None and exchange.keeper is not None
        if requester.is_modern and exchange is not None and not exchange.is_open:
            # Nothing may follow the answer to a request, or its cancellation (2026-07-28, basic/patterns).
            return self._channels.main
        if requester.is_modern and method.name in UNRELATED and not listens:
            if requester.answers.notify_listeners is not None:
                requester.answers.notify_listeners(method, params)
                return self._channels.main
            reason = "this notification goes to listening clients only: use list_changed() or resource_updated()"
            raise requester.forbids(method, reason)
        if connection.limits.check_capabilities:
            check_capabilities(method, params, requester)
        encoded = self._encode_params(method, params, requester)
        # The modern era has no lifecycle.
        notify = jsonrpc.write_notification if requester.is_modern else connection.session.notify
        message = notify(method.name, encoded)
        is_own = method.name not in UNRELATED or listens
        channel = self._channels.of(exchange) if is_own else self._channels.main
        if method.name == NOTIFICATIONS_MESSAGE:
            self._reports.log(message, params, channel)
        else:
            self._channels.send(message, channel, Sent(method.name))
        return channel

    def take_result(self, result: Result, text: bytes) -> Outcome:
        """Pass a result to its caller."""
        call: Pending = result.call
        times = self.deadlines.drop(call.id)
        if call.future.done():
            return ANSWER
        read = partial(
            checks.read_result, self.results, self._connection.requester, call.method, text=text, type_=call.type
        )
        try:
            value, resume, is_added = read(result.result)
        except errors.RemoteProtocolError as error:
            error.raw, resume, is_added = checks.received(text, result), None, False
            value = checks.read_items(call.method, error, read, self._connection.report, strict=self.results.is_strict)
            if value is None:
                call.future.set_exception(error)
                return Outcome(Verdict.REJECTED, jsonrpc.INVALID_REQUEST, str(error), is_answer=True)
        if resume is not None:
            value = Interim(value, resume, None if is_added else times, times and times[0])
        call.future.set_result(value)
        return ANSWER

    def take_failure(self, failure: Failure) -> None:
        """Pass an error to the caller that waits for a result."""
        binding, wire, code = self._connection.requester.binding, self._connection.requester.wire, failure.code
        call: Pending = failure.call
        if wire is not None:
            code = wire.incoming_code(code, call.name, failure.data)
        error = (binding.error if binding else PeerError)(code, failure.message, failure.data)
        error.is_from_peer = True
        self.fail(call, error)

    def take_progress(self, progressed: Progressed) -> None:
        """Pass a progress report to the caller that waits for the result, and extend its timeout."""
        call = progressed.call
        if isinstance(call, Pending):
            listener, name = call.options.progress, call.name
            self._renew(call)
        else:
            listener, name = cast("Lasting", call).listener, "a task"
        if listener is not None:
            try:
                listener(progressed.progress, progressed.total, progressed.message)
            except Exception as error:
                self._connection.log_limited(logging.ERROR, "the progress callback of %s failed", name, exc_info=error)

    def fail(self, call: SentCall | None, error: McpError) -> None:
        """End a request, which is no longer booked, with an error."""
        if call is not None:
            self.deadlines.drop(call.id)
            future = cast("Pending", call).future
            if not future.done():
                future.set_exception(error)

    def fail_all(self, reason: str) -> None:
        """End all requests, since the connection has ended."""
        calls, session = self._connection.session.outgoing, self._connection.session
        for id_, call in tuple(calls.items()):
            session.cancel(id_)
            self.fail(call, ConnectionClosed(reason))
        self.deadlines.clear()

    def _encode_params(self, method: AnyMethod, params: Any, requester: Requester) -> bytes | None:
        wire = requester.wire
        if params is None or method.params is None:
            return wire.addressed(method, b"{}", requester.meta) if wire is not None and wire.adds_meta else None
        shared = self._shared_meta
        writer = method.params if shared is None or getattr(params, "meta", None) is not shared.model else shared
        encoded = writer.encode(params)
        if wire is not None:
            encoded = wire.addressed(method, wire.outgoing(method, "params", encoded), requester.meta)
        if method.name in LEAVING and (broken := LEAVING[method.name](params, encoded)) is not None:
            raise LocalProtocolError(revision=requester.revision, method=method.name, **broken._asdict())
        if self._connection.limits.check_sent:
            check_sent((method.params,), encoded, method, "params", requester)
        return encoded

    def _expire(self, id_: Id) -> None:
        if (call := self.find(id_)) is not None:
            self._cancel(call, f"no answer within {call.limit:g} s")
            self.fail(call, errors.RequestTimeout(call.name, call.limit))

    def _renew(self, call: Pending) -> None:
        """Restart the timeout, but never beyond the maximum since the request began."""
        timeout, max_time = times_of(call.options, self._connection.limits)
        before = self.deadlines.get(call.id)
        if before is None or timeout is None:
            return
        if call.latest is None and max_time is not None:
            call.latest = before - call.limit + max_time
        until = self._connection.loop.time() + timeout
        if call.latest is not None and max_time is not None and until > call.latest:
            until, call.limit = call.latest, max_time
        self.deadlines.set(call.id, until, timeout)
        if call.whole is not None:
            self.deadlines.renew(call.whole, until, timeout)
