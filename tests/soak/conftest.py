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
    """Return how many timers of the event loop are set and not cancelled."""
    scheduled: list[asyncio.TimerHandle] = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009
    return sum(not timer.cancelled() for timer in scheduled)


@pytest.fixture
async def nothing_left() -> AsyncIterator[None]:
    """Fail if a test leaves a task, a timer, a file descriptor or a child process, a zombie included."""
    tasks, timed, open_before, running = asyncio.all_tasks(), timers(), descriptors(), children()
    yield
    try:
        await eventually(lambda: descriptors().items() <= open_before.items() and children() <= running)
    except AssertionError:
        pytest.fail(f"left: {set(descriptors().items()) - set(open_before.items())}, processes {children() - running}")
    assert asyncio.all_tasks() <= tasks | {task for task in (asyncio.current_task(),) if task}
    assert timers() <= timed
