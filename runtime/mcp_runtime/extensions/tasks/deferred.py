"""Calls that become tasks (2026-07-28): `defer`, and what a call asks once it is one."""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextvars import ContextVar
from copy import copy
from typing import Any, Final, Protocol

from mcp_runtime.connection.calls import CURRENT
from mcp_runtime.connection.checks import refusal
from mcp_runtime.connection.requester import AskInside, Handler
from mcp_runtime.errors import RequestTimeout
from mcp_runtime.extensions.tasks.receiver import refused, spelled
from mcp_runtime.extensions.tasks.states import Failure, Outcome, Status, Success, TaskRecord
from mcp_runtime.extensions.tasks.store import NOTHING, ResultTooLarge, SharedTaskStore, TaskError, TaskStore
from mcp_runtime.features.inputs.questions import Question, read_answers
from mcp_runtime.handlers import Context
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.protocol.names import TOOLS_CALL

ID: Final = "io.modelcontextprotocol/tasks"


class Tasks(Protocol):
    """Runs tasks."""

    store: TaskStore
    running: dict[str, "DeferrableCall"]

    async def move(self, owner: str, task_id: str, status: Status, **more: Any) -> None:
        """Move a task to another state; see `TaskStore.move`."""
        ...


class DeferrableCall:
    """A call that may become a task, and the questions that it asks as one.

    Args:
        tasks: moves the task, and stores it.
        ctx: the context of the call.
        record: the task, if another process ran it before.
        work: what that process recorded.
    """

    def __init__(
        self, tasks: Tasks, ctx: Context[Any], record: TaskRecord | None = None, work: Mapping[str, Any] = NOTHING
    ) -> None:
        self.record = record
        self.open: dict[str, Question] = {}
        self.begun = asyncio.Event()
        self.message = ""
        self.may_defer, self.restarts, self.is_lost = True, bool(work), False
        self.owner = ctx.requester.principal or ""
        self.work: asyncio.Task[Any]
        self._ask_inside: AskInside
        self._tasks, self._store, self._ctx, self.exchange = tasks, tasks.store, ctx, ctx.exchange
        self._asked = self.asking = 0
        self._attempt: int = work.get("attempt", 0) + 1
        self._answers: dict[str, list[Any]] = {}
        self._replayed: dict[str, list[Any]] = {key: [*answers] for key, answers in work.get("answers", {}).items()}
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
                    created = await self._store.create(self.owner, None, peer=self._ctx.requester.peer)
                except TaskError as error:
                    raise refused(error) from error
                if isinstance(self._store, SharedTaskStore):
                    await self._store.renew((created.id,))
                self.record = created
                await self._note()
                self._ctx.exchange.requester.answers.asks_later = True
                self.begun.set()
        await self.say(message)

    async def say(self, message: str) -> None:
        """Describe the state of the task to its client."""
        self.message = message
        if self.record is not None and message:
            status = Status.INPUT_REQUIRED if self.open else Status.WORKING
            await self._move(status)

    def answer(self, answers: Mapping[str, Any]) -> list[str]:
        """Give answers to the open questions, each a JSON value; others are ignored. Return the keys of those given.

        Raises:
            PeerError: an answer is not valid.
        """
        questions = {key: (question.method, question.type) for key, question in self.open.items()}
        found = read_answers(questions, {"inputResponses": answers}, self._ctx.requester)
        for key, answer in found.items():
            if not self.open[key].answered.done():
                self.open[key].answered.set_result(answer)
        return list(found)

    async def run(self, proceed: Handler, params: Any) -> Any:
        """Run the handler; return its result, or store it if the call has become a task."""
        ctx = self._ctx
        CURRENT.set(self.exchange)
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
                self._tasks.running.pop(self.record.id, None)

    async def _end(self, outcome: Outcome) -> None:
        if self.record is None or self.is_lost:
            return
        status = Status.COMPLETED if isinstance(outcome, Success) else Status.FAILED
        message = outcome.message if isinstance(outcome, Failure) else ""
        try:
            await self._tasks.move(self.owner, self.record.id, status, message=message, outcome=outcome)
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
            answers.asks_later = self.record is not None
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
        question = Question(method, type_, params, asyncio.get_running_loop().create_future())
        if self._replayed.get(question.digest):
            answer = self._replayed[question.digest].pop(0)
            found = self._ctx.requester.reader.read(type_, answer, method.name)
        elif self.record is None:
            self.asking += 1
            before = work.requester
            try:
                found = await self._ask_inside(work, method, type_, params, options)
            finally:
                self.asking -= 1
                if work.requester is not before:
                    self._route()
        else:
            found = await self._ask_later(question, options.timeout if options is not None else None)
        if self.restarts:
            self._answers.setdefault(question.digest, []).append(json.loads(type_.encode(found)))
            await self._note()
        return found

    async def _ask_later(self, question: Question, timeout: float | None) -> Any:
        """Ask through the task. No key is used twice, whatever process runs it."""
        self._asked += 1
        name = question.method.name
        number = f"{self._asked}" if self._attempt == 1 else f"{self._attempt}-{self._asked}"
        self.open[key := f"{name.partition('/')[0]}-{number}"] = question
        try:
            await self._move(Status.INPUT_REQUIRED)
            async with asyncio.timeout(timeout):
                return await question.answered
        except TimeoutError:
            raise RequestTimeout(name, timeout or 0) from None
        finally:
            del self.open[key]
            await self._move(Status.INPUT_REQUIRED if self.open else Status.WORKING)

    async def _note(self) -> None:
        """Record what is needed to run the task again: the call, and the answers so far."""
        if self.record is not None and self.restarts and isinstance(self._store, SharedTaskStore):
            params: Any = self.exchange.params
            call: dict[str, Any] = {"name": params.name, "arguments": params.arguments or {}}
            work: dict[str, Any] = {"call": call, "answers": self._answers, "attempt": self._attempt}
            await self._store.record(self.record.id, work)

    async def _move(self, status: Status) -> None:
        assert self.record is not None
        try:
            questions = self.requests() if status is Status.INPUT_REQUIRED else {}
            await self._tasks.move(self.owner, self.record.id, status, message=self.message, questions=questions)
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
    call = call_of(ctx)
    if call is not None:
        if not call.may_defer:
            raise RuntimeError("defer() was called in a tool that was declared without task=: @app.tool(task=...)")
        await call.begin(message)
    return Deferred(call)


def call_of(ctx: Context[Any]) -> DeferrableCall | None:
    """Return the call that a context belongs to, if its client knows tasks."""
    call = CALL.get()
    return call if call is not None and call.exchange is ctx.exchange else None
