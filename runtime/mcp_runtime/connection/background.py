"""Tasks that a connection runs in addition to its messages, and that end with it."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, cast

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
