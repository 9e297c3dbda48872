"""The engine of tasks: runs handlers whose outcomes are stored, in whatever wire form a peer asks for them."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar, copy_context
from typing import Any, Final, TypeAlias

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import CURRENT
from mcp_runtime.core.connection.checks import refusal
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.connection.requester import Handler, Requester
from mcp_runtime.core.connection.results import write_result
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, dump
from mcp_runtime.core.protocol.names import TOOLS_CALL
from mcp_runtime.extensions.tasks.states import Failure, Outcome, Status, Success, TaskRecord
from mcp_runtime.extensions.tasks.store import (
    ResultTooLarge,
    SharedTaskStore,
    StoreUnavailable,
    TaskError,
    TaskStore,
    TooManyTasks,
)

MAX_ID: Final = 256
"""The maximum length of a task id that is looked up."""
CANCELLED: Final = "cancelled as requested"
RETRY: Final = 0.1
"""Seconds to wait before a write to a store that could not be reached is repeated; each time twice as many."""
MAX_RETRY: Final = 5.0

Restart: TypeAlias = Callable[[TaskRecord, Mapping[str, Any]], Awaitable[None]]
"""Runs a task again, from what its process recorded."""


class Run:
    """A handler that runs as a task, or that may become one.

    Args:
        engine: stores the task.
        ctx: the context of its request.
        owner: the owner of the task.
        record: the task; None until it becomes one.

    Attributes:
        work: runs the handler.
        is_unwanted: whether the task was cancelled, or taken by another process.
        message: describes its state.
        may_defer: whether the call may become a task.
        restarts: whether another process may run it again.
    """

    fails_with_tool = False
    """Whether a tool that reports an error has failed, although it has a result."""

    def __init__(self, engine: "Engine", ctx: Context[Any], owner: str, record: TaskRecord | None = None) -> None:
        self.engine, self.ctx, self.owner = engine, ctx, owner
        self.record: TaskRecord | None = record
        self.work: asyncio.Task[Any]
        self.is_unwanted = False
        self.message = ""
        self.may_defer, self.restarts = True, False
        self._is_over = False
        self._life = asyncio.timeout(None)

    @property
    def exchange(self) -> Exchange:
        """The request."""
        return self.ctx.exchange

    async def begin(self, message: str) -> None:
        """Make a task of the call, unless it is one already, and describe its state."""
        await self.say(message)

    async def say(self, message: str) -> None:
        """Describe the state of the task to its client."""
        if message:
            self.message = message
            await self.restate()

    async def restate(self) -> None:
        """Store the present state with its description."""

    async def moved(self, record: TaskRecord) -> None:
        """Do what a new state of the task demands."""

    async def settled(self) -> None:
        """Do what precedes the end of the task."""

    def ended(self) -> None:
        """Release what the handler held."""
        if self.record is not None:
            self.engine.running.pop(self.record.id, None)

    def answer(self, answers: Mapping[str, Any]) -> None:
        """Give answers to open questions, each a JSON value, by their keys; others are ignored.

        Raises:
            PeerError: an answer is not valid.
        """

    def cancel(self, reason: str) -> None:
        """Cancel the handler, unless it has returned; its outcome is not wanted any more."""
        if self._is_over:
            return
        self.exchange.is_cancelled, self.exchange.cancel_reason, self.is_unwanted = True, reason, True
        self.work.cancel(reason)

    def limit(self, record: TaskRecord) -> None:
        """Stop the handler when its task expires."""
        if record.ttl is not None:
            self._life.reschedule(asyncio.get_running_loop().time() + record.ttl / 1000)

    async def run(self, handler: Handler, params: Any) -> Any:
        """Run the handler; return its result, or store it if there is a task."""
        method: Any = self.exchange.method
        CURRENT.set(self.exchange)
        RUN.set(self)
        try:
            async with self._life:
                if self.record is not None:
                    self.limit(self.record)
                result = await handler(params, self.ctx)
            await self.settled()
            if self.record is None:
                return result
            spelled = _spelled(method, result)
            if self.fails_with_tool and spelled.get("isError") is True:
                await self._end(Status.FAILED, Success(result=spelled), "the tool reported an error")
            else:
                await self._end(Status.COMPLETED, Success(result=spelled))
        except asyncio.CancelledError:
            await self._stopped(method)
            raise
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if self.record is None:
                raise
            if self._life.expired():
                self._log(logging.INFO, "the task %s expired before it had ended", self.record.id)
            else:
                await self.settled()
                refused = refusal(error, method.name, self.ctx.requester, self.ctx.connection.log_limited)
                failure = Failure(code=refused.code, message=refused.message, data=refused.data)
                await self._end(Status.FAILED, failure, failure.message)
        return None

    async def move(self, status: Status, **more: Any) -> None:
        """Move the task to another state, unless it was cancelled or has expired in the meantime."""
        assert self.record is not None
        try:
            await self.insist(lambda task_id: self.engine.move(self.owner, task_id, status, **more))
        except ResultTooLarge as error:
            self._log(logging.WARNING, "the result of the task %s was dropped: %s", self.record.id, error)
            await self._end(Status.FAILED, Failure(code=INTERNAL_ERROR, message=str(error)), str(error))
        except TaskError as error:
            level = logging.WARNING if isinstance(error, StoreUnavailable) else logging.DEBUG
            self._log(level, "the task %s did not become %s: %s", self.record.id, status.value, error)
        else:
            if status.is_terminal:
                self._log(logging.INFO, "the task %s has ended: %s", self.record.id, status.value)

    async def insist(self, write: Callable[[str], Awaitable[object]]) -> None:
        """Write something about the task to the store, as often as it takes while the store cannot be reached."""
        assert self.record is not None
        pause = RETRY
        while True:
            try:
                await write(self.record.id)
                return
            except StoreUnavailable:
                if self.work.cancelling():
                    raise
            await asyncio.sleep(pause * sources.jitter(0.5, 1))
            pause = min(2 * pause, MAX_RETRY)

    async def _end(self, status: Status, outcome: Outcome, message: str = "") -> None:
        if not self.is_unwanted:
            self._is_over = True
            await self.move(status, message=message, outcome=outcome)

    async def _stopped(self, method: RequestMethod[Any, Any]) -> None:
        """Fail the task if its handler was cancelled, but not by its client."""
        if self.record is not None and not self.is_unwanted:
            message = "internal error"
            if self.ctx.connection.closed_because is not None:
                message = "the connection over which the task was created has ended"
            elif not self.exchange.is_cancelled:
                self._log(logging.ERROR, "the handler of %s was cancelled from within", method.name)
            await self._end(Status.FAILED, Failure(code=INTERNAL_ERROR, message=message), message)

    def _log(self, level: int, text: str, *values: object) -> None:
        self.ctx.connection.log_limited(level, text, *values)


RUN: Final[ContextVar[Run | None]] = ContextVar("mcp_task_run", default=None)
"""The call being handled, if it is a task or may become one."""


class Engine:
    """Runs the tasks of one store, over any number of connections of either era.

    Args:
        store: stores the tasks.

    Attributes:
        store: stores the tasks.
        shared: the same, if other processes use it too.
        running: the tasks that this process runs, by id.
        observers: awaited with each new state of a task, and its owner.
    """

    def __init__(self, store: TaskStore) -> None:
        self.store = store
        self.shared = store if isinstance(store, SharedTaskStore) else None
        self.running: dict[str, Run] = {}
        self.observers: list[Callable[[str, TaskRecord], Awaitable[None]]] = []
        self._renewing: asyncio.Task[None] | None = None
        self._lasting: set[asyncio.Task[Any]] = set()

    async def create(
        self, owner: str, ttl: int | None = None, *, peer: str | None = None, scopes: Collection[str] = ()
    ) -> TaskRecord:
        """Create a task that this process runs; see `TaskStore.create`.

        Raises:
            PeerError: there are too many.
        """
        try:
            return await self.store.create(owner, ttl, peer=peer, scopes=frozenset(scopes))
        except TaskError as error:
            raise refused(error) from error

    def start(self, run: Run, handler: Handler, params: Any, *, lasts: bool = False) -> None:
        """Start a handler.

        Args:
            run: runs it.
            handler: the handler.
            params: the params of its request.
            lasts: whether it outlives its connection.
        """
        work = run.run(handler, params)
        if lasts:
            run.work = asyncio.create_task(work)
            self._lasting.add(run.work)
            run.work.add_done_callback(self._lasting.discard)
        else:
            run.work = run.ctx.connection.spawn(work)
        run.work.add_done_callback(lambda _: run.ended())

    def follow(self, run: Run, record: TaskRecord) -> None:
        """Note that this process runs a task, until it has ended."""
        if run.work.done():
            return
        self.running[record.id] = run
        if self.shared is not None and (self._renewing is None or self._renewing.done()):
            self._renewing = asyncio.create_task(self._renew(self.shared), context=copy_context())

    async def move(self, owner: str, task_id: str, status: Status, **more: Any) -> TaskRecord:
        """Move a task to another state; see `TaskStore.move`."""
        record = await self.store.move(owner, task_id, status, **more)
        if (run := self.running.get(task_id)) is not None:
            await run.moved(record)
        for observe in self.observers:
            await observe(owner, record)
        return record

    async def find(self, ctx: Context[Any], owner: str, task_id: Any, restart: Restart | None = None) -> TaskRecord:
        """Return a task; if its process has ended, it is run again, or it has failed.

        Args:
            ctx: the context of the request that asks for it.
            owner: the owner of the task.
            task_id: its id, from the peer.
            restart: runs a task again; None if it fails instead.

        Raises:
            PeerError: there is no such task, or its sender lacks a scope that it needs.
        """
        if not isinstance(task_id, str) or len(task_id) > MAX_ID:
            ctx.connection.log_limited(logging.WARNING, "%s has a taskId that cannot be one", ctx.exchange.name)
            raise PeerError(INVALID_PARAMS, f"taskId must be a string of at most {MAX_ID} characters")
        try:
            record = await self.store.get(owner, task_id)
            ctx.exchange.require(record.scopes)
            if not record.is_lapsed or self.shared is None:
                return record
            if (work := await self.shared.take(task_id)) is not None:
                if work and restart is not None:
                    await restart(record, work)
                else:
                    text = "the process that ran the task has ended"
                    ended = Failure(code=INTERNAL_ERROR, message=text)
                    await self.move(owner, task_id, Status.FAILED, message=text, outcome=ended)
            return await self.store.get(owner, task_id)
        except TaskError as error:
            raise refused(error) from error

    async def cancel(self, owner: str, task_id: str) -> TaskRecord:
        """Cancel a task, and then its handler if it runs here.

        Raises:
            TaskError: it does not exist, or has ended.
        """
        ended = Failure(code=INTERNAL_ERROR, message="the task was cancelled")
        record = await self.move(owner, task_id, Status.CANCELLED, message=CANCELLED, outcome=ended)
        if (run := self.running.get(task_id)) is not None:
            run.cancel(CANCELLED)
        return record

    async def _renew(self, store: SharedTaskStore) -> None:
        while self.running:
            await asyncio.sleep(store.interval)
            try:
                for task_id, answers in (await store.renew(tuple(self.running))).items():
                    if (run := self.running.get(task_id)) is None:
                        continue
                    if answers is None:
                        run.cancel("the task has ended elsewhere")
                        log.warning("the run of the task %s is stopped: it has ended elsewhere, or is lost", task_id)
                    else:
                        run.answer(answers)
            except StoreUnavailable:
                continue
            except Exception:
                log.exception("the leases of tasks were not renewed")


def refused(error: TaskError) -> PeerError:
    """Return the error response for an error of the store."""
    is_ours = isinstance(error, (TooManyTasks, StoreUnavailable))
    return PeerError(INTERNAL_ERROR if is_ours else INVALID_PARAMS, str(error))


def _spelled(method: RequestMethod[Any, Any], result: Any) -> dict[str, Any]:
    """Return a handler's result as it would have been sent.

    Raises:
        WrongResult: it does not match any result type of the method.
    """
    made: dict[str, Any] = json.loads(write_result(method, result))
    return made


def spoken_result(result: Any, requester: Requester) -> Any:
    """Return the result of a call of a tool, keyed by wire names, as the requester's revision has it."""
    if requester.wire is None or requester.binding is None:
        return result
    return json.loads(requester.wire.outgoing(requester.binding.methods[TOOLS_CALL], "result", dump(result)))
