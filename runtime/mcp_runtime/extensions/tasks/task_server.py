"""The server of the tasks extension (2026-07-28): answers calls with tasks, and what clients send about them."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import copy_context
from typing import Any, Final

from mcp_runtime.connection.calls import Way
from mcp_runtime.connection.connection import Exchange
from mcp_runtime.connection.link import log
from mcp_runtime.connection.requester import Handler
from mcp_runtime.errors import PeerError
from mcp_runtime.extensions.binding import ExtensionBinding
from mcp_runtime.extensions.tasks.deferred import CALL, ID, DeferrableCall, call_of
from mcp_runtime.extensions.tasks.receiver import refused
from mcp_runtime.extensions.tasks.states import Failure, Status, Success, TaskRecord, timestamp
from mcp_runtime.extensions.tasks.store import InvalidTransition, SharedTaskStore, TaskError, TaskStore
from mcp_runtime.extensions.tasks.watching import TaskFilter
from mcp_runtime.features.inputs.questions import read_answers
from mcp_runtime.handlers import Context
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, is_object
from mcp_runtime.protocol.modern import MISSING_CAPABILITY
from mcp_runtime.protocol.names import TOOLS_CALL

MIN_AFTER: Final = 0.01
MAX_ID: Final = 256
"""The maximum length of a task id that is looked up."""


class TaskServer:
    """Answers calls with tasks, and the methods of the extension, on any number of connections.

    Args:
        store: stores the tasks.
        binding: the extension.
        after: seconds after which a call becomes a task by itself; None if only `defer` makes one.
        check_declared: raises `PeerError` for a request that does not declare the extension.

    Attributes:
        store: stores the tasks.
        running: the tasks that this process runs, by id.
        filter: reports states to clients that listen for them.
    """

    def __init__(
        self, store: TaskStore, binding: ExtensionBinding, after: float | None, check_declared: Callable[[Any], None]
    ) -> None:
        self.store, self._binding = store, binding
        self.filter = TaskFilter(self, binding)
        self.check_declared = check_declared
        self._after = None if after is None else max(after, MIN_AFTER)
        self.running: dict[str, DeferrableCall] = {}
        self._shared = store if isinstance(store, SharedTaskStore) else None
        self._renewing: asyncio.Task[None] | None = None

    def admit(self, ctx: Context[Any], support: str | None, restarts: bool) -> None:
        """Decide whether a call may become a task; tools without a declaration may not.

        Args:
            ctx: the context of the call.
            support: what the tool was declared with: ``optional``, ``required`` or None.
            restarts: whether another process may run it again if this one ends.

        Raises:
            PeerError: it must, and the client does not know tasks.
        """
        if (call := call_of(ctx)) is not None:
            call.may_defer, call.restarts = support is not None, restarts
        elif support == "required":
            raise undeclared() if ctx.requester.is_modern else PeerError(METHOD_NOT_FOUND, "this tool needs tasks")

    async def call(self, params: Any, ctx: Context[Any], proceed: Handler) -> Any:
        """Answer ``tools/call`` of a client that declared the extension."""
        call = DeferrableCall(self, ctx)
        self._start(call, proceed, params)
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
        self._follow(call, call.record)
        created = self._binding.results[TOOLS_CALL]["task"]
        return created.validate({"resultType": "task", **_wire(call.record)})

    async def get(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/get`` with the whole state of the task."""
        record = await self.find(params.task_id, ctx)
        return {"resultType": "complete", **await self.state(ctx.requester.principal or "", record)}

    async def state(self, owner: str, record: TaskRecord) -> dict[str, Any]:
        """Return the whole state of a task, keyed by wire names."""
        state = _wire(record)
        if record.status in (Status.COMPLETED, Status.FAILED):
            outcome = await self.store.wait(owner, record.id)
            if isinstance(outcome, Success):
                state["result"] = outcome.result
            else:
                data = {} if outcome.data is None else {"data": outcome.data}
                state["error"] = {"code": outcome.code, "message": outcome.message, **data}
        return state

    async def update(self, params: dict[str, Any], ctx: Context[Any]) -> Any:
        """Answer ``tasks/update``; answers to questions that are not open are ignored, whatever they contain."""
        task_id: Any = params.get("taskId")
        given: Any = params.get("inputResponses")
        record = await self.find(task_id, ctx)
        if not is_object(given):
            raise PeerError(INVALID_PARAMS, "inputResponses must be an object", {"pointer": "/inputResponses"})
        if (call := self.running.get(task_id)) is not None:
            call.answer(given)
        elif self._shared is not None and not record.status.is_terminal:
            # Bad answers are refused here, since the process that runs the task cannot reply to this client.
            methods: Any = ctx.requester.binding.methods if ctx.requester.binding else {}
            asked = {key: methods[request["method"]] for key, request in record.questions.items()}
            found = read_answers({key: (method, method.result) for key, method in asked.items()}, params, ctx.requester)
            await self._shared.answer(task_id, {key: given[key] for key in found})
        return {"resultType": "complete"}

    async def cancel(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/cancel``; a task that has ended stays as it is."""
        owner, task_id = ctx.requester.principal or "", params.task_id
        await self.find(task_id, ctx)
        ended = Failure(code=INTERNAL_ERROR, message="the task was cancelled")
        try:
            await self.move(owner, task_id, Status.CANCELLED, message="cancelled as requested", outcome=ended)
        except InvalidTransition:
            return {"resultType": "complete"}
        except TaskError as error:
            raise refused(error) from error
        if (call := self.running.get(task_id)) is not None:
            call.work.cancel("cancelled as requested")
        return {"resultType": "complete"}

    async def move(self, owner: str, task_id: str, status: Status, **more: Any) -> None:
        """Move a task to another state; see `TaskStore.move`."""
        await self.filter.changed(owner, await self.store.move(owner, task_id, status, **more))

    async def find(self, task_id: Any, ctx: Context[Any]) -> TaskRecord:
        """Return a task of the sender of a request, and take it over if its process has ended.

        Raises:
            PeerError: there is no such task.
        """
        if not isinstance(task_id, str) or len(task_id) > MAX_ID:
            raise PeerError(INVALID_PARAMS, f"taskId must be a string of at most {MAX_ID} characters")
        owner = ctx.requester.principal or ""
        try:
            record = await self.store.get(owner, task_id)
            if not record.is_lapsed or self._shared is None:
                return record
            if (work := await self._shared.take(task_id)) is not None:
                await self._take_over(owner, record, work, ctx)
            return await self.store.get(owner, task_id)
        except TaskError as error:
            raise refused(error) from error

    async def _take_over(self, owner: str, record: TaskRecord, work: Mapping[str, Any], ctx: Context[Any]) -> None:
        """Run a task of a process that has ended again, if its tool allows that; otherwise it has failed."""
        if not work:
            text = "the process that ran the task has ended"
            ended = Failure(code=INTERNAL_ERROR, message=text)
            await self.move(owner, record.id, Status.FAILED, message=text, outcome=ended)
            return
        connection = ctx.connection
        method: Any = ctx.requester.binding.methods[TOOLS_CALL] if ctx.requester.binding else None
        params = method.params.build({**work["call"], "_meta": dict(ctx.meta)})
        exchange = Exchange.of(connection, method, params, Way.RECEIVED, ctx.requester)
        again: Context[Any] = type(ctx)(type(ctx.peer)(connection), ctx.request_id, exchange)
        await self.move(owner, record.id, Status.WORKING, message=record.message)
        call = DeferrableCall(self, again, record, work)
        connection.log_limited(logging.WARNING, "the task %s runs again: its process has ended", record.id)
        self._start(call, connection.features[ID], params)
        self._follow(call, record)

    def _start(self, call: DeferrableCall, proceed: Handler, params: Any) -> None:
        async def run() -> Any:
            CALL.set(call)
            return await call.run(proceed, params)

        call.work = call.exchange.connection.spawn(run())

    def _follow(self, call: DeferrableCall, record: TaskRecord) -> None:
        """Note that this process runs a task, until it has ended."""
        if call.work.done():
            return
        self.running[record.id] = call
        if self._shared is not None and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.create_task(self._renew(self._shared), context=copy_context())

    async def _renew(self, store: SharedTaskStore) -> None:
        while self.running:
            await asyncio.sleep(store.interval)
            try:
                for task_id, answers in (await store.renew(tuple(self.running))).items():
                    if (call := self.running.get(task_id)) is None:
                        continue
                    if answers is None:
                        call.is_lost = True
                        call.work.cancel("the task has ended elsewhere")
                    else:
                        call.answer(answers)
            except Exception:
                log.exception("the leases of tasks were not renewed")


def _wire(record: TaskRecord) -> dict[str, Any]:
    """Return a task keyed by wire names, with its open questions."""
    state: dict[str, Any] = {
        "taskId": record.id,
        "status": record.status.value,
        "createdAt": timestamp(record.created_at),
        "lastUpdatedAt": timestamp(record.updated_at),
        "ttlMs": record.ttl,
        "pollIntervalMs": record.poll_interval,
    }
    state["statusMessage"] = record.message or None
    if record.status is Status.INPUT_REQUIRED:
        state["inputRequests"] = dict(record.questions)
    return {name: value for name, value in state.items() if value is not None or name == "ttlMs"}


def undeclared() -> PeerError:
    """Return the error for a request that does not declare the extension."""
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {ID: {}}}}
    return PeerError(MISSING_CAPABILITY, f"this needs the extension {ID}, which the request does not declare", needed)
