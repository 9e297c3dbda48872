"""Waits of equal length: each ends in time, or is reported as expired."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from mcp_runtime.core.transports.http.server.asgi import Delay, TimeLimit


@pytest.mark.usefixtures("virtual_time")
async def test_a_wait_that_takes_too_long_is_told_in_its_turn() -> None:
    late: list[tuple[str, float]] = []
    now = asyncio.get_running_loop().time
    delay = Delay[str](0.05, lambda name: late.append((name, now())))
    begun = now()
    for name in ("a", "b", "c"):
        delay.begin(name)
    assert delay.end("b")
    async with asyncio.timeout(10):
        while len(late) < 2:
            await asyncio.sleep(0.01)
    assert [name for name, _ in late] == ["a", "c"]
    assert all(when - begun >= 0.05 for _, when in late)
    assert not delay.end("a"), "it had already ended"
    delay.begin("d")
    async with asyncio.timeout(10):
        while len(late) < 3:
            await asyncio.sleep(0.01)
    assert late[-1][0] == "d"


@pytest.mark.usefixtures("virtual_time")
async def test_what_is_forgotten_is_told_of_nothing() -> None:
    late: list[str] = []
    delay = Delay[str](0.02, late.append)
    delay.begin("a")
    delay.clear()
    await asyncio.sleep(0.05)
    assert late == []
    delay.begin("b")
    await asyncio.sleep(0.05)
    assert late == ["b"]


async def limited(limit: TimeLimit, work: Coroutine[Any, Any, None]) -> None:
    with limit:
        await work


def test_an_application_may_be_called_in_one_loop_after_the_other() -> None:
    limit = TimeLimit(0.05)
    for _ in range(2):
        with pytest.raises(TimeoutError):
            asyncio.run(limited(limit, asyncio.sleep(10)))


@pytest.mark.usefixtures("virtual_time")
async def test_a_limit_is_not_taken_for_a_cancellation_nor_the_other_way_round() -> None:
    limit = TimeLimit(0.05)
    await limited(limit, asyncio.sleep(0))
    with pytest.raises(TimeoutError):
        await limited(limit, asyncio.sleep(10))
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    other = asyncio.create_task(limited(limit, asyncio.sleep(10)))
    await asyncio.sleep(0)
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other
    both = asyncio.create_task(limited(limit, asyncio.sleep(10)))
    await asyncio.sleep(0.04)
    asyncio.get_running_loop().call_later(0.01, both.cancel)
    with pytest.raises(asyncio.CancelledError):
        await both


@pytest.mark.usefixtures("virtual_time")
async def test_a_cancellation_after_the_end_of_all_limits_stays_one() -> None:
    limit = TimeLimit(0.05)
    task = asyncio.create_task(limited(limit, asyncio.sleep(10)))
    await asyncio.sleep(0)
    limit.clear()
    await asyncio.sleep(1)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
