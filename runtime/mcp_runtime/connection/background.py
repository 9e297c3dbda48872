"""Tasks that end with a connection, and operations of other people's code that end in time."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar, cast

log: Final = logging.getLogger("mcp_runtime")


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
        self._tasks: dict[asyncio.Task[Any], None] = {}  # an empty set takes three times the memory

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


def never_ran(task: "asyncio.Task[Any]") -> bool:
    """Whether none of a task's code has run, nor will after a cancellation, not even its ``finally``."""
    state = inspect.getcoroutinestate(cast("Coroutine[Any, Any, Any]", task.get_coro()))
    return state in (inspect.CORO_CREATED, inspect.CORO_CLOSED)


T = TypeVar("T")


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


def check_cancelled() -> None:
    """Propagate a cancellation of the current task that other people's code has dropped, or replaced by an error.

    For iterations, which have no timeout: called after each step, and where an error of theirs is handled.

    Raises:
        asyncio.CancelledError: the current task was cancelled.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _retrieve(task: "asyncio.Future[Any]") -> None:
    """Retrieve the exception of an abandoned operation, which nobody else will."""
    if not task.cancelled():
        task.exception()
