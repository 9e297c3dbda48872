"""The side that runs tasks: requests that are answered at once and processed afterwards.

The sections named are those of 2025-11-25, basic/utilities/tasks.
"""

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any, Final, cast

from mcp_runtime import sources
from mcp_runtime.connection.calls import CURRENT
from mcp_runtime.connection.checks import refusal
from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.requester import Handler
from mcp_runtime.connection.results import write_result
from mcp_runtime.errors import McpError, PeerError
from mcp_runtime.extensions.tasks.related import TaskCaller, TaskExchange, with_meta
from mcp_runtime.extensions.tasks.states import Failure, Outcome, Status, Success, TaskRecord
from mcp_runtime.extensions.tasks.store import ResultTooLarge, TaskError, TaskStore, TooManyTasks
from mcp_runtime.extensions.tasks.tools import Support, ToolSupport
from mcp_runtime.features.utilities import mark, related_meta
from mcp_runtime.handlers import Context
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_runtime.protocol.names import (
    NOTIFICATIONS_TASKS_STATUS,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_LIST,
    TASKS_RESULT,
    TOOLS_CALL,
)

OWNER: Final = "tasks.owner"
"""The connection feature that names the owner of its tasks; by default the principal, or else the connection."""

_CANCELLED: Final = Failure(code=INTERNAL_ERROR, message="the task was cancelled")


ANSWERED: Final = (TASKS_GET, TASKS_RESULT, TASKS_LIST, TASKS_CANCEL)


def paths_of(connection: Connection) -> Sequence[str]:
    """Return the paths of the requests that can be tasks, and of the supported task methods.

    Args:
        connection: the connection, with its revision and handlers.
    """
    binding, augmentable = connection.binding, _augmentable(connection)
    if binding is None or not augmentable:
        return ()
    paths = [*(binding.methods[name].capability for name in ANSWERED), *(m.gated["task"] for m in augmentable)]
    return [path.partition(".")[2] for path in paths]


def receive(connection: Connection, store: TaskStore) -> None:
    """Answer task requests, and let other requests become tasks if the peer asks for it.

    Every request for which the revision allows it and this side has a handler can be a task.

    Args:
        connection: the connection, once its peer has declared its capabilities.
        store: stores the tasks.
    """
    augmentable = _augmentable(connection)
    if not augmentable:
        return
    receiver = _Receiver(connection, store)
    for name, handler in zip(ANSWERED, (receiver.get, receiver.result, receiver.list, receiver.cancel), strict=True):
        connection.handle(receiver.binding.methods[name], handler)
    for method in augmentable:
        receiver.augment(method)


def _augmentable(connection: Connection) -> Sequence[RequestMethod[Any, Any]]:
    """Return the requests that can be tasks and have a handler."""
    if connection.binding is None or not connection.requester.has(TASKS_GET):
        return ()
    return [
        method
        for method in connection.binding.methods.values()
        if isinstance(method, RequestMethod) and method.task_augmentable and connection.handler(method.name)
    ]


class _Receiver:
    """Runs the tasks of one connection."""

    def __init__(self, connection: Connection, store: TaskStore) -> None:
        assert connection.binding is not None
        self._connection = connection
        self.binding = connection.binding
        self._store = store
        self._running: dict[str, tuple[asyncio.Task[None], TaskExchange]] = {}
        owner: str | None = connection.features.get(OWNER) or connection.requester.principal
        self._owner = owner or sources.token_hex(16)
        if owner is None:
            connection.on_close(lambda _: store.forget(self._owner))

    def augment(self, method: RequestMethod[Any, Any]) -> None:
        """Let a request become a task if its sender wants that."""
        own = self._connection.handler(method.name)
        assert own is not None
        tools = ToolSupport(self._connection) if method.name == TOOLS_CALL else None

        async def handler(params: Any, ctx: Context[Any]) -> Any:
            if tools is not None:
                await self._check_tool(tools, params, ctx)
            if params.task is None:
                return await own(params, ctx)
            return await self._begin(method, own, params, ctx)

        self._connection.handle(method, handler)

    async def get(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/get``."""
        return self._answer(TASKS_GET, await self._find(params.task_id))

    async def result(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/result`` once the task has ended, with exactly the result or error of its request."""
        try:
            outcome = await self._store.wait(self._owner, params.task_id)
        except TaskError as error:
            raise refused(error) from error
        if isinstance(outcome, Failure):
            raise PeerError(outcome.code, outcome.message, outcome.data)
        method = cast("RequestMethod[Any, Any]", self.binding.methods[TASKS_RESULT])
        return method.result.validate(with_meta(outcome.result, related_meta(params.task_id)))

    async def list(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/list``."""
        try:
            records, cursor = await self._store.page(self._owner, params.cursor if params else None)
        except TaskError as error:
            raise refused(error) from error
        page: dict[str, Any] = {"tasks": [record.wire() for record in records]}
        if cursor is not None:
            page["nextCursor"] = cursor
        return cast("RequestMethod[Any, Any]", self.binding.methods[TASKS_LIST]).result.validate(page)

    async def cancel(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/cancel``: the task is cancelled before the answer is sent, and stays so."""
        message = "cancelled as requested"
        try:
            record = await self._store.move(
                self._owner, params.task_id, Status.CANCELLED, message=message, outcome=_CANCELLED
            )
        except TaskError as error:
            raise refused(error) from error
        running = self._running.get(params.task_id)
        if running is not None:
            task, exchange = running
            exchange.stop()
            exchange.is_cancelled = True
            exchange.cancel_reason = message
            task.cancel(message)
        await self._tell(record)
        return self._answer(TASKS_CANCEL, record)

    async def _check_tool(self, tools: ToolSupport, params: Any, ctx: Context[Any]) -> None:
        """Refuse a tool as a task if it cannot be one, and as a plain call if it must be ("Tool-Level Negotiation")."""
        support = await tools.of(params.name, ctx)
        if params.task is None:
            if support is Support.REQUIRED:
                raise PeerError(METHOD_NOT_FOUND, "this tool can only be called as a task")
        elif support is None:
            raise PeerError(INVALID_PARAMS, "no such tool", {"pointer": "/name"})
        elif support is Support.FORBIDDEN:
            raise PeerError(METHOD_NOT_FOUND, "this tool cannot be called as a task")

    async def _begin(self, method: RequestMethod[Any, Any], own: Handler, params: Any, ctx: Context[Any]) -> Any:
        ttl = params.task.ttl
        if ttl is not None and ttl < 0:
            raise PeerError(INVALID_PARAMS, "ttl must not be negative", {"pointer": "/task/ttl"})
        try:
            record = await self._store.create(self._owner, ttl)
        except TaskError as error:
            raise refused(error) from error
        exchange = TaskExchange(ctx.exchange, record.id)
        context = self._context(ctx, exchange, record.id)
        task = self._connection.spawn(self._run(record, method, own, context))
        self._running[record.id] = (task, exchange)
        task.add_done_callback(lambda _: self._ended(record.id))
        self._connection.log_limited(logging.INFO, "%s became the task %s", method.name, record.id)
        return mark(method.alternatives[0].validate({"task": record.wire()}), record.id)

    def _ended(self, task_id: str) -> None:
        _, exchange = self._running.pop(task_id)
        if exchange.held is not None:
            exchange.held.release()

    def _context(self, ctx: Context[Any], exchange: TaskExchange, task_id: str) -> Context[Any]:
        """Build a context whose messages to the peer belong to the task."""
        asking = 0

        async def around(begins: bool) -> None:
            nonlocal asking
            asking += 1 if begins else -1
            if asking == int(begins):
                await self._move(task_id, Status.INPUT_REQUIRED if begins else Status.WORKING)

        peer = type(ctx.peer)(TaskCaller(ctx.peer.__caller__, self._connection, task_id, around))
        return type(ctx)(peer, ctx.request_id, exchange)

    async def _run(self, record: TaskRecord, method: RequestMethod[Any, Any], own: Handler, ctx: Context[Any]) -> None:
        exchange = cast(TaskExchange, ctx.exchange)
        CURRENT.set(exchange)
        try:
            ended = await self._work(record, method, own, ctx)
            if ended is not None:
                status, message, outcome = ended
                await exchange.finish()
                await self._move(record.id, status, message=message, outcome=outcome)
        finally:
            exchange.stop()

    async def _work(
        self, record: TaskRecord, method: RequestMethod[Any, Any], own: Handler, ctx: Context[Any]
    ) -> tuple[Status, str, Outcome] | None:
        """Return how a task ended, with a description; None if the outcome is no longer wanted."""
        life = asyncio.timeout(None if record.ttl is None else record.ttl / 1000)
        try:
            async with life:
                result = spelled(method, await own(ctx.exchange.params, ctx))
        except asyncio.CancelledError:
            if ctx.is_cancelled:
                return None
            closed = self._connection.closed_because is not None
            if not closed:
                text = "the handler of %s was cancelled from within"
                self._connection.log_limited(logging.ERROR, text, method.name)
            message = "the connection over which the task was created has ended" if closed else "internal error"
            return Status.FAILED, message, Failure(code=INTERNAL_ERROR, message=message)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if life.expired():
                self._connection.log_limited(logging.INFO, "the task %s expired before it had ended", record.id)
                return None
            refused = refusal(error, method.name, ctx.exchange.requester, self._connection.log_limited)
            failure = Failure(code=refused.code, message=refused.message, data=refused.data)
            return Status.FAILED, failure.message, failure
        # A tool that reports an error has failed, although it has a result ("Task Execution Errors").
        if result.get("isError") is True:
            return Status.FAILED, "the tool reported an error", Success(result=result)
        return Status.COMPLETED, "", Success(result=result)

    async def _move(self, task_id: str, status: Status, *, message: str = "", outcome: Outcome | None = None) -> None:
        """Move a task to another state, unless it was cancelled or has expired in the meantime."""
        try:
            record = await self._store.move(self._owner, task_id, status, message=message, outcome=outcome)
        except ResultTooLarge as error:
            self._connection.log_limited(logging.WARNING, "the result of the task %s was dropped: %s", task_id, error)
            lost = Failure(code=INTERNAL_ERROR, message=str(error))
            await self._move(task_id, Status.FAILED, message=str(error), outcome=lost)
            return
        except TaskError as error:
            text = "the task %s did not become %s: %s"
            self._connection.log_limited(logging.DEBUG, text, task_id, status.value, error)
            return
        if status.is_terminal:
            self._connection.log_limited(logging.INFO, "the task %s has ended: %s", task_id, status.value)
        await self._tell(record)

    async def _tell(self, record: TaskRecord) -> None:
        """Notify the peer of a new state. This is optional: a peer that needs certainty has to poll."""
        method = self.binding.methods[NOTIFICATIONS_TASKS_STATUS]
        assert isinstance(method, NotificationMethod) and method.params is not None
        try:
            await self._connection.notify(method, method.params.validate(record.wire()))
        except McpError as error:
            self._connection.log_limited(
                logging.DEBUG, "the peer was not notified of the task %s: %s", record.id, error
            )

    async def _find(self, task_id: str) -> TaskRecord:
        try:
            return await self._store.get(self._owner, task_id)
        except TaskError as error:
            raise refused(error) from error

    def _answer(self, name: str, record: TaskRecord) -> Any:
        return cast("RequestMethod[Any, Any]", self.binding.methods[name]).result.validate(record.wire())


def spelled(method: RequestMethod[Any, Any], result: Any) -> dict[str, Any]:
    """Return a handler's result as it would have been sent.

    Raises:
        WrongResult: it does not match any result type of the method.
    """
    made: dict[str, Any] = json.loads(write_result(method, result))
    return made


def refused(error: TaskError) -> PeerError:
    """Return the error response for an error of the store ("Protocol Errors")."""
    return PeerError(INTERNAL_ERROR if isinstance(error, TooManyTasks) else INVALID_PARAMS, str(error))
