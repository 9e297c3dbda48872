"""The server of the tasks extension (2026-07-28): calls that a handler defers are answered by a task."""

import asyncio
import json
import logging
from contextvars import ContextVar
from copy import copy
from typing import Any, Final

from mcp_runtime.connection.checks import refusal
from mcp_runtime.connection.requester import AskInside, Handler
from mcp_runtime.errors import PeerError, RequestTimeout
from mcp_runtime.extensions.binding import ExtensionBinding
from mcp_runtime.extensions.tasks.receiver import refused, spelled
from mcp_runtime.extensions.tasks.states import Failure, Outcome, Status, Success, TaskRecord, timestamp
from mcp_runtime.extensions.tasks.store import InvalidTransition, ResultTooLarge, TaskError, TaskStore
from mcp_runtime.features.inputs.questions import Question, read_answers
from mcp_runtime.handlers import Context
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcp_runtime.protocol.modern import MISSING_CAPABILITY
from mcp_runtime.protocol.names import TOOLS_CALL

ID: Final = "io.modelcontextprotocol/tasks"
TASKS_UPDATE: Final = "tasks/update"
MIN_AFTER: Final = 0.01
MAX_ID: Final = 256
"""The maximum length of a task id that is looked up."""


class DeferrableCall:
    """A call that may become a task, and the questions that it asks as one.

    Args:
        store: stores the task.
        ctx: the context of the call.
    """

    def __init__(self, store: TaskStore, ctx: Context[Any]) -> None:
        self.record: TaskRecord | None = None
        self.open: dict[str, Question] = {}
        self.begun = asyncio.Event()
        self.message = ""
        self.may_defer = True
        self.owner = ctx.requester.principal or ""
        self.work: asyncio.Task[Any]
        self._ask_inside: AskInside
        self._store, self._ctx, self.exchange = store, ctx, ctx.exchange
        self._asked = self.asking = 0
        self._is_over = False
        self._creating = asyncio.Lock()
        self._route()

    def requests(self) -> dict[str, Any]:
        """Return the open questions as JSON values, by their keys."""
        return {key: json.loads(question.request) for key, question in self.open.items()}

    async def begin(self, message: str) -> None:
        """Make a task of the call, unless it is one already."""
        async with self._creating:
            if self.record is None and not self._is_over:
                if self.asking:
                    raise RuntimeError("defer() was called while a question to the client is open; await that first")
                try:
                    self.record = await self._store.create(self.owner, None)
                except TaskError as error:
                    raise refused(error) from error
                self._ctx.exchange.requester.answers.asks_later = True
                self.begun.set()
        await self.say(message)

    async def say(self, message: str) -> None:
        """Describe the state of the task to its client."""
        self.message = message
        if self.record is not None and message:
            status = Status.INPUT_REQUIRED if self.open else Status.WORKING
            await self._move(status)

    async def run(self, proceed: Handler, params: Any, running: dict[str, "DeferrableCall"]) -> Any:
        """Run the handler; return its result, or store it if the call has become a task."""
        ctx = self._ctx
        try:
            result = await proceed(params, ctx)
            async with self._creating:
                self._is_over = True
            if self.record is None:
                return result
            method: Any = ctx.exchange.method
            await self._end(Success(result=spelled(method, result)))
        except asyncio.CancelledError:
            # A task that its client cancelled has ended already.
            await self._end(Failure(code=INTERNAL_ERROR, message="the server stopped the task"))
            raise
        except Exception as error:
            if self.record is None:
                raise
            peer = refusal(error, TOOLS_CALL, ctx.requester, ctx.connection.log_limited)
            await self._end(Failure(code=peer.code, message=peer.message, data=peer.data))
        finally:
            if self.record is not None:
                running.pop(self.record.id, None)

    async def _end(self, outcome: Outcome) -> None:
        if self.record is None:
            return
        status = Status.COMPLETED if isinstance(outcome, Success) else Status.FAILED
        message = outcome.message if isinstance(outcome, Failure) else ""
        try:
            await self._store.move(self.owner, self.record.id, status, message=message, outcome=outcome)
        except ResultTooLarge as error:
            await self._end(Failure(code=INTERNAL_ERROR, message=str(error)))
        except TaskError as error:
            text = "the outcome of the task %s was dropped: %s"
            self._ctx.connection.log_limited(logging.DEBUG, text, self.record.id, error)

    def _route(self) -> None:
        """Let the questions of the handler come here; a call that is sent again with answers has another requester."""
        exchange = self._ctx.exchange
        answers = copy(exchange.requester.answers)
        if answers.ask_inside is not None:
            self._ask_inside, answers.ask_inside = answers.ask_inside, self._ask
            exchange.requester = exchange.requester._replace(answers=answers)

    async def _ask(
        self,
        work: Any,
        method: RequestMethod[Any, Any],
        type_: WireType[Any],
        params: bytes | None,
        options: CallOptions | None,
    ) -> Any:
        """Ask in the result of the call, or, once there is a task, in that of ``tasks/get``."""
        if self.record is None:
            self.asking += 1
            before = work.requester
            try:
                return await self._ask_inside(work, method, type_, params, options)
            finally:
                self.asking -= 1
                if work.requester is not before:
                    self._route()
        self._asked += 1
        question = Question(method, type_, params, asyncio.get_running_loop().create_future())
        self.open[key := f"{method.name.partition('/')[0]}-{self._asked}"] = question
        timeout = options.timeout if options is not None else None
        try:
            if len(self.open) == 1:
                await self._store.move(self.owner, self.record.id, Status.INPUT_REQUIRED, message=self.message)
            async with asyncio.timeout(timeout):
                return await question.answered
        except TimeoutError:
            raise RequestTimeout(method.name, timeout or 0) from None
        finally:
            del self.open[key]
            if not self.open:
                await self._move(Status.WORKING)

    async def _move(self, status: Status) -> None:
        assert self.record is not None
        try:
            await self._store.move(self.owner, self.record.id, status, message=self.message)
        except TaskError as error:  # it was cancelled, or has expired
            self._ctx.connection.log_limited(logging.DEBUG, "the task %s did not go on: %s", self.record.id, error)


CALL: Final[ContextVar[DeferrableCall | None]] = ContextVar("mcp_deferrable_call", default=None)
"""The call being handled, if it may become a task."""


class Deferred:
    """A call after `defer`.

    Args:
        call: the call; None if its client does not know tasks and waits for the result.
    """

    def __init__(self, call: DeferrableCall | None) -> None:
        self._call = call

    @property
    def id(self) -> str | None:
        """The id of the task, or None."""
        return self._call.record.id if self._call is not None and self._call.record is not None else None

    async def say(self, message: str) -> None:
        """Describe the state of the task to its client (``statusMessage``); has no effect without a task.

        Args:
            message: the description.
        """
        if self._call is not None:
            await self._call.say(message)


async def defer(ctx: Context[Any], message: str = "") -> Deferred:
    """Answer the call with a task if its client knows tasks, and go on; otherwise the client waits for the result.

    What is asked from here on reaches the client through the task.

    Args:
        ctx: the context of a tool.
        message: describes the state of the task to the client.

    Raises:
        PeerError: there are too many tasks.
        RuntimeError: the server has no ``Tasks(store)`` among its extensions, the tool was declared without ``task=``,
            or a question is still open.
    """
    if ID not in ctx.connection.features:
        raise RuntimeError("defer() needs a store of tasks: App(extensions=[Tasks(MemoryTaskStore())])")
    call = _call_of(ctx)
    if call is not None:
        if not call.may_defer:
            raise RuntimeError("defer() was called in a tool that was declared without task=: @app.tool(task=...)")
        await call.begin(message)
    return Deferred(call)


def _call_of(ctx: Context[Any]) -> DeferrableCall | None:
    """Return the call that a context belongs to, if its client knows tasks."""
    call = CALL.get()
    return call if call is not None and call.exchange is ctx.exchange else None


def undeclared() -> PeerError:
    """Return the error for a request that does not declare the extension."""
    needed: dict[str, Any] = {"requiredCapabilities": {"extensions": {ID: {}}}}
    return PeerError(MISSING_CAPABILITY, f"this needs the extension {ID}, which the request does not declare", needed)


class TaskServer:
    """Answers calls with tasks, and the methods of the extension, on any number of connections.

    Args:
        store: stores the tasks.
        binding: the extension.
        after: seconds after which a call becomes a task by itself; None if only `defer` makes one.
    """

    def __init__(self, store: TaskStore, binding: ExtensionBinding, after: float | None) -> None:
        self._store, self._binding = store, binding
        self._after = None if after is None else max(after, MIN_AFTER)
        self._running: dict[str, DeferrableCall] = {}

    def admit(self, ctx: Context[Any], support: str | None) -> None:
        """Decide whether a call may become a task; tools without a declaration may not.

        Args:
            ctx: the context of the call.
            support: what the tool was declared with: ``optional``, ``required`` or None.

        Raises:
            PeerError: it must, and the client does not know tasks.
        """
        if (call := _call_of(ctx)) is not None:
            call.may_defer = support is not None
        elif support == "required":
            raise undeclared() if ctx.requester.is_modern else PeerError(METHOD_NOT_FOUND, "this tool needs tasks")

    async def call(self, params: Any, ctx: Context[Any], proceed: Handler) -> Any:
        """Answer ``tools/call`` of a client that declared the extension."""
        call = DeferrableCall(self._store, ctx)
        CALL.set(call)
        call.work = ctx.connection.spawn(call.run(proceed, params, self._running))
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
        if not call.work.done():
            self._running[call.record.id] = call
        created = self._binding.results[TOOLS_CALL]["task"]
        return created.validate({"resultType": "task", **_wire(call.record, call)})

    async def get(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/get`` with the whole state of the task."""
        owner, task_id = ctx.requester.principal or "", params.task_id
        record, call = await self._find(owner, task_id), self._running.get(task_id)
        state = _wire(record, call)
        if record.status in (Status.COMPLETED, Status.FAILED):
            outcome = await self._store.wait(owner, task_id)
            if isinstance(outcome, Success):
                state["result"] = outcome.result
            else:
                data = {} if outcome.data is None else {"data": outcome.data}
                state["error"] = {"code": outcome.code, "message": outcome.message, **data}
        return {"resultType": "complete", **state}

    async def update(self, params: dict[str, Any], ctx: Context[Any]) -> Any:
        """Answer ``tasks/update``; answers to questions that are not open are ignored, whatever they contain."""
        task_id: Any = params.get("taskId")
        await self._find(ctx.requester.principal or "", task_id)
        call = self._running.get(task_id)
        if call is not None:
            questions = {key: (question.method, question.type) for key, question in call.open.items()}
            for key, answer in read_answers(questions, params, ctx.requester).items():
                if not call.open[key].answered.done():
                    call.open[key].answered.set_result(answer)
        return {"resultType": "complete"}

    async def cancel(self, params: Any, ctx: Context[Any]) -> Any:
        """Answer ``tasks/cancel``; a task that has ended stays as it is."""
        owner, task_id = ctx.requester.principal or "", params.task_id
        await self._find(owner, task_id)
        ended = Failure(code=INTERNAL_ERROR, message="the task was cancelled")
        try:
            await self._store.move(owner, task_id, Status.CANCELLED, message="cancelled as requested", outcome=ended)
        except InvalidTransition:
            return {"resultType": "complete"}
        except TaskError as error:
            raise refused(error) from error
        if (call := self._running.get(task_id)) is not None:
            call.work.cancel("cancelled as requested")
        return {"resultType": "complete"}

    async def _find(self, owner: str, task_id: Any) -> TaskRecord:
        if not isinstance(task_id, str) or len(task_id) > MAX_ID:
            raise PeerError(INVALID_PARAMS, f"taskId must be a string of at most {MAX_ID} characters")
        try:
            return await self._store.get(owner, task_id)
        except TaskError as error:
            raise refused(error) from error


def _wire(record: TaskRecord, call: DeferrableCall | None) -> dict[str, Any]:
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
        state["inputRequests"] = call.requests() if call is not None else {}
    return {name: value for name, value in state.items() if value is not None or name == "ttlMs"}
