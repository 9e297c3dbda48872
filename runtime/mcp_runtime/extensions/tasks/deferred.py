"""Calls that become tasks (2026-07-28): `defer`, and what a call asks once it is one."""

import asyncio
import json
from collections.abc import Mapping
from copy import copy
from typing import Any, Final

from mcp_runtime.core.asking.questions import Question, read_answers
from mcp_runtime.core.connection.requester import Effect, ResultQuestions
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import RequestMethod, WireType
from mcp_runtime.core.options import CallOptions
from mcp_runtime.extensions.tasks.engine import RUN, Engine, Run
from mcp_runtime.extensions.tasks.states import Status, TaskRecord
from mcp_runtime.extensions.tasks.store import NOTHING

ID: Final = "io.modelcontextprotocol/tasks"


class DeferrableCall(Run, ResultQuestions):
    """A call that may become a task, and the questions that it asks as one.

    Args:
        engine: stores the task.
        ctx: the context of the call.
        record: the task, if another process ran it before.
        work: what that process recorded.
    """

    are_possible = True

    def __init__(
        self, engine: Engine, ctx: Context[Any], record: TaskRecord | None = None, work: Mapping[str, Any] = NOTHING
    ) -> None:
        super().__init__(engine, ctx, ctx.requester.principal or "", record)
        self.open: dict[str, Question] = {}
        self.begun = asyncio.Event()
        self.restarts = bool(work)
        self._first: ResultQuestions
        self._asked = self.asking = 0
        self._attempt: int = work.get("attempt", 0) + 1
        self._answers: dict[str, list[Any]] = {}
        self._replayed: dict[str, list[Any]] = {key: [*answers] for key, answers in work.get("answers", {}).items()}
        self._is_over = False
        self._creating = asyncio.Lock()
        self._route()

    @property
    def outlive_requests(self) -> bool:
        """Whether its handler can also ask once the call was answered: with a task."""
        return self.record is not None

    async def recorded(self, call: Any, name: str, effect: Effect) -> Any:
        """Do a piece of work, or return its recorded result; see `ResultQuestions`."""
        return await self._first.recorded(call, name, effect)

    def requests(self) -> dict[str, Any]:
        """Return the open questions as JSON values, by their keys."""
        return {key: json.loads(question.request) for key, question in self.open.items()}

    async def begin(self, message: str) -> None:
        """Make a task of the call, unless it is one already."""
        async with self._creating:
            if self.record is None and not self._is_over:
                if self.asking:
                    raise RuntimeError("defer() was called while a question to the client is open; await that first")
                exchange = self.exchange
                self.record = await self.engine.create(self.owner, peer=exchange.requester.peer, scopes=exchange.scopes)
                self.limit(self.record)
                await self._note()
                self.begun.set()
        await self.say(message)

    async def restate(self) -> None:
        """Store the present state with its description; see `Run.restate`."""
        if self.record is not None:
            await self._move(Status.INPUT_REQUIRED if self.open else Status.WORKING)

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Give answers to the open questions; see `Run.answer`."""
        questions = {key: (question.method, question.type) for key, question in self.open.items()}
        for key, answer in read_answers(questions, {"inputResponses": answers}, self.ctx.requester).items():
            if not self.open[key].answered.done():
                self.open[key].answered.set_result(answer)

    async def settled(self) -> None:
        """Do not become a task any more."""
        async with self._creating:
            self._is_over = True

    def _route(self) -> None:
        """Let the questions of the handler come here; a call that is sent again with answers has another requester."""
        exchange = self.ctx.exchange
        answers = copy(exchange.requester.answers)
        if answers.questions.are_possible:
            self._first, answers.questions = answers.questions, self
            exchange.requester = exchange.requester._replace(answers=answers)

    async def ask(
        self,
        call: Any,
        method: RequestMethod[Any, Any],
        type_: WireType[Any],
        params: bytes | None,
        options: CallOptions | None,
    ) -> Any:
        """Ask in the result of the call, or, once there is a task, in that of ``tasks/get``."""
        question = Question(method, type_, params, asyncio.get_running_loop().create_future())
        if self._replayed.get(question.digest):
            answer = self._replayed[question.digest].pop(0)
            found = self.ctx.requester.reader.read(type_, answer, method.name)
        elif self.record is None:
            self.asking += 1
            before = call.requester
            try:
                found = await self._first.ask(call, method, type_, params, options)
            finally:
                self.asking -= 1
                if call.requester is not before:
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
        if (shared := self.engine.shared) is not None and self.record is not None and self.restarts:
            params: Any = self.exchange.params
            call: dict[str, Any] = {"name": params.name, "arguments": params.arguments or {}}
            work: dict[str, Any] = {"call": call, "answers": self._answers, "attempt": self._attempt}
            await self.insist(lambda task_id: shared.record(task_id, work))

    async def _move(self, status: Status) -> None:
        questions = self.requests() if status is Status.INPUT_REQUIRED else {}
        await self.move(status, message=self.message, questions=questions)


class Deferred:
    """A call after `defer`.

    Args:
        call: the call; None if its client does not know tasks and waits for the result.
    """

    def __init__(self, call: Run | None) -> None:
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


def call_of(ctx: Context[Any]) -> Run | None:
    """Return the call that a context belongs to, if its client knows tasks."""
    call = RUN.get()
    return call if call is not None and call.exchange is ctx.exchange else None
