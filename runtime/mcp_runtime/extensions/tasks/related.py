"""Marks what is sent on behalf of a task (2025-11-25, basic/utilities/tasks, "Associating Task-Related Messages")."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from mcp_runtime.core.connection.calls import Reply
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.notifications import DROPPED, no_progress, wants
from mcp_runtime.core.connection.timers import Gate, log
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.features import OWN_IDS, related_meta
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import Method, NotificationMethod, RequestMethod
from mcp_runtime.core.options import Caller, CallOptions
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import Id, Notification

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

_Report: TypeAlias = tuple[float, float | None, str | None]


def with_meta(spelled: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return params or a result keyed by wire names, with more in their `_meta`."""
    held: object = spelled.get("_meta")
    return {**spelled, "_meta": {**(held if is_object(held) else {}), **more}}


class TaskCaller(Caller):
    """Sends requests on behalf of a task.

    If the connection ends, requests wait until the owner of the task asks for it over another one.

    Args:
        caller: sends the messages.
        connection: the connection to the peer.
        task_id: the task.
        around: awaited at the beginning and at the end of each request: True while input from the peer is needed.
    """

    def __init__(
        self, caller: Caller, connection: Connection, task_id: str, around: Callable[[bool], Awaitable[None]]
    ) -> None:
        self._connection = connection
        self._caller = caller
        self._task_id = task_id
        self._around = around
        self._returned = asyncio.Event()

    @property
    def connection(self) -> Connection:
        """The connection to the peer."""
        return self._connection

    def attach(self, connection: Connection) -> None:
        """Send what is asked from now on over a connection, if the present one has ended."""
        if self.connection.closed_because is not None:
            self._connection = self._caller = connection
            self._returned.set()

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request that belongs to the task."""
        return await self._asking(method, lambda: self._caller.request(method, self._marked(method, params), options))

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request that belongs to the task, for a result of another type."""
        return await self._asking(
            method, lambda: self._caller.request_as(method, self._marked(method, params), result, options)
        )

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification that belongs to the task."""
        await self._caller.notify(method, self._marked(method, params))

    def request_meta(self) -> Mapping[str, Any]:
        """Return what every request must carry."""
        return self._caller.request_meta()

    async def _asking(self, method: RequestMethod[Any, Any], ask: Callable[[], Awaitable[T]]) -> T:
        if method.name in OWN_IDS:
            return await ask()
        await self._around(True)
        try:
            while True:
                connection = self.connection
                with suppress(ConnectionClosed):
                    return await ask()
                while self.connection is connection:
                    self._returned.clear()
                    await self._returned.wait()
        finally:
            await self._around(False)

    def _marked(self, method: Method[P], params: P | None) -> P | None:
        """Return the params of a message, marked as belonging to the task."""
        if method.name in OWN_IDS or method.params is None:
            return params
        given: Any = params
        spelled: dict[str, Any] = {} if given is None else given.model_dump(mode="json")
        return method.params.build(with_meta(spelled, related_meta(self._task_id)))


class TaskExchange(Exchange):
    """A request that runs as a task: its progress reports and log messages name the task.

    The peer's progress token stays valid for as long as the task runs (2025-11-25, basic/utilities/progress), although
    the request itself has already been answered.
    """

    __slots__ = ("_gate", "_is_stuck", "_leaving", "_order", "_progress", "_task_id", "_token", "is_over")

    def __init__(self, exchange: Exchange, task_id: str) -> None:
        connection, meta = exchange.connection, dict(exchange.meta)
        # It answers nothing: the request that it was is answered with the task.
        reply = Reply(None, Notification(exchange.name, {"_meta": meta}), connection.channels.main)
        super().__init__(connection, reply)
        self.requester, reply.id = connection.requester, exchange.id
        # The task may do no more than its request.
        self.principal, self.scopes = exchange.principal, exchange.scopes
        self.method, self.params = exchange.method, exchange.params
        # The params are needed for as long as the task runs.
        self.held, exchange.held = exchange.held, None
        self.is_over = False
        self._task_id = task_id
        token = meta.get("progressToken")
        self._token: Id | None = token if type(token) is int or type(token) is str else None
        self._progress: float | None = None
        self._is_stuck = False
        self._order = asyncio.Lock()
        self._leaving: asyncio.Task[None] | None = None
        rate = exchange.connection.limits.progress_rate
        self._gate = None if rate is None else Gate[_Report](asyncio.get_running_loop(), rate, self._let_leave)

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress of the task; does nothing if the peer did not ask for it, or if the task is over.

        Progress that does not increase is dropped, and logged once.
        """
        if self.is_over:
            return
        wrong = no_progress(progress, total, self._progress)
        if wrong is not None:
            if not self._is_stuck:
                self._is_stuck = True
                log.warning(DROPPED, self.method.name, wrong)
            return
        self._progress = progress
        if self._token is None:
            return
        if self._gate is None:
            await self._report((progress, total, message))
        else:
            self._gate.put((progress, total, message))
            if self._leaving is not None and not self._leaving.done():
                await asyncio.wait([self._leaving])

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message that belongs to the task, if the peer wants messages of that level.

        Raises:
            ValueError: there is no such level.
            MissingCapability: this side did not declare logging.
        """
        if wants(self.requester, level):
            await self._tell(names.NOTIFICATIONS_MESSAGE, {"level": level, "data": data, "logger": logger})

    async def finish(self) -> None:
        """Send the last progress report, since the task is about to end."""
        if self._gate is not None:
            self._gate.flush()
        if self._leaving is not None:
            await asyncio.wait([self._leaving])
        self.stop()

    def stop(self) -> None:
        """Stop reporting progress."""
        self.is_over = True
        if self._gate is not None:
            self._gate.drop()

    def _let_leave(self, report: _Report) -> None:
        if self.connection.closed_because is None:
            self._leaving = self.connection.spawn(self._report(report))

    async def _report(self, report: _Report) -> None:
        progress, total, message = report
        # Middleware may take its time, and progress must increase.
        async with self._order:
            said = {"progressToken": self._token, "progress": progress, "total": total, "message": message}
            await self._tell(names.NOTIFICATIONS_PROGRESS, said)

    async def _tell(self, name: str, said: Mapping[str, Any]) -> None:
        binding = self.connection.binding
        method = binding.methods[name] if binding else None
        assert isinstance(method, NotificationMethod) and method.params is not None
        given = {member: value for member, value in said.items() if value is not None or member == "data"}
        with suppress(ConnectionClosed):
            await self.connection.notify(method, method.params.build({**given, "_meta": related_meta(self._task_id)}))
