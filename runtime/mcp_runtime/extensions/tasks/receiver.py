"""The side that runs tasks: requests that are answered at once and processed afterwards.

The sections named are those of 2025-11-25, basic/utilities/tasks.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from mcp_runtime.core import sources
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Handler
from mcp_runtime.core.errors import McpError, PeerError
from mcp_runtime.core.features import mark, related_meta
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_runtime.core.protocol.names import (
    NOTIFICATIONS_TASKS_STATUS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_CALL,
)
from mcp_runtime.extensions.tasks.engine import Engine, Run, refused, spoken_result
from mcp_runtime.extensions.tasks.related import TaskCaller, TaskExchange, with_meta
from mcp_runtime.extensions.tasks.states import Failure, Status, TaskRecord
from mcp_runtime.extensions.tasks.store import TaskError
from mcp_runtime.extensions.tasks.tools import Support, ToolSupport

OWNER: Final = "tasks.owner"
"""The connection feature that names the owner of its tasks; by default the principal, or else the connection."""

ANSWERED: Final = (TASKS_GET, TASKS_RESULT, TASKS_LIST, TASKS_CANCEL)


def paths_of(connection: Connection) -> Sequence[str]:
    """Return the paths of the requests that can be tasks, and of the supported task methods.

    Args:
        connection: the connection, with its revision and handlers.
    """
    spoken, augmentable = connection.requester.spoken, _augmentable(connection)
    if spoken is None or not augmentable:
        return ()
    paths = [*(spoken.methods[name].capability for name in ANSWERED), *(m.gated["task"] for m in augmentable)]
    return [path.partition(".")[2] for path in paths]


def receive(connection: Connection, engine: Engine, tools: Mapping[str, str]) -> None:
    """Answer task requests, and let other requests become tasks if the peer asks for it.

    Every request for which the revision in use allows it and this side has a handler can be a task.

    Args:
        connection: the connection, once its peer has declared its capabilities.
        engine: runs the tasks.
        tools: which tools may be tasks, beside those whose entry says so.
    """
    augmentable = _augmentable(connection)
    if not augmentable:
        return
    receiver = _Receiver(connection, engine, tools)
    for name, handler in zip(ANSWERED, (receiver.get, receiver.result, receiver.list, receiver.cancel), strict=True):
        connection.handle(receiver.spoken.methods[name], handler)
    for method in augmentable:
        receiver.augment(method)


def _augmentable(connection: Connection) -> Sequence[RequestMethod[Any, Any]]:
    """Return the requests that can be tasks in the revision in use, and have a handler."""
    spoken, is_bridged = connection.requester.spoken, connection.requester.wire is not None
    if spoken is None or TASKS_GET not in spoken.methods or (is_bridged and connection.side is Side.CLIENT):
        return ()
    return [
        method
        for method in spoken.methods.values()
        if isinstance(method, RequestMethod) and method.task_augmentable and connection.handler(method.name)
    ]


class _SessionRun(Run):
    """A request of a session that runs as a task, whose messages to the peer belong to the task."""

    fails_with_tool = True

    def __init__(self, engine: Engine, ctx: Context[Any], owner: str, record: TaskRecord) -> None:
        exchange = TaskExchange(ctx.exchange, record.id)
        self.caller = TaskCaller(ctx.connection, ctx.connection, record.id, self._asks)
        super().__init__(engine, type(ctx)(type(ctx.peer)(self.caller), ctx.request_id, exchange), owner, record)
        self._exchange, self._asking = exchange, 0

    async def _asks(self, begins: bool) -> None:
        self._asking += 1 if begins else -1
        if self._asking == int(begins):
            await self.restate()

    async def restate(self) -> None:
        """Store the present state with its description; see `Run.restate`."""
        await self.move(Status.INPUT_REQUIRED if self._asking else Status.WORKING, message=self.message)

    async def moved(self, record: TaskRecord) -> None:
        """Notify the peer. This is optional: a peer that needs certainty has to poll."""
        connection = self.ctx.connection
        spoken = connection.requester.spoken
        method: Any = spoken.methods[NOTIFICATIONS_TASKS_STATUS] if spoken else None
        if record.status is Status.CANCELLED:
            self._exchange.stop()
        try:
            await connection.notify(method, method.params.validate(record.wire()))
        except McpError as error:
            connection.log_limited(logging.DEBUG, "the peer was not notified of the task %s: %s", record.id, error)

    async def settled(self) -> None:
        """Send the last progress report."""
        await self._exchange.finish()

    def ended(self) -> None:
        """Stop reporting progress, and release the params."""
        super().ended()
        self._exchange.stop()
        self._exchange.release()


class _Receiver:
    """Runs the tasks of one session, in its revision, whatever the revision of the handlers is."""

    def __init__(self, connection: Connection, engine: Engine, tools: Mapping[str, str]) -> None:
        requester = connection.requester
        assert requester.spoken is not None and requester.binding is not None
        self._connection, self._engine, self._tools = connection, engine, tools
        self.spoken, self._own = requester.spoken, requester.binding
        owner: str | None = connection.features.get(OWNER) or connection.requester.principal
        self._owner, self._lasts = owner or sources.token_hex(16), owner is not None
        if owner is None:
            connection.on_close(lambda _: engine.store.forget(self._owner))

    def augment(self, method: RequestMethod[Any, Any]) -> None:
        """Let a request become a task if its sender wants that."""
        own = self._connection.handler(method.name)
        assert own is not None
        tools = ToolSupport(self._connection, self._tools) if method.name == TOOLS_CALL else None

        async def handler(params: Any, ctx: Context[Any]) -> Any:
            task: Any = getattr(params, "task", None)
            if tools is not None:
                await self._check_tool(tools, params.name, task, ctx)
            if task is None:
                return await own(params, ctx)
            # Before there is a task, so that the client is told which scopes it needs.
            ctx.exchange.require(ctx.requester.answers.scopes_for(method.name, getattr(params, "name", None)))
            # Extra properties of another revision's params were not validated.
            ttl: Any = task.get("ttl") if is_object(task) else getattr(task, "ttl", "")
            return await self._begin(method, own, ttl, ctx)

        self._connection.handle(self._own.methods[method.name], handler)

    async def get(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/get``."""
        return self._answer(TASKS_GET, await self._find(params.task_id, ctx))

    async def result(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/result`` once the task has ended, with exactly the result or error of its request."""
        await self._find(params.task_id, ctx)
        try:
            outcome = await self._engine.store.wait(self._owner, params.task_id)
        except TaskError as error:
            raise refused(error) from error
        if isinstance(outcome, Failure):
            raise PeerError(outcome.code, outcome.message, outcome.data)
        method = cast("RequestMethod[Any, Any]", self.spoken.methods[TASKS_RESULT])
        result = spoken_result(outcome.result, ctx.requester)
        return method.result.validate(with_meta(result, related_meta(params.task_id)))

    async def list(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/list``."""
        try:
            records, cursor = await self._engine.store.page(self._owner, params.cursor if params else None)
        except TaskError as error:
            raise refused(error) from error
        page: dict[str, Any] = {"tasks": [r.wire() for r in records if not ctx.exchange.lacks(r.scopes)]}
        if cursor is not None:
            page["nextCursor"] = cursor
        return cast("RequestMethod[Any, Any]", self.spoken.methods[TASKS_LIST]).result.validate(page)

    async def cancel(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/cancel``: the task is cancelled before the answer is sent, and stays so."""
        await self._find(params.task_id, ctx)
        try:
            return self._answer(TASKS_CANCEL, await self._engine.cancel(self._owner, params.task_id))
        except TaskError as error:
            raise refused(error) from error

    async def _check_tool(self, tools: ToolSupport, name: str, task: Any, ctx: Context[Any]) -> None:
        """Refuse a tool as a task if it cannot be one, and as a plain call if it must be ("Tool-Level Negotiation")."""
        support = await tools.of(name, ctx)
        if task is None:
            if support is Support.REQUIRED:
                raise PeerError(METHOD_NOT_FOUND, "this tool can only be called as a task")
        elif support is None:
            raise PeerError(INVALID_PARAMS, "no such tool", {"pointer": "/name"})
        elif support is Support.FORBIDDEN:
            raise PeerError(METHOD_NOT_FOUND, "this tool cannot be called as a task")

    async def _begin(self, method: RequestMethod[Any, Any], own: Handler, ttl: Any, ctx: Context[Any]) -> Any:
        if ttl is not None and (type(ttl) not in (int, float) or ttl < 0):
            raise PeerError(INVALID_PARAMS, "ttl must be a number, and not negative", {"pointer": "/task/ttl"})
        record = await self._engine.create(self._owner, ttl, scopes=ctx.exchange.scopes)
        run = _SessionRun(self._engine, ctx, self._owner, record)
        self._engine.start(run, own, run.exchange.params, lasts=self._lasts)
        self._engine.follow(run, record)
        self._connection.log_limited(logging.INFO, "%s became the task %s", method.name, record.id)
        ctx.exchange.method = method  # the result is one of the revision in use
        return mark(method.alternatives[0].validate({"task": record.wire()}), record.id)

    async def _find(self, task_id: str, ctx: Context[Any]) -> TaskRecord:
        record = await self._engine.find(ctx, self._owner, task_id)
        run = self._engine.running.get(task_id)
        if isinstance(run, _SessionRun):
            run.caller.attach(self._connection)
        return record

    def _answer(self, name: str, record: TaskRecord) -> Any:
        return cast("RequestMethod[Any, Any]", self.spoken.methods[name]).result.validate(record.wire())
