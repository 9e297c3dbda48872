"""Incoming requests and notifications: a task for each, with typed params and a context."""

import asyncio
import logging
from collections.abc import Mapping
from contextvars import Context, copy_context
from typing import Any

from mcp_runtime.core.connection.background import never_ran
from mcp_runtime.core.connection.base import OPEN, BaseConnection
from mcp_runtime.core.connection.calls import CURRENT, ENDS, LIGHT, AnyMiddleware, Call, Reply
from mcp_runtime.core.connection.checks import UNAVAILABLE, refusal
from mcp_runtime.core.connection.notifications import Notifications, Reports
from mcp_runtime.core.connection.outbound import Outbound
from mcp_runtime.core.connection.requester import Handler, Requester
from mcp_runtime.core.connection.results import params_of
from mcp_runtime.core.connection.transport import MAX_UNREAD, Channel
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.method import AnyMethod, Direction, RequestMethod
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import Id
from mcp_runtime.core.protocol.names import NOTIFICATIONS_CANCELLED, WAITING


def is_served(method: AnyMethod, requester: Requester) -> bool:
    """Whether the requester may send a request: its revision has it, and its capability was declared."""
    wire = requester.wire
    if wire is not None and not wire.has(method):
        return False
    sent = method if wire is None else wire.spoken(method)
    return sent.direction is not Direction.EMBEDDED and (not method.capability or method.name in requester.may_receive)


def check_gated(method: AnyMethod, params: Mapping[str, Any], requester: Requester) -> None:
    """Refuse properties whose capability this side did not declare.

    A request for a task is ignored instead, as the specification requires (2025-11-25, basic/utilities/tasks).

    Raises:
        RemoteProtocolError: there is such a property.
    """
    for member, path in method.gated.items():
        if params.get(member) is None or member == "task":
            continue
        if not requester.is_open(path, requester.side.other):
            reason = f"needs the capability {path}, which was not declared"
            raise RemoteProtocolError(
                revision=requester.revision, method=method.name, pointer=f"/{member}", reason=reason
            )


def _place(reply: Reply) -> tuple[Id, Channel | None]:
    """Return where the id of a request is unique: in its session, or on its channel in the modern era."""
    return reply.id, reply.channel if reply.is_modern else None


class Inbound:
    """The peer's requests and notifications, and what answers them.

    Args:
        connection: the connection they arrive on.
        outbound: encodes the results.
        reports: what must be sent before an answer.
        middleware: wraps every request and notification.
    """

    def __init__(
        self, connection: BaseConnection, outbound: Outbound, reports: Reports, middleware: AnyMiddleware
    ) -> None:
        self._connection, self._channels = connection, connection.channels
        self._outbound = outbound
        self._reports = reports
        self._middleware = middleware
        self._notifications: Notifications | None = None  # created on demand: most connections are idle
        self._running: dict[Call, None] = {}
        self._ending: dict[Call, None] = {}  # the cancelled ones among them
        self._queue: dict[Call, Context] = {}
        self._kept: dict[Call, None] = {}
        self._waiting = 0

    @property
    def notifications(self) -> Notifications:
        """The notifications of the peer."""
        self._notifications = self._notifications or Notifications(self._connection, self._middleware)
        return self._notifications

    @property
    def is_idle(self) -> bool:
        """Whether no request of the peer is being handled."""
        return not self._running

    def runs(self, task: "asyncio.Task[Any] | None") -> bool:
        """Whether a task handles a request of the peer."""
        return any(task is call.task for call in self._running)

    def take_request(self, call: Call) -> None:
        """Handle a request now, queue it, or refuse it."""
        limits, waits = self._connection.limits, call.name in WAITING
        has_turn = waits or self._has_turn()
        if self._ending and self._is_ending(call):
            # The peer cancelled a request with this id, and its handler has not ended yet.
            self._refuse(call, jsonrpc.INVALID_REQUEST, "this id belongs to a request that was cancelled")
        elif waits and self._waiting >= limits.max_waiting:
            self._refuse(call, jsonrpc.INTERNAL_ERROR, f"at most {limits.max_waiting:,} requests like this may wait")
        elif not has_turn and len(self._queue) >= limits.max_queued:
            self._refuse(call, jsonrpc.INTERNAL_ERROR, "too many requests are waiting; try again later")
        elif not (has_turn and len(call.text) <= LIGHT) and not self._reserve(call):
            self._refuse(call, jsonrpc.INTERNAL_ERROR, "too many bytes of requests are waiting; try again later")
        elif has_turn:
            self._begin(call)
        else:
            # Run it in its own contextvars context, not in that of the request that makes room for it.
            self._queue[call] = copy_context()

    def _has_turn(self) -> bool:
        return len(self._running) - self._waiting < self._connection.limits.max_in_flight

    def _is_ending(self, call: Call) -> bool:
        """Whether the handler of a cancelled request with the same id is still running."""
        return any(_place(ending.reply) == _place(call.reply) for ending in self._ending)

    def _reserve(self, call: Call) -> bool:
        """Reserve memory for a request; return whether there is room."""
        call.held = self.notifications.reserved.reserve(call.text, call.parts, call.requester.peer)
        return call.held is not None

    def lose(self, channel: Channel, reason: str) -> None:
        """Stop handling what came over a lost channel, unless it belongs to a session (basic/transports)."""
        for reply in tuple(channel.calls.values()):
            if reply.is_modern:
                self.stop(reply.call, reason)

    def stop(self, call: Call, reason: str | None) -> None:
        """Stop handling a request, for a reason of the peer if it gives one; it gets no answer."""
        if self._queue.pop(call, None) is not None:
            call.release()
        self._channels.drop(call.reply)
        if call in self._kept:
            del self._kept[call]
            call.mark_cancelled(reason)
        if call in self._running:
            id_, why = clipped(repr(call.id), 100), clipped(reason or "-")
            self._connection.log_limited(logging.INFO, "%s %s was cancelled: %s", call.name, id_, why)
            self._cancel(call, reason)

    def _cancel(self, call: Call, reason: str | None) -> None:
        call.mark_cancelled(reason)
        self._ending[call] = None
        task = call.task
        task.cancel(reason)
        # A task that is cancelled before its first step runs none of its code, not even its `finally`.
        if never_ran(task):
            self.finished(call)

    def suspend(self, call: Call, result: bytes, *, keep: bool = True) -> "asyncio.Task[None]":
        """Answer an open request now, while its handler waits; return its task, which may outlive the connection."""
        self._reports.finish(call)
        call.resumed = self._connection.loop.create_future()
        self._channels.answer(call.reply, result)
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
        call.resume(received)

    def conclude(self, call: Call, result: bytes, reason: str) -> None:
        """Answer a request that was kept open; on a stream shared with other requests it is cancelled as well.

        The specification requires one or the other, in two places (2026-07-28, basic/patterns): clients use the first.
        """
        connection = self._connection
        if not call.is_open or call not in self._kept:
            return
        del self._kept[call]
        channel = connection.channels.answer(call.reply, result)
        call.mark_closed()
        if channel is connection.channels.main:
            params = jsonrpc.dump({"requestId": call.id, "reason": reason})
            connection.channels.send(jsonrpc.write_notification(NOTIFICATIONS_CANCELLED, params), channel)

    def end(self, reason: str, current: "asyncio.Task[Any] | None") -> None:
        """Cancel all tasks except the current one, since the connection has ended."""
        self._queue.clear()
        if self._notifications is not None:
            self._notifications.end()
        for call in self._kept:
            call.mark_cancelled(reason)
        self._kept.clear()
        for call in tuple(self._running):
            if call.task is not current:
                self._cancel(call, reason)
            else:
                call.mark_cancelled(reason)

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
        given = call.reply.message.params or {}
        if (state := given.get("requestState")) is not None and self._resumes(method, call, state):
            return
        try:
            if method.gated:
                check_gated(method, given, requester)
            params = params_of(method, call)
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
        self._channels.refuse(call.reply, code, message, data)

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
        """Run the handler of a request, and deliver the outcome over the connection that it is open on by then."""
        CURRENT.set(call)
        try:
            outcome = await self._run(call, handler)
            if call.resumed is not None and not isinstance(outcome, asyncio.CancelledError):
                await call.resumed
            await call.connection.inbound.deliver(call, outcome)
        finally:
            call.connection.inbound.finished(call)

    async def _run(self, call: Call, handler: Handler) -> bytes | BaseException:
        """Return the outcome of a request: its encoded result, or the exception of its handler."""
        try:
            if call.reply.channel.owed_bytes > MAX_UNREAD:
                await self._channels.wait_for_room(call.reply.channel)
            result = await call.run(handler, self._middleware)
            method: Any = call.method  # which a handler may have replaced
            return self._outbound.results.encode(method, result, call.requester)
        except ENDS:
            raise
        except BaseException as error:
            return error

    async def deliver(self, call: Call, outcome: bytes | BaseException) -> None:
        """Answer a request, unless it is over, and wait until the peer has room for more."""
        reply = call.reply
        if reply.book is None:
            return
        if call.keeper is not None and isinstance(outcome, bytes):
            self._kept[call] = None
            call.keeper.hold(outcome)
            return
        channel = reply.channel
        if call.gate is not None or channel.logs is not None:
            self._reports.finish(call)
        if isinstance(outcome, BaseException):
            refused = refusal(outcome, call.name, call.requester, self._connection.log_limited)
            self._channels.refuse(reply, refused.code, refused.message, refused.data)
            call.mark_closed()
        elif channel.owed_bytes and channel.owed_bytes + len(outcome) > self._connection.limits.max_unread_bytes:
            self._channels.refuse(reply, jsonrpc.INTERNAL_ERROR, "too many results were not read; this one was dropped")
        else:
            self._channels.answer(reply, outcome)
            await self._channels.drain_result(channel, len(outcome))

    def finished(self, call: Call) -> None:
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
