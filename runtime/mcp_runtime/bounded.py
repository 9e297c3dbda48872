"""Bounds the time of operations of other people's code, such as stores, even if they drop a cancellation."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

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
