"""The requests and notifications that arrive: a task for each, with typed params and a context."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from typing import Any, Protocol, TypeAlias, TypeVar, cast

from mcp_runtime.connection.line import Line
from mcp_runtime.connection.link import Link, log
from mcp_runtime.connection.notifications import NotificationStream
from mcp_runtime.connection.outbound import Outbound
from mcp_runtime.connection.refusals import UNAVAILABLE, refusal
from mcp_runtime.connection.reports import Reports
from mcp_runtime.connection.work import CURRENT, Work
from mcp_runtime.errors import RemoteProtocolError
from mcp_runtime.method import AnyMethod, NotificationMethod, RequestMethod
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.events import Cancelled
from mcp_runtime.protocol.jsonrpc import Id, Notification, Request
from mcp_runtime.protocol.outcome import ACCEPTED, Outcome, Verdict
from mcp_runtime.protocol.text import clipped

P = TypeVar("P")
Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
"""Takes the typed params and the context; returns the typed result."""

_NEVER_RAN = (inspect.CORO_CREATED, inspect.CORO_CLOSED)


class Handling(Protocol):
    """Makes what stands for a received message, and runs its handler."""

    @property
    def is_watched(self) -> bool:
        """Whether middleware wants to see every message."""
        ...

    def open(self, method: AnyMethod, params: Any, line: Line, id_: Id | None, raw: dict[str, Any] | None) -> Work:
        """Make what stands for a received message."""
        ...

    def run(self, work: Work, handler: Handler) -> Awaitable[Any]:
        """Hand a message to its handler, through the middleware."""
        ...


class Inbound:
    """What the peer asks and tells over one link, and what answers it.

    Args:
        link: what it comes and goes by.
        outbound: writes the results.
        reports: what must leave before an answer.
        handling: makes what stands for a message, and runs its handler.
        settled: is called when the last task ends after the connection did.
    """

    def __init__(
        self, link: Link, outbound: Outbound, reports: Reports, handling: "Handling", settled: Callable[[], None]
    ) -> None:
        self._link = link
        self._outbound = outbound
        self._reports = reports
        self._handling = handling
        self._settled = settled
        self._handlers: dict[str, tuple[AnyMethod, Handler]] = {}
        self._streams: dict[str, tuple[NotificationMethod[Any], list[NotificationStream[Any]]]] = {}
        self._tasks: dict[Id, tuple[asyncio.Task[None], Work]] = {}
        self._queue: dict[Id, tuple[Request, bytes, Context, Line]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no request of the peer is worked on."""
        return not self._tasks

    def runs(self, task: "asyncio.Task[Any] | None") -> bool:
        """Whether a task works on a request of the peer."""
        return any(task is own for own, _ in self._tasks.values())

    def handle(self, method: AnyMethod, handler: Handler) -> None:
        """Answer a method with a handler; a later one takes its place."""
        self._handlers[method.name] = (method, handler)

    def forget(self, names: Iterable[str]) -> None:
        """Answer these methods no more."""
        for name in names:
            self._handlers.pop(name, None)

    def handler(self, name: str) -> Handler | None:
        """Return the handler of a method, None if there is none."""
        found = self._handlers.get(name)
        return found[1] if found else None

    def stream(self, method: NotificationMethod[P], limit: int) -> NotificationStream[P]:
        """Iterate over the params of one method's notifications that arrive from now on."""
        streams = self._streams.setdefault(method.name, (method, []))[1]
        stream: NotificationStream[P] = NotificationStream(limit, streams.remove)
        streams.append(stream)
        return stream

    def take_request(self, request: Request, text: bytes, line: Line) -> None:
        """Work on a request now, or when others are done, or refuse it."""
        limits = self._link.limits
        if request.id in self._tasks:
            # The peer cancelled a request with this id, and its handler has not ended yet.
            self._link.refuse(request.id, jsonrpc.INVALID_REQUEST, "this id belongs to a request that was cancelled")
        elif len(self._tasks) < limits.max_in_flight:
            self._begin(request, text, line)
        elif len(self._queue) < limits.max_queued:
            # Run it in its own contextvars context, not in that of the request that makes room for it.
            self._queue[request.id] = (request, text, copy_context(), line)
        else:
            self._link.refuse(request.id, jsonrpc.INTERNAL_ERROR, "too many requests are waiting; try again later")

    def take_cancelled(self, cancelled: Cancelled) -> None:
        """Stop working on a request that the peer cancelled; it gets no answer."""
        self._stop(cancelled.id, cancelled.reason)

    def lose(self, line: Line, reason: str) -> None:
        """Stop working on what came over a line that is lost, since its revision has it so."""
        for id_ in [id_ for id_, incoming in self._link.session.incoming.items() if incoming.line is line]:
            self._stop(id_, reason)

    def _stop(self, id_: Id, reason: str | None) -> None:
        self._queue.pop(id_, None)
        self._link.drop(id_)
        found = self._tasks.get(id_)
        if found is not None:
            task, work = found
            log.info("%s %r was cancelled: %s", work.method.name, id_, clipped(reason or "-"))
            self._cancel(id_, task, work, reason)

    def _cancel(self, id_: Id, task: "asyncio.Task[None]", work: Work, reason: str | None) -> None:
        work.is_open = False
        work.is_cancelled = True
        work.cancel_reason = reason
        task.cancel(reason)
        # A task that is cancelled before its first step runs no line of its coroutine, not even its `finally`.
        if inspect.getcoroutinestate(cast("Coroutine[Any, Any, None]", task.get_coro())) in _NEVER_RAN:
            self._finished(id_)

    def take_notification(self, notification: Notification, text: bytes, line: Line) -> Outcome:
        """Hand a notification to its handler and to the streams of its method."""
        found = self._handlers.get(notification.method)
        streams = self._streams.get(notification.method)
        method = found[0] if found else streams[0] if streams else self._watched(notification.method)
        if method is None or not self._link.requester.has(method.name):
            return ACCEPTED
        try:
            params = self._params(method, notification.params, text)
        except RemoteProtocolError as error:
            self._link.report(error)
            return Outcome(Verdict.REJECTED, jsonrpc.INVALID_PARAMS, str(error))
        for stream in streams[1] if streams else ():
            stream.put(params)
        if found is not None or self._handling.is_watched:
            work = self._handling.open(method, params, line, None, notification.params)
            self._link.background.spawn(self._notified(work, found[1] if found else _ignore))
        return ACCEPTED

    def _watched(self, name: str) -> AnyMethod | None:
        """Return a method that only middleware wants to see."""
        binding = self._link.requester.binding
        return binding.methods.get(name) if binding and self._handling.is_watched else None

    def end(self, reason: str, current: "asyncio.Task[Any] | None") -> None:
        """Cancel what runs except the current task, since the connection has ended."""
        self._queue.clear()
        for id_, (task, work) in tuple(self._tasks.items()):
            if task is not current:
                self._cancel(id_, task, work, reason)
            else:
                work.is_open, work.is_cancelled, work.cancel_reason = False, True, reason
        for _, streams in self._streams.values():
            for stream in tuple(streams):
                stream.close()

    def _begin(self, request: Request, text: bytes, line: Line) -> None:
        found = self._handlers.get(request.method)
        may_come = found is not None and (not found[0].capability or request.method in self._link.requester.may_receive)
        if found is None or not may_come or not self._link.requester.has(request.method):
            self._link.refuse(request.id, jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": clipped(request.method)})
            return
        method, handler = found
        try:
            params = self._params(method, request.params, text)
            if method.gated:
                self._check_gated(method, request.params or {})
        except RemoteProtocolError as error:
            self._link.report(error)
            reason = f"{error.pointer or '/'}: {error.reason}"
            self._link.refuse(request.id, jsonrpc.INVALID_PARAMS, reason, {"pointer": error.pointer})
            return
        work = self._handling.open(method, params, line, request.id, request.params)
        task = self._link.loop.create_task(self._answer(work, request.id, handler), name=method.name)
        self._tasks[request.id] = (task, work)

    def _params(self, method: AnyMethod, params: dict[str, Any] | None, text: bytes) -> Any:
        if method.params is None or (params is None and not method.params_required):
            return None
        given, wire = params or {}, self._link.requester.wire
        if wire is not None:
            given = wire.incoming(method, "params", given, text, self._link.requester.reader)
        return self._link.requester.reader.read(method.params, given, method.name, text=text)

    def _check_gated(self, method: AnyMethod, params: dict[str, Any]) -> None:
        """Refuse properties whose capability this side did not declare.

        The wish for a task is ignored instead, as it must be (2025-11-25, basic/utilities/tasks).
        """
        for member, path in method.gated.items():
            if params.get(member) is None or member == "task":
                continue
            if not self._link.requester.is_open(path, self._link.side.other):
                reason = f"needs the capability {path}, which was not declared"
                raise RemoteProtocolError(
                    revision=self._link.revision, method=method.name, pointer=f"/{member}", reason=reason
                )

    async def _answer(self, work: Work, id_: Id, handler: Handler) -> None:
        link = self._link
        CURRENT.set(work)
        try:
            result = await self._handling.run(work, handler)
            answer = self._outbound.encode_result(cast("RequestMethod[Any, Any]", work.method), result)
        except asyncio.CancelledError:
            if id_ in link.session.incoming and link.closed_because is None:
                log.error("the handler of %s was cancelled from within", work.method.name)
                link.refuse(id_, jsonrpc.INTERNAL_ERROR, "internal error")
        except Exception as error:
            if id_ in link.session.incoming:
                self._reports.finish(id_)
                work.is_open = False
                refused = refusal(error, work.method.name, link.requester)
                link.refuse(id_, refused.code, refused.message, refused.data)
        else:
            if id_ in link.session.incoming:
                self._reports.finish(id_)
                work.is_open = False
                line = link.answer(id_, answer)
                await line.channel.drain()
        finally:
            self._finished(id_)

    async def _notified(self, work: Work, handler: Handler) -> None:
        CURRENT.set(work)
        try:
            await self._handling.run(work, handler)
        except Exception as error:
            log.error("the handler of %s failed", work.method.name, exc_info=error)

    def _finished(self, id_: Id) -> None:
        self._tasks.pop(id_, None)
        self._reports.drop(id_)
        if self._link.closed_because is not None or self._link.ending is not None:
            self._settled()
        if self._link.closed_because is not None:
            return
        while self._queue and len(self._tasks) < self._link.limits.max_in_flight:
            request, text, context, line = self._queue.pop(next(iter(self._queue)))
            context.run(self._begin, request, text, line)


async def _ignore(params: Any, context: Any) -> None:
    """Handle a notification that only middleware or a stream wants."""
