"""The requests and notifications that arrive: a task for each, with typed params and a context."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable
from contextvars import Context, copy_context
from typing import Any, TypeAlias, TypeVar, cast

from mcp_runtime import jsonrpc
from mcp_runtime.calls import Calls
from mcp_runtime.capabilities import is_open
from mcp_runtime.context import CURRENT, Exchange
from mcp_runtime.errors import MethodNotImplemented, PeerError, RemoteProtocolError
from mcp_runtime.events import Cancelled
from mcp_runtime.jsonrpc import Id, Notification, Request
from mcp_runtime.link import Link, log
from mcp_runtime.method import AnyMethod, NotificationMethod, RequestMethod
from mcp_runtime.notifications import NotificationStream
from mcp_runtime.validation import clipped

P = TypeVar("P")
Handler: TypeAlias = Callable[[Any, Any], Coroutine[Any, Any, Any]]
MakeExchange: TypeAlias = Callable[[AnyMethod, Any, Id | None, dict[str, Any] | None], Exchange]

UNAVAILABLE = "this method is not available here"
_NEVER_RAN = (inspect.CORO_CREATED, inspect.CORO_CLOSED)


class Dispatch:
    """What the peer asks and tells over one link, and who answers it.

    Args:
        link: what it comes and goes by.
        calls: writes the results.
        open_exchange: makes the object for one message.
        make_context: makes what a handler gets beside the params.
        settled: is called when the last task ends after the connection did.
    """

    def __init__(
        self,
        link: Link,
        calls: Calls,
        *,
        open_exchange: MakeExchange,
        make_context: Callable[[Exchange], Any],
        settled: Callable[[], None],
    ) -> None:
        self._link = link
        self._calls = calls
        self._open_exchange = open_exchange
        self._make_context = make_context
        self._settled = settled
        self._handlers: dict[str, tuple[AnyMethod, Handler]] = {}
        self._streams: dict[str, tuple[NotificationMethod[Any], list[NotificationStream[Any]]]] = {}
        self._tasks: dict[Id, tuple[asyncio.Task[None], Exchange]] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._queue: dict[Id, tuple[Request, bytes, Context]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs that the peer or this side began."""
        return not self._tasks and not self._background

    def runs(self, task: "asyncio.Task[Any] | None") -> bool:
        """Whether a task is one of those that this connection began."""
        return task in self._background or any(task is own for own, _ in self._tasks.values())

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

    def take_request(self, request: Request, text: bytes) -> None:
        """Work on a request now, or when others are done, or refuse it."""
        settings = self._link.settings
        if request.id in self._tasks:
            # The peer gave up a request with this id, and its handler has not ended yet.
            self._link.refuse(request.id, jsonrpc.INVALID_REQUEST, "this id belongs to a request that was cancelled")
        elif len(self._tasks) < settings.max_in_flight:
            self._begin(request, text)
        elif len(self._queue) < settings.max_queued:
            # It shall not begin within what another request's handler has set.
            self._queue[request.id] = (request, text, copy_context())
        else:
            self._link.refuse(request.id, jsonrpc.INTERNAL_ERROR, "too many requests are waiting; try again later")

    def take_cancelled(self, cancelled: Cancelled) -> None:
        """Stop working on a request that the peer gave up; nobody answers it."""
        self._queue.pop(cancelled.id, None)
        self._link.send(self._link.session.drop(cancelled.id))
        found = self._tasks.get(cancelled.id)
        if found is not None:
            task, exchange = found
            exchange.is_cancelled = True
            exchange.cancel_reason = cancelled.reason
            log.info("%s %r was cancelled: %s", exchange.method.name, cancelled.id, clipped(cancelled.reason or "-"))
            self._cancel(cancelled.id, task, cancelled.reason)

    def _cancel(self, id_: Id, task: "asyncio.Task[None]", reason: str | None) -> None:
        task.cancel(reason)
        # A task that is cancelled before its first step runs no line of its coroutine, which else tells of its end.
        if inspect.getcoroutinestate(cast("Coroutine[Any, Any, None]", task.get_coro())) in _NEVER_RAN:
            self._finished(id_)

    def take_notification(self, notification: Notification, text: bytes) -> None:
        """Hand a notification to its handler and to the streams of its method."""
        found = self._handlers.get(notification.method)
        streams = self._streams.get(notification.method)
        method = found[0] if found else streams[0] if streams else self._watched(notification.method)
        if method is None or not self._link.has(method.name):
            return
        try:
            params = self._params(method, notification.params, text)
        except RemoteProtocolError as error:
            self._link.report(error)
            return
        for stream in streams[1] if streams else ():
            stream.put(params)
        if found is not None or self._link.settings.middleware:
            exchange = self._open_exchange(method, params, None, notification.params)
            self.spawn(self._notified(exchange, found[1] if found else _ignore))

    def _watched(self, name: str) -> AnyMethod | None:
        """Return a method that only middleware wants to see."""
        binding = self._link.binding
        return binding.methods.get(name) if binding and self._link.settings.middleware else None

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run something beside the messages, which ends with the connection."""
        task = self._link.loop.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background_finished)
        return task

    def end(self, reason: str) -> None:
        """Cancel what runs, since the connection has ended."""
        self._queue.clear()
        current = asyncio.current_task() if _is_running() else None
        for id_, (task, exchange) in tuple(self._tasks.items()):
            exchange.is_cancelled = True
            exchange.cancel_reason = reason
            if task is not current:
                self._cancel(id_, task, reason)
        for task in tuple(self._background):
            if task is not current:
                task.cancel(reason)
        for _, streams in self._streams.values():
            for stream in tuple(streams):
                stream.close()

    def _begin(self, request: Request, text: bytes) -> None:
        found = self._handlers.get(request.method)
        may_come = found is not None and (not found[0].capability or request.method in self._link.may_receive)
        if found is None or not may_come or not self._link.has(request.method):
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
        exchange = self._open_exchange(method, params, request.id, request.params)
        task = self._link.loop.create_task(self._answer(exchange, request.id, handler), name=method.name)
        self._tasks[request.id] = (task, exchange)

    def _params(self, method: AnyMethod, params: dict[str, Any] | None, text: bytes) -> Any:
        if method.params is None or (params is None and not method.params_required):
            return None
        given, wire = params or {}, self._link.wire
        if wire is not None:
            given = wire.incoming(method, "params", given, text, self._link.reader)
        return self._link.reader.read(method.params, given, method.name, text=text)

    def _check_gated(self, method: AnyMethod, params: dict[str, Any]) -> None:
        """Refuse members whose capability this side did not declare.

        The wish for a task is ignored instead, as it must be (2025-11-25, basic/utilities/tasks).
        """
        for member, path in method.gated.items():
            if params.get(member) is None or member == "task":
                continue
            if not is_open(path, self._link.side.other, self._link.declared):
                reason = f"needs the capability {path}, which was not declared"
                raise RemoteProtocolError(
                    revision=self._link.revision, method=method.name, pointer=f"/{member}", reason=reason
                )

    async def _answer(self, exchange: Exchange, id_: Id, handler: Handler) -> None:
        link = self._link
        CURRENT.set(exchange)
        try:
            context = self._make_context(exchange)
            if link.settings.middleware:
                result = await link.through(exchange, lambda: handler(exchange.params, context))
            else:
                result = await handler(exchange.params, context)
            answer = self._calls.encode_result(cast("RequestMethod[Any, Any]", exchange.method), result)
        except asyncio.CancelledError:
            if id_ in link.session.incoming and link.closed_because is None:
                log.error("the handler of %s was cancelled from within", exchange.method.name)
                link.refuse(id_, jsonrpc.INTERNAL_ERROR, "internal error")
        except Exception as error:
            if id_ in link.session.incoming:
                link.finish(id_)
                self._refuse(id_, exchange.method.name, error)
        else:
            if id_ in link.session.incoming:
                link.finish(id_)
                link.send(link.session.answer(id_, answer))
                await link.transport.drain()
        finally:
            self._finished(id_)

    def _refuse(self, id_: Id, method: str, error: Exception) -> None:
        """Answer with what a handler raised; the text of an error that it did not mean to send stays here."""
        if isinstance(error, PeerError) and not error.is_from_peer:
            self._link.refuse(id_, error.code, error.message, error.data)
        elif isinstance(error, MethodNotImplemented):
            self._link.refuse(id_, jsonrpc.METHOD_NOT_FOUND, UNAVAILABLE, {"method": error.method})
        else:
            log.error("the handler of %s failed", method, exc_info=error)
            self._link.refuse(id_, jsonrpc.INTERNAL_ERROR, "internal error")

    async def _notified(self, exchange: Exchange, handler: Handler) -> None:
        CURRENT.set(exchange)
        try:
            context = self._make_context(exchange)
            if self._link.settings.middleware:
                await self._link.through(exchange, lambda: handler(exchange.params, context))
            else:
                await handler(exchange.params, context)
        except Exception as error:
            log.error("the handler of %s failed", exchange.method.name, exc_info=error)

    def _finished(self, id_: Id) -> None:
        self._tasks.pop(id_, None)
        if self._link.progress.gates:
            self._link.progress.drop(id_)
        if self._link.closed_because is not None or self._link.ending is not None:
            self._settled()
        if self._link.closed_because is not None:
            return
        while self._queue and len(self._tasks) < self._link.settings.max_in_flight:
            request, text, context = self._queue.pop(next(iter(self._queue)))
            context.run(self._begin, request, text)

    def _background_finished(self, task: "asyncio.Task[Any]") -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the connection failed", exc_info=error)
        if self._link.closed_because is not None:
            self._settled()


async def _ignore(params: Any, context: Any) -> None:
    """Handle what nobody does."""


def _is_running() -> bool:
    """Whether an event loop runs: a transport may report its end when none does any more."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
