"""Operations of other people's code end in time, whatever they do."""

import asyncio
from contextlib import suppress

import pytest

from mcp_runtime.cluster.fan_out import check_cancelled
from mcp_runtime.core.connection.background import bounded


async def _drops_a_cancellation() -> None:
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    await asyncio.sleep(60)


async def _fails() -> None:
    raise OSError("away")


async def test_an_operation_that_drops_its_cancellation_is_left_alone() -> None:
    async with asyncio.timeout(30):
        with pytest.raises(TimeoutError, match=r"no answer within 0\.01 seconds"):
            await bounded(_drops_a_cancellation(), 0.01)


async def test_results_and_errors_are_passed_on() -> None:
    assert await bounded(asyncio.sleep(0, "found"), 30) == "found"
    with pytest.raises(OSError, match="away"):
        await bounded(_fails(), 30)


async def test_a_cancelled_caller_cancels_the_operation() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def operation() -> None:
        started.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    caller = asyncio.create_task(bounded(operation(), 30))
    await started.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
    await asyncio.wait_for(ended.wait(), 30)


async def test_a_dropped_cancellation_is_propagated() -> None:
    started, steps = asyncio.Event(), 0

    async def iterate() -> None:
        nonlocal steps
        while True:
            started.set()
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
            steps += 1
            check_cancelled()

    task = asyncio.create_task(iterate())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)
    assert steps == 1
