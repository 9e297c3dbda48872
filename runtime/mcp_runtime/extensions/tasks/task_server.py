"""The server of the tasks extension (2026-07-28): answers calls with tasks, and what clients send about them."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from mcp_runtime.core.asking.questions import read_answers
from mcp_runtime.core.connection.calls import Way
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.connection.requester import Handler
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_runtime.core.protocol.names import MISSING_CAPABILITY, TOOLS_CALL
from mcp_runtime.extensions.binding import ExtensionBinding
from mcp_runtime.extensions.tasks.deferred import ID, DeferrableCall, call_of
from mcp_runtime.extensions.tasks.engine import Engine, refused
from mcp_runtime.extensions.tasks.states import Status, TaskRecord
from mcp_runtime.extensions.tasks.store import InvalidTransition, TaskError
from mcp_runtime.extensions.tasks.watching import TaskFilter, spelled, spoken_state, state_of

MIN_AFTER: Final = 0.01


class TaskServer:
    """Answers calls with tasks, and the methods of the extension, on any number of connections.

    Args:
        engine: runs the tasks.
        binding: the extension.
        after: seconds after which a call becomes a task by itself; None if only `defer` makes one.
        check_declared: raises `PeerError` for a request that does not declare the extension.

    Attributes:
        engine: runs the tasks.
        filter: reports states to clients that listen for them.
    """

    def __init__(
        self, engine: Engine, binding: ExtensionBinding, after: float | None, check_declared: Callable[[Any], None]
    ) -> None:
        self.engine, self._binding = engine, binding
        self.filter = TaskFilter(engine, binding, self.find, check_declared)
        engine.observers.append(self.filter.changed)
        self._after = None if after is None else max(after, MIN_AFTER)

    def admit(self, ctx: Context[Any], support: str | None, restarts: bool) -> None:
        """Decide whether a call may become a task; tools without a declaration may not.

        Args:
            ctx: the context of the call.
            support: what the tool was declared with: ``optional``, ``required`` or None.
            restarts: whether another process may run it again if this one ends.

        Raises:
            PeerError: it must, and the client does not know tasks.
        """
        call = call_of(ctx)
        if isinstance(call, DeferrableCall):
            call.may_defer, call.restarts = support is not None, restarts
        elif call is None and support == "required":
            raise undeclared() if ctx.requester.is_modern else PeerError(METHOD_NOT_FOUND, "this tool needs tasks")

    async def call(self, params: Any, ctx: Context[Any], proceed: Handler) -> Any:
        """Answer ``tools/call`` of a client that declared the extension."""
        call = DeferrableCall(self.engine, ctx)
        self.engine.start(call, proceed, params)
        begun = asyncio.ensure_future(call.begun.wait())
        try:
            while not (call.work.done() or begun.done()):
                done, _ = await asyncio.wait(
                    (call.work, begun), timeout=self._after, return_when=asyncio.FIRST_COMPLETED
                )
                if not done and call.may_defer and not call.asking:
                    await call.begin("")
        except BaseException:
            call.work.cancel()
            raise
        finally:
            begun.cancel()
        if call.record is None:
            return await call.work
        self.engine.follow(call, call.record)
        if ctx.requester.wire is not None:
            ctx.exchange.method = ctx.requester.wire.binding.methods[TOOLS_CALL]  # the result is one of that revision
        created = self._binding.results[TOOLS_CALL]["task"]
        return created.validate({"resultType": "task", **spelled(call.record)})

    async def get(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/get`` with the whole state of the task."""
        record = await self.find(params.task_id, ctx)
        try:
            state = await state_of(self.engine.store, ctx.requester.principal or "", record)
        except TaskError as error:
            raise refused(error) from error
        return {"resultType": "complete", **spoken_state(state, ctx.requester)}

    async def update(self, params: dict[str, Any], ctx: Context[Any]) -> Any:
        """Answer ``tasks/update``; answers to questions that are not open are ignored, whatever they contain."""
        given: Any = params.get("inputResponses")
        record = await self.find(params.get("taskId"), ctx)
        if not is_object(given):
            raise PeerError(INVALID_PARAMS, "inputResponses must be an object", {"pointer": "/inputResponses"})
        engine = self.engine
        if strange := len(given.keys() - record.questions.keys()):
            text = "%d answers to no open question of the task %s are ignored"
            ctx.connection.log_limited(logging.INFO, text, strange, record.id)
        if (run := engine.running.get(record.id)) is not None:
            run.exchange.principal = ctx.principal
            run.answer(given)
        elif engine.shared is not None and not record.status.is_terminal:
            # Bad answers are refused here, since the process that runs the task cannot reply to this client.
            methods: Any = ctx.requester.binding.methods if ctx.requester.binding else {}
            asked = {key: methods[request["method"]] for key, request in record.questions.items()}
            found = read_answers({key: (method, method.result) for key, method in asked.items()}, params, ctx.requester)
            try:
                await engine.shared.answer(record.id, {key: given[key] for key in found})
            except TaskError as error:
                raise refused(error) from error
        return {"resultType": "complete"}

    async def cancel(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/cancel``; a task that has ended stays as it is."""
        record = await self.find(params.task_id, ctx)
        try:
            await self.engine.cancel(ctx.requester.principal or "", record.id)
        except InvalidTransition:
            pass
        except TaskError as error:
            raise refused(error) from error
        return {"resultType": "complete"}

    async def find(self, task_id: Any, ctx: Context[Any]) -> TaskRecord:
        """Return a task of the sender of a request, and take it over if its process has ended.

        Raises:
            PeerError: there is no such task.
        """
        return await self.engine.find(ctx, ctx.requester.principal or "", task_id, partial(self._restart, ctx))

    async def _restart(self, ctx: Context[Any], record: TaskRecord, work: Mapping[str, Any]) -> None:
        """Run a task of a process that has ended again."""
        connection = ctx.connection
        method: Any = ctx.requester.binding.methods[TOOLS_CALL] if ctx.requester.binding else None
        params = method.params.build({**work["call"], "_meta": dict(ctx.meta)})
        exchange = Exchange.of(connection, method, params, Way.RECEIVED, ctx.requester)
        exchange.require(record.scopes)
        again: Context[Any] = type(ctx)(type(ctx.peer)(connection), ctx.request_id, exchange)
        call = DeferrableCall(self.engine, again, record, work)
        await self.engine.move(call.owner, record.id, Status.WORKING, message=record.message)
        connection.log_limited(logging.WARNING, "the task %s runs again: its process has ended", record.id)
        self.engine.start(call, connection.features[ID], params)
        self.engine.follow(call, record)


def undeclared() -> PeerError:
    """Return the error for a request that does not declare the extension."""
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {ID: {}}}}
    return PeerError(MISSING_CAPABILITY, f"this needs the extension {ID}, which the request does not declare", needed)
