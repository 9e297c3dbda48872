"""Incoming requests and notifications: a task for each, with typed params and a context."""

import asyncio
import logging
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

from mcp_runtime.core.connection.background import never_ran
from mcp_runtime.core.connection.base import OPEN, BaseConnection
from mcp_runtime.core.connection.calls import CURRENT, LIGHT, AnyMiddleware, Call, ReservedBytes, TaggedStreams
from mcp_runtime.core.connection.checks import UNAVAILABLE, check_gated, is_served, params_of, refusal
from mcp_runtime.core.connection.notifications import NotificationQueue, NotificationStream, Reports
from mcp_runtime.core.connection.outbound import Outbound
from mcp_runtime.core.connection.requester import Handler, Requester, ignore
from mcp_runtime.core.connection.transport import ACCEPTED, MAX_UNREAD, Channel, Outcome, Verdict
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.method import AnyMethod, NotificationMethod, RequestMethod
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.names import NOTIFICATIONS_CANCELLED, WAITING

P = TypeVar("P")

_ENDS = (KeyboardInterrupt, SystemExit)
"""Exceptions that end the program, not only a handler."""


class Inbound:
    """The peer's requests and notifications, and what answers them.

    Args:
        connection: the connection they arrive on.
        outbound: encodes the results.
        reports: what must be sent before an answer.
        middleware: wraps every request and notification.

    Attributes:
        subscriptions: receives the notifications that belong to a request of this side; None before the first.
    """

    def __init__(
        self, connection: BaseConnection, outbound: Outbound, reports: Reports, middleware: AnyMiddleware
    ) -> None:
        self._connection, self._channels = connection, connection.channels
        self._outbound = outbound
        self._reports = reports
        self._middleware = middleware
        self.subscriptions: Any = None
        self._streams: dict[str, tuple[NotificationMethod[Any], list[NotificationStream[Any]]]] = {}
        self._running: dict[Call, None] = {}
        self._ending: dict[Call, None] = {}  # the cancelled ones among them
        self._queue: dict[Call, Context] = {}
        self._kept: dict[Call, None] = {}
        # Created on demand: most connections are idle.
        self._reserved: ReservedBytes | None = None
        self._notification_queue: NotificationQueue | None = None
        self._waiting = 0

    @property
    def is_idle(self) -> bool:
        """Whether no request of the peer is being handled."""
        return not self._running

    def runs(self, task: "asyncio.Task[Any] | None") -> bool:
        """Whether a task handles a request of the peer."""
        return any(task is call.task for call in self._running)

    def stream(self, method: NotificationMethod[P], limit: int) -> NotificationStream[P]:
        """Iterate over the params of the notifications of one method that arrive from now on."""
        streams = self._streams.setdefault(method.name, (method, []))[1]
        stream: NotificationStream[P] = NotificationStream(limit, self._connection.limits.max_bytes, streams.remove)
        streams.append(stream)
        return stream

    def take_tagged(self, streams: TaggedStreams) -> None:
        """Show all notifications to an object that dispatches those that belong to open requests."""
        self.subscriptions = streams

    def take_request(self, call: Call) -> None:
        """Handle a request now, queue it, or refuse it."""
        limits, waits = self._connection.limits, call.name in WAITING
        has_turn = waits or self._has_turn()
        if self._ending and self._is_ending(call):
            # The peer cancelled a request with this id, and its handler has not ended yet.
            self._channels.refuse(call, jsonrpc.INVALID_REQUEST, "this id belongs to a request that was cancelled")
        elif waits and self._waiting >= limits.max_waiting:
            self._refuse_busy(call, f"at most {limits.max_waiting:,} requests like this may wait")
        elif not has_turn and len(self._queue) >= limits.max_queued:
            self._refuse_busy(call, "too many requests are waiting; try again later")
        elif not (has_turn and len(call.text) <= LIGHT) and not self._reserve(call):
            self._refuse_busy(call, "too many bytes of requests are waiting; try again later")
        elif has_turn:
            self._begin(call)
        else:
            # Run it in its own contextvars context, not in that of the request that makes room for it.
            self._queue[call] = copy_context()

    def _refuse_busy(self, call: Call, reason: str) -> None:
        self._channels.refuse(call, jsonrpc.INTERNAL_ERROR, reason)

    def _has_turn(self) -> bool:
        return len(self._running) - self._waiting < self._connection.limits.max_in_flight

    def _is_ending(self, call: Call) -> bool:
        """Whether the handler of a cancelled request with the same id is still running."""
        return any(
            other.id == call.id
            and other.is_modern is call.is_modern
            and (other.channel is call.channel or not call.is_modern)
            for other in self._ending
        )

    def _reserve(self, call: Call) -> bool:
        """Reserve memory for a request; return whether there is room."""
        call.held = self._reserved_bytes().reserve(call.text, call.parts, call.requester.peer)
        return call.held is not None

    def lose(self, channel: Channel, reason: str) -> None:
        """Stop handling what came over a lost channel, unless it belongs to a session (basic/transports)."""
        for call in tuple(channel.calls.values()):
            if call.is_modern:
                self.stop(call, reason)

    def stop(self, call: Call, reason: str | None) -> None:
        """Stop handling a request, for a reason of the peer if it gives one; it gets no answer."""
        if self._queue.pop(call, None) is not None:
            call.release()
        self._channels.drop(call)
        if call in self._kept:
            del self._kept[call]
            call.mark_cancelled(reason)
        if call in self._running:
            id_ = clipped(repr(call.id), 100)
            self._connection.log_limited(
                logging.INFO, "%s %s was cancelled: %s", call.name, id_, clipped(reason or "-")
            )
            self._cancel(call, reason)

    def _cancel(self, call: Call, reason: str | None) -> None:
        call.mark_cancelled(reason)
        self._ending[call] = None
        task = call.task
        task.cancel(reason)
        # A task that is cancelled before its first step runs none of its code, not even its `finally`.
        if never_ran(task):
            self._finished(call)

    def suspend(self, call: Call, result: bytes, *, keep: bool = True) -> "asyncio.Task[None]":
        """Answer an open request now, while its handler waits; return its task, which may outlive the connection."""
        self._reports.finish(call)
        call.suspend(self._connection.loop.create_future())
        self._channels.answer(call, result)
        self._release(call)
        if keep:
            self._kept[call] = None
            self._connection.background.adopt(call.task)
        return call.task

    def resume(self, call: Call, received: Call) -> None:
        """Let a suspended handler continue with another request, using its capabilities and channel from then on.

        It may have been suspended by another connection of the same event loop.
        """
        self._connection.background.release(call.task)
        self._kept.pop(call, None)
        self._running[call] = None
        call.resume(received, by=self)

    def conclude(self, call: Call, result: bytes, reason: str) -> None:
        """Answer a request that was kept open; on a stream shared with other requests it is cancelled as well.

        The specification requires one or the other, in two places (2026-07-28, basic/patterns): clients use the first.
        """
        connection = self._connection
        if not call.is_open or call not in self._kept:
            return
        del self._kept[call]
        call.mark_closed()
        channel = connection.channels.answer(call, result)
        if channel is connection.channels.main:
            params = jsonrpc.dump({"requestId": call.id, "reason": reason})
            connection.channels.send(jsonrpc.write_notification(NOTIFICATIONS_CANCELLED, params), channel)

    def take_notification(self, call: Call) -> Outcome:
        """Pass a notification to its handler and to the streams of its method."""
        name, requester = call.name, call.requester
        if self.subscriptions is not None:
            self.subscriptions.take(call)
        found = requester.answers.handlers.get(name)
        streams = self._streams.get(name)
        method = found[0] if found else streams[0] if streams else self._watched(name, requester)
        if method is None or not requester.has(method):
            return ACCEPTED
        try:
            params = params_of(method, call)
        except RemoteProtocolError as error:
            self._connection.report(error)
            return Outcome(Verdict.REJECTED, jsonrpc.INVALID_PARAMS, str(error))
        for stream in streams[1] if streams else ():
            stream.put(params, len(call.text))
        if found is None and not self._middleware:
            return ACCEPTED
        text = call.text
        call.method, call.params, call.text = method, params, b""
        self._notification_queue = self._notification_queue or NotificationQueue(
            self._connection, self._reserved_bytes()
        )
        if self._notification_queue.take(
            text, call.parts, call.requester.peer, partial(self._notified, call, found[1] if found else ignore)
        ):
            return ACCEPTED
        dropped = self._connection.violation("too many notifications are waiting; this one was dropped", name)
        self._connection.report(dropped)
        return Outcome(Verdict.REJECTED, jsonrpc.INTERNAL_ERROR, str(dropped))

    def _reserved_bytes(self) -> ReservedBytes:
        self._reserved = self._reserved or ReservedBytes(self._connection.limits.max_bytes)
        return self._reserved

    def _watched(self, name: str, requester: Requester) -> AnyMethod | None:
        """Return a method that only middleware wants to see."""
        binding = requester.binding
        return binding.methods.get(name) if binding and self._middleware else None

    def end(self, reason: str, current: "asyncio.Task[Any] | None") -> None:
        """Cancel all tasks except the current one, since the connection has ended."""
        self._queue.clear()
        if self._notification_queue is not None:
            self._notification_queue.clear()
        for call in self._kept:
            call.mark_cancelled(reason)
        self._kept.clear()
        for call in tuple(self._running):
            if call.task is not current:
                self._cancel(call, reason)
            else:
                call.mark_cancelled(reason)
        for _, streams in self._streams.values():
            for stream in tuple(streams):
                stream.close()

    def _begin(self, call: Call) -> None:
        """Start the task of a request, unless it is refused or continues a suspended handler."""
        requester, name = call.requester, call.name
        found = requester.answers.handlers.get(name)
        if found is None or not is_served(found[0], requester):
            # At debug level only: a client of both eras asks server/discover first, to learn from the error.
            self._connection.log_limited(logging.DEBUG, "%s is not supported here", clipped(name, 100))
            self._refuse(call, jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": clipped(name)})
            return
        method, handler = found
        given = call.message.params or {}
        if (state := given.get("requestState")) is not None and self._resumes(method, call, state):
            return
        try:
            params = params_of(method, call)
            if method.gated:
                check_gated(method, given, requester)
        except RemoteProtocolError as error:
            self._connection.report(error)
            reason = f"{error.pointer or '/'}: {error.reason}"
            self._refuse(call, jsonrpc.INVALID_PARAMS, reason, {"pointer": error.pointer})
            return
        call.method, call.params, call.text = method, params, b""
        call.task = self._connection.loop.create_task(self._answer(call, handler), name=name)
        self._running[call] = None
        self._waiting += name in WAITING
        if self._connection.side is Side.CLIENT and len(self._running) == 1:
            self._outbound.deadlines.asked(True)

    def _refuse(self, call: Call, code: int, message: str, data: Any = None) -> None:
        call.release()
        self._channels.refuse(call, code, message, data)

    def _resumes(self, method: AnyMethod, call: Call, state: Any) -> bool:
        """Whether a request was passed to a suspended handler, or was refused because there is none."""
        wire = call.requester.wire
        spoken = method if wire is None else wire.spoken(method)
        if not (isinstance(spoken, RequestMethod) and spoken.multi_round_trip):
            return False
        try:
            if not call.requester.answers.questions.resume(call, state):
                return False
            call.release()
        except PeerError as error:
            self._refuse(call, error.code, error.message, error.data)
        return True

    async def _answer(self, call: Call, handler: Handler) -> None:
        """Run the handler of a request, and deliver the outcome over the connection that answers it by then."""
        CURRENT.set(call)
        answerer = self
        try:
            outcome = await self._run(call, handler)
            if call.resumed is not None:
                answerer = await call.resumed
            await answerer._deliver(call, outcome)
        except asyncio.CancelledError:
            answerer = call.answerer(self)
            if call.book is not None and not answerer._connection.end.is_closed:
                answerer._connection.log_limited(
                    logging.ERROR, "the handler of %s was cancelled from within", call.name
                )
                await answerer._deliver(call, PeerError(jsonrpc.INTERNAL_ERROR, "internal error"))
        finally:
            answerer._finished(call)

    async def _run(self, call: Call, handler: Handler) -> bytes | BaseException:
        """Return the outcome of a request: its encoded result, or the exception of its handler."""
        try:
            if call.channel.owed_bytes > MAX_UNREAD:
                await self._channels.wait_for_room(call.channel)
            result = await call.run(handler, self._middleware)
            method: Any = call.method  # which a handler may have replaced
            return self._outbound.results.encode(method, result, call.requester)
        except (*_ENDS, asyncio.CancelledError):
            raise
        except BaseException as error:
            return error

    async def _deliver(self, call: Call, outcome: bytes | BaseException) -> None:
        """Answer a request, unless it is over, and wait until the peer has room for more."""
        if call.book is None:
            return
        if call.keeper is not None and isinstance(outcome, bytes):
            self._kept[call] = None
            call.keeper.hold(outcome)
            return
        if call.gate is not None or call.channel.logs is not None:
            self._reports.finish(call)
        channel = call.channel
        if isinstance(outcome, BaseException):
            call.mark_closed()
            refused = refusal(outcome, call.name, call.requester, self._connection.log_limited)
            self._channels.refuse(call, refused.code, refused.message, refused.data)
            return
        call.is_open = False
        if channel.owed_bytes and channel.owed_bytes + len(outcome) > self._connection.limits.max_unread_bytes:
            self._channels.refuse(call, jsonrpc.INTERNAL_ERROR, "too many results were not read; this one was dropped")
        else:
            self._channels.answer(call, outcome)
            await self._channels.drain_result(channel, len(outcome))

    async def _notified(self, call: Call, handler: Handler) -> None:
        CURRENT.set(call)
        try:
            await call.run(handler, self._middleware)
        except (*_ENDS, asyncio.CancelledError):
            raise
        except BaseException as error:
            self._connection.log_limited(logging.ERROR, "the handler of %s failed", call.name, exc_info=error)

    def _finished(self, call: Call) -> None:
        """Forget a request whose handler has ended, unless the request is kept open without it."""
        if call in self._running:
            self._release(call)
            del call.task  # whose context refers to the call: the cycle would wait for the garbage collector
        elif not call.is_open:
            self._kept.pop(call, None)
        if self._connection.end is not OPEN:
            self._connection.settle()

    def _release(self, call: Call) -> None:
        del self._running[call]
        self._ending.pop(call, None)
        if call.held is not None:
            call.release()
        if self._waiting and call.name in WAITING:
            self._waiting -= 1
        if call.gate is not None:
            call.gate.drop()
            call.gate = None
        if self._connection.side is Side.CLIENT and not self._running:
            self._outbound.deadlines.asked(False)
        if self._connection.end.is_closed:
            return
        while self._queue and self._has_turn():
            queued = next(iter(self._queue))
            self._queue.pop(queued).run(self._begin, queued)
