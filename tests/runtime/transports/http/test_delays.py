"""Waits of equal length: each ends in time, or is reported as expired."""

import asyncio

import pytest

from mcp_runtime.core.transports.http.server.asgi import Delay


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
