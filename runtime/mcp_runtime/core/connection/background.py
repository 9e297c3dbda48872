"""What runs beside the messages of a connection: tasks, operations of other people's code, and plain functions.

Tasks end with their connection. Operations of other people's code end in time. Plain functions, which may block, run
in threads: daemons, so that a stuck one does not keep the program from exiting. The number of threads is bounded, and
further calls are queued; no peer gets more than half of them where several can connect.
"""

import asyncio
import inspect
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import partial, wraps
from typing import Any, Final, TypeVar, cast

from mcp_runtime.core.connection.calls import CURRENT, Pool
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.functions import blocks

T = TypeVar("T")


MAX_THREADS: Final = 40
"""How many plain handlers run at once in one process."""
IDLE_SECONDS: Final = 10.0
"""Seconds that a thread waits for work before it ends."""


class Background:
    """Tasks that end with a connection.

    Args:
        loop: the event loop that runs them.
        finished: called when one has ended.
    """

    __slots__ = ("_finished", "_loop", "_tasks")

    def __init__(self, loop: asyncio.AbstractEventLoop, finished: Callable[[], None]) -> None:
        self._loop = loop
        self._finished = finished
        self._tasks: dict[asyncio.Task[Any], None] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def __contains__(self, task: object) -> bool:
        return task in self._tasks

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine until it ends or the connection does."""
        task = self._loop.create_task(work)
        self.adopt(task)
        return task

    def adopt(self, task: "asyncio.Task[Any]") -> None:
        """Let a task end with the connection."""
        self._tasks[task] = None
        task.add_done_callback(self._done)

    def release(self, task: "asyncio.Task[Any]") -> None:
        """Stop managing a task that was adopted."""
        self._tasks.pop(task, None)
        task.remove_done_callback(self._done)

    def cancel(self, reason: str, but: "asyncio.Task[Any] | None") -> None:
        """Cancel all of them except `but`."""
        for task in tuple(self._tasks):
            if task is not but:
                task.cancel(reason)

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a task of the connection failed", exc_info=error)
        self._finished()


def begin(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Run a coroutine as a task, which takes its first step at once where Python can do that (from 3.12 on)."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def never_ran(task: "asyncio.Task[Any]") -> bool:
    """Whether none of a task's code has run, nor will after a cancellation, not even its ``finally``."""
    state = inspect.getcoroutinestate(cast("Coroutine[Any, Any, Any]", task.get_coro()))
    return state in (inspect.CORO_CREATED, inspect.CORO_CLOSED)


async def bounded(operation: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return the result of an operation, or cancel it after a while.

    Unlike `asyncio.timeout`, this does not wait until the operation has handled the cancellation: `asyncio.wait_for` of
    Python 3.11 may drop one, and a client library that uses it would then wait as long as it likes.

    Args:
        operation: the operation.
        seconds: the longest time that it may take.

    Raises:
        TimeoutError: it took longer.
        Exception: whatever the operation raised.
    """
    task = asyncio.ensure_future(operation)
    try:
        await asyncio.wait((task,), timeout=seconds)
        if not task.done():
            raise TimeoutError(f"no answer within {seconds:g} seconds")
        return task.result()
    finally:
        if not task.done():
            task.add_done_callback(_retrieve)
            task.cancel()


def _retrieve(task: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of an abandoned operation, which nobody else will."""
    if not task.cancelled():
        task.exception()


class Threads:
    """A bounded pool of daemon threads; safe to use from several event loops.

    Args:
        limit: the maximum number of threads.
        idle: seconds that a thread waits for work before it ends.
    """

    def __init__(self, limit: int = MAX_THREADS, idle: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle
        self._changed = threading.Condition()
        self._ready: deque[_Job] = deque()
        self._waiting: dict[_Job, None] = {}
        self._busy = Pool(limit)
        self._count = 0
        self._idle = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_busy(self) -> bool:
        """Whether a function is running, or waits for a thread."""
        return self._count > self._idle or bool(self._ready)

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        """Run a function in a thread, in a copy of the caller's context variables, and return its result.

        A cancelled caller does not wait: work that has not begun never runs; work that has begun continues, and its
        result is discarded.
        """
        loop, current = asyncio.get_running_loop(), CURRENT.get()
        peer = current.requester.peer if current is not None else None
        job = _Job(partial(copy_context().run, function, *args), loop, peer)
        self._submit(job)
        try:
            result: T = await job.future
        finally:
            if job.future.cancelled():
                with self._changed:
                    self._waiting.pop(job, None)
        return result

    def _submit(self, job: "_Job") -> None:
        with self._changed:
            if not self._busy.take(job.peer):
                self._waiting[job] = None
                return
            self._ready.append(job)
            if len(self._ready) <= self._idle:
                self._changed.notify()
                return
            self._count += 1
        threading.Thread(target=self._work, name="mcp-handler", daemon=True).start()

    def _work(self) -> None:
        ended: tuple[str | None, ...] = ()
        while (job := self._next(*ended)) is not None:
            job.run()
            ended = (job.peer,)
            del job  # or it would be kept alive until the next job

    def _next(self, *ended: str | None) -> "_Job | None":
        """Return a job to run, after one of a peer has ended; None after a while without any."""
        with self._changed:
            for peer in ended:
                self._make_room(peer)
            self._idle += 1
            found = self._changed.wait_for(lambda: self._ready, timeout=self._idle_seconds)
            self._idle -= 1
            if found:
                return self._ready.popleft()
            self._count -= 1
            return None

    def _make_room(self, peer: str | None) -> None:
        self._busy.add(peer, -1)
        job = next((each for each in self._waiting if self._busy.take(each.peer)), None)
        if job is not None:
            del self._waiting[job]
            self._ready.append(job)


class _Job:
    """A function to run in a thread, and the future that waits for it in an event loop."""

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop, peer: str | None) -> None:
        self._call = call
        self.peer = peer
        self._loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()

    def run(self) -> None:
        result: Any = None
        failure: BaseException | None = None
        if self.future.cancelled():
            return
        try:
            result = self._call()
        except StopIteration as error:  # a future cannot hold it
            failure = RuntimeError("a handler raised StopIteration")
            failure.__cause__ = error
        except BaseException as error:
            failure = error
        with suppress(RuntimeError):  # the event loop is closed
            self._loop.call_soon_threadsafe(self._settle, result, failure)

    def _settle(self, result: Any, failure: BaseException | None) -> None:
        if self.future.done():
            return
        if failure is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(failure)


THREADS: Final = Threads()
"""The threads of this process."""


def unblocked(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a coroutine function as it is, and wrap a plain one so that it runs in a thread."""
    return threaded(function) if blocks(function) else function


def threaded(function: Callable[..., Any], threads: Threads = THREADS) -> Callable[..., Any]:
    """Return a coroutine function that runs a plain one in a thread; if it returns an awaitable, that is awaited."""

    @wraps(function)
    async def run(*args: Any, **named: Any) -> Any:
        result = await threads.run(partial(function, **named) if named else function, *args)
        return await result if inspect.isawaitable(result) else result

    return run
