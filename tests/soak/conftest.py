"""Fixtures of the soak tests: they report the seed of every failure, and check that nothing is left behind."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from soak.scale import SEED
from support.stdio_peers import children, descriptors, eventually


@pytest.fixture(autouse=True)
def _seed() -> None:  # pyright: ignore[reportUnusedFunction]
    print(f"MCP_SOAK_SEED={SEED}")


def timers() -> int:
    """Return how many timers of the event loop are set and not cancelled, except those that uvicorn leaves behind.

    It keeps the timer of a connection that was idle when the client cut it.
    """
    scheduled: list[asyncio.TimerHandle] = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009
    return sum(not timer.cancelled() and "timeout_keep_alive_handler" not in repr(timer) for timer in scheduled)


@pytest.fixture
async def nothing_left() -> AsyncIterator[None]:
    """Fail if a test leaves a task, a timer, a file descriptor or a child process, a zombie included."""
    tasks, timed, open_before, running = asyncio.all_tasks(), timers(), descriptors(), children()
    yield
    tasks |= {task for task in (asyncio.current_task(),) if task}

    def is_clean() -> bool:
        at_once = descriptors().items() <= open_before.items() and children() <= running
        return at_once and asyncio.all_tasks() <= tasks and timers() <= timed

    try:
        await eventually(is_clean)
    except AssertionError:
        left = set(descriptors().items()) - set(open_before.items()), asyncio.all_tasks() - tasks
        pytest.fail(f"left: {left}, processes {children() - running}, {timers() - timed} timers")
