"""Incoming requests and notifications: a task for each, with typed params and a context."""

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final, TypeVar

from mcp_runtime.connection.background import never_ran
from mcp_runtime.connection.calls import (
    CURRENT,
    LIGHT,
    MAX_UNREAD,
    Handling,
    Held,
    Line,
    Load,
    Received,
    TaggedStreams,
    Work,
)
from mcp_runtime.connection.link import Link
from mcp_runtime.connection.notifications import NotificationStream, Turns
from mcp_runtime.connection.outbound import Outbound
from mcp_runtime.connection.params import check_gated, params_of
from mcp_runtime.connection.refusals import UNAVAILABLE, refusal
from mcp_runtime.connection.reports import Reports
from mcp_runtime.connection.requester import GoOn, Handler, Requester, ignore
from mcp_runtime.connection.transport import ACCEPTED, Outcome, Verdict
from mcp_runtime.errors import PeerError, RemoteProtocolError, clipped
from mcp_runtime.method import AnyMethod, NotificationMethod, RequestMethod
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.events import Cancelled
from mcp_runtime.protocol.jsonrpc import Key, Request
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import NOTIFICATIONS_CANCELLED, WAITING

P = TypeVar("P")

_ENDS = (KeyboardInterrupt, SystemExit)
"""Exceptions that end the program, not only a handler."""

_CLIENT: Final = Side.CLIENT  # once, since Python 3.11 runs code to find a member of an enumeration


class Inbound:
    """The peer's requests and notifications on one link, and what answers them.

    Args:
        link: the link they arrive on.
        outbound: encodes the results.
        reports: what must be sent before an answer.
        handling: creates the exchange of a message, and runs its handler.
        settled: called when the last task ends after the connection has ended.

    Attributes:
        subscriptions: receives the notifications that belong to a request of this side; None before the first.
    """

    __slots__ = (
        "_handling",
        "_kept",
        "_link",
        "_load",
        "_outbound",
        "_queue",
        "_reports",
        "_settled",
        "_streams",
        "_tasks",
        "_turns",
        "_waiting",
        "subscriptions",
    )

    def __init__(
        self, link: Link, outbound: Outbound, reports: Reports, handling: Handling, settled: Callable[[], None]
    ) -> None:
        self._link = link
        self._outbound = outbound
        self._reports = reports
        self._handling = handling
        self._settled = settled
        self.subscriptions: Any = None
        self._kept: dict[Key, Work] | None = None
        self._streams: dict[str, tuple[NotificationMethod[Any], list[NotificationStream[Any]]]] = {}
        self._tasks: dict[Key, tuple[asyncio.Task[None], Work]] = {}
        self._queue: dict[Key, tuple[Received, Context, Held]] = {}
        # Created on demand: most connections are idle.
        self._load: Load | None = None
        self._turns: Turns | None = None
        self._waiting = 0

    @property
    def is_idle(self) -> bool:
        """Whether no request of the peer is being handled."""
        return not self._tasks

    def runs(self, task: "asyncio.Task[Any] | None") -> bool:
        """Whether a task handles a request of the peer."""
        return any(task is own for own, _ in self._tasks.values())

    def stream(self, method: NotificationMethod[P], limit: int) -> NotificationStream[P]:
        """Iterate over the params of the notifications of one method that arrive from now on."""
        streams = self._streams.setdefault(method.name, (method, []))[1]
        stream: NotificationStream[P] = NotificationStream(limit, self._link.limits.max_bytes, streams.remove)
        streams.append(stream)
        return stream

    def take_tagged(self, streams: TaggedStreams) -> None:
        """Show all notifications to an object that dispatches those that belong to open requests."""
        self.subscriptions = streams

    def take_request(self, received: Received) -> None:
        """Handle a request now, queue it, or refuse it."""
        limits, key = self._link.limits, received.key
        assert key is not None
        waits = received.message.method in WAITING
        has_turn = waits or self._has_turn()
        if key in self._tasks:
            # The peer cancelled a request with this id, and its handler has not ended yet.
            self._link.refuse(key, jsonrpc.INVALID_REQUEST, "this id belongs to a request that was cancelled")
        elif waits and self._waiting >= limits.max_waiting:
            self._link.refuse(
                key, jsonrpc.INTERNAL_ERROR, f"at most {limits.max_waiting:,} requests like this may wait"
            )
        elif has_turn and len(received.text) <= LIGHT:
            self._begin(received, key)
        elif not has_turn and len(self._queue) >= limits.max_queued:
            self._link.refuse(key, jsonrpc.INTERNAL_ERROR, "too many requests are waiting; try again later")
        elif (held := self._loaded().hold(received.text, received.parts)) is None:
            self._link.refuse(key, jsonrpc.INTERNAL_ERROR, "too many bytes of requests are waiting; try again later")
        elif has_turn:
            self._begin(received, key, held)
        else:
            # Run it in its own contextvars context, not in that of the request that makes room for it.
            self._queue[key] = (received, copy_context(), held)

    def _has_turn(self) -> bool:
        return len(self._tasks) - self._waiting < self._link.limits.max_in_flight

    def take_cancelled(self, cancelled: Cancelled) -> None:
        """Stop handling a request that the peer cancelled; it gets no answer."""
        self._stop(cancelled.key, cancelled.reason)

    def lose(self, line: Line, reason: str) -> None:
        """Stop handling what came over a lost line, unless its era lets it continue."""
        for key in tuple(line.open):
            if not self._link.session_of(key).outlives_channels:
                self._stop(key, reason)

    def _stop(self, key: Key, reason: str | None) -> None:
        if (queued := self._queue.pop(key, None)) is not None:
            queued[2].release()
        self._link.drop(key)
        if self._kept is not None and (kept := self._kept.pop(key, None)) is not None:
            kept.mark_cancelled(reason)
        found = self._tasks.get(key)
        if found is not None:
            task, work = found
            id_ = clipped(repr(work.id), 100)
            self._link.complain(logging.INFO, "%s %s was cancelled: %s", work.method.name, id_, clipped(reason or "-"))
            self._cancel(key, task, work, reason)

    def _cancel(self, key: Key, task: "asyncio.Task[None]", work: Work, reason: str | None) -> None:
        work.mark_cancelled(reason)
        task.cancel(reason)
        # A task that is cancelled before its first step runs none of its code, not even its `finally`.
        if never_ran(task):
            self._finished(key)

    def suspend(self, work: Work, result: bytes, *, keep: bool = True) -> "asyncio.Task[None]":
        """Answer an open request now, while its handler waits; return its task, which may outlive the connection."""
        key = work.key
        assert key is not None
        task, _ = self._tasks[key]
        self._reports.finish(key)
        work.suspend(self._link.loop.create_future())
        self._link.answer(key, result)
        self._release(key)
        if keep:
            self._link.background.adopt(task)
        return task

    def resume(self, work: Work, task: "asyncio.Task[None]", received: Received) -> None:
        """Let a suspended handler continue with another request, using its capabilities and channel from then on.

        It may have been suspended by another connection of the same event loop.
        """
        self._link.background.release(task)
        request, key = received.message, received.key
        assert isinstance(request, Request) and key is not None
        self._tasks[key] = (task, work)
        work.resume(key, request.id, received.requester, received.line, request.params, by=self)

    def conclude(self, work: Work, result: bytes, reason: str) -> None:
        """Answer a request that was kept open; on a stream shared with other requests it is cancelled as well.

        The specification requires one or the other, in two places (2026-07-28, basic/patterns): clients use the first.
        """
        link, key = self._link, work.key
        if not work.is_open or key is None or self._kept is None or self._kept.pop(key, None) is None:
            return
        work.mark_closed()
        line = link.answer(key, result)
        if line is link.main:
            params = jsonrpc.dump({"requestId": work.id, "reason": reason})
            link.send(link.modern.notify(NOTIFICATIONS_CANCELLED, params), line)

    def take_notification(self, received: Received) -> Outcome:
        """Pass a notification to its handler and to the streams of its method."""
        name, requester = received.message.method, received.requester
        if self.subscriptions is not None:
            self.subscriptions.take(received)
        found = requester.answers.handlers.get(name)
        streams = self._streams.get(name)
        method = found[0] if found else streams[0] if streams else self._watched(name, requester)
        if method is None or not requester.has(name):
            return ACCEPTED
        try:
            params = params_of(method, received)
        except RemoteProtocolError as error:
            self._link.report(error)
            return Outcome(Verdict.REJECTED, jsonrpc.INVALID_PARAMS, str(error))
        for stream in streams[1] if streams else ():
            stream.put(params, len(received.text))
        if found is None and not self._handling.is_watched:
            return ACCEPTED
        run = partial(self._notified, self._handling.open(method, params, received), found[1] if found else ignore)
        self._turns = self._turns or Turns(self._link, self._loaded())
        if self._turns.take(received.text, received.parts, run):
            return ACCEPTED
        dropped = self._link.violation("too many notifications are waiting; this one was dropped", name)
        self._link.report(dropped)
        return Outcome(Verdict.REJECTED, jsonrpc.INTERNAL_ERROR, str(dropped))

    def _loaded(self) -> Load:
        self._load = self._load or Load(self._link.limits.max_bytes)
        return self._load

    def _watched(self, name: str, requester: Requester) -> AnyMethod | None:
        """Return a method that only middleware wants to see."""
        binding = requester.binding
        return binding.methods.get(name) if binding and self._handling.is_watched else None

    def end(self, reason: str, current: "asyncio.Task[Any] | None") -> None:
        """Cancel all tasks except the current one, since the connection has ended."""
        self._queue.clear()
        if self._turns is not None:
            self._turns.clear()
        for work in (self._kept or {}).values():
            work.mark_cancelled(reason)
        self._kept = None
        for key, (task, work) in tuple(self._tasks.items()):
            if task is not current:
                self._cancel(key, task, work, reason)
            else:
                work.mark_cancelled(reason)
        for _, streams in self._streams.values():
            for stream in tuple(streams):
                stream.close()

    def _begin(self, received: Received, key: Key, held: Held | None = None) -> None:
        work = self._opened(received, key)
        if work is not None:
            work.held = held
            self._waiting += work.method.name in WAITING
        elif held is not None:
            held.release()

    def _opened(self, received: Received, key: Key) -> Work | None:
        """Start the task of a request; return None if it was refused."""
        request, requester = received.message, received.requester
        name = request.method
        found = requester.answers.handlers.get(name)
        if found is None or not requester.may_ask(found[0]) or not requester.has(name):
            # At debug level only: a client of both eras asks server/discover first, to learn from the error.
            self._link.complain(logging.DEBUG, "%s is not supported here", clipped(name, 100))
            self._link.refuse(key, jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": clipped(name)})
            return None
        method, handler = found
        go_on = requester.answers.go_on
        if go_on is not None and self._goes_on(go_on, method, received):
            return None
        try:
            params = params_of(method, received)
            if method.gated:
                check_gated(method, request.params or {}, requester)
        except RemoteProtocolError as error:
            self._link.report(error)
            reason = f"{error.pointer or '/'}: {error.reason}"
            self._link.refuse(key, jsonrpc.INVALID_PARAMS, reason, {"pointer": error.pointer})
            return None
        work = self._handling.open(method, params, received)
        task = self._link.loop.create_task(self._answer(work, handler), name=method.name)
        self._tasks[key] = (task, work)
        if self._link.side is _CLIENT and len(self._tasks) == 1:
            self._outbound.deadlines.pause()
        return work

    def _goes_on(self, go_on: GoOn, method: AnyMethod, received: Received) -> bool:
        """Whether a request was passed to a suspended handler, or was refused because there is none."""
        state: Any = (received.message.params or {}).get("requestState")
        if state is None:
            return False
        wire = received.requester.wire
        spoken = method if wire is None else wire.spoken(method)
        if not (isinstance(spoken, RequestMethod) and spoken.multi_round_trip):
            return False
        try:
            return go_on(received, state)
        except PeerError as error:
            assert received.key is not None
            self._link.refuse(received.key, error.code, error.message, error.data)
            return True

    async def _answer(self, work: Work, handler: Handler) -> None:
        home, line = self, work.line
        assert line is not None
        CURRENT.set(work)
        try:
            if line.owed > MAX_UNREAD:
                await line.wait_for_room()
            result = await self._handling.run(work, handler)
            method: Any = work.method  # which a handler may have replaced
            answer = self._outbound.encode_result(method, result, work.requester)
            if work.resumed is not None:
                home = await work.resumed
        except asyncio.CancelledError:
            home, key = work.home(self), work.key
            link = home._link
            if key is not None and link.is_open(key) and link.closed_because is None:
                work.mark_closed()
                link.complain(logging.ERROR, "the handler of %s was cancelled from within", work.method.name)
                link.refuse(key, jsonrpc.INTERNAL_ERROR, "internal error")
        except _ENDS:
            raise
        except BaseException as error:
            if work.resumed is not None:
                home = await work.resumed
            link, key = home._link, work.key
            if key is not None and link.is_open(key):
                home._reports.finish(key)
                work.mark_closed()
                refused = refusal(error, work.method.name, work.requester, link.complain)
                link.refuse(key, refused.code, refused.message, refused.data)
        else:
            key = work.key
            if work.keeper is not None and key is not None and home._link.is_open(key):
                home._kept = home._kept or {}
                home._kept[key] = work
                work.keeper.hold(answer)
            elif key is not None and home._link.is_open(key):
                home._reports.finish(key)
                work.is_open = False
                await home._hand_in(key, answer, work.line or line)
        finally:
            home._finished(work.key)

    async def _hand_in(self, key: Key, answer: bytes, line: Line) -> None:
        """Send an answer and wait until there is room for more, unless the peer has left too many unread."""
        if line.owed and line.owed + len(answer) > self._link.limits.max_unread_bytes:
            self._link.refuse(key, jsonrpc.INTERNAL_ERROR, "too many results were not read; this one was dropped")
        else:
            self._link.answer(key, answer)
            await line.drain(len(answer))

    async def _notified(self, work: Work, handler: Handler) -> None:
        CURRENT.set(work)
        try:
            await self._handling.run(work, handler)
        except (*_ENDS, asyncio.CancelledError):
            raise
        except BaseException as error:
            self._link.complain(logging.ERROR, "the handler of %s failed", work.method.name, exc_info=error)

    def _finished(self, key: Key | None) -> None:
        """Forget a request whose handler has ended; None if it was suspended."""
        if key is not None:
            self._release(key)
        if self._link.closed_because is not None or self._link.ending is not None:
            self._settled()

    def _release(self, key: Key) -> None:
        ended = self._tasks.pop(key, None)
        if ended is not None:
            if ended[1].held is not None:
                ended[1].held.release()
            if self._waiting and ended[1].method.name in WAITING:
                self._waiting -= 1
        self._reports.drop(key)
        if self._link.side is _CLIENT and not self._tasks:
            self._outbound.deadlines.resume()
        if self._link.closed_because is not None:
            return
        while self._queue and self._has_turn():
            key = next(iter(self._queue))
            received, context, held = self._queue.pop(key)
            context.run(self._begin, received, key, held)
