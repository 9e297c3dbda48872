"""Twenty servers, five of them bad; rounds that leave nothing behind; what a call through the host costs."""

import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from host.serving import InMemory, app_of
from host.test_host import children, host_of
from mcp_bindings import Client
from mcp_runtime.host import Host, allow_all
from support.stdio_peers import eventually

TINY = str(Path(__file__).with_name("tiny.py"))
BAD = ("dead", "hanging", "flooding", "crashing", "slow")


def tiny(kind: str, **more: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-I", "-S", TINY, kind], **more}


def left() -> tuple[int, int, int]:
    """Count processes, tasks and descriptors."""
    return children(), len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd"))


async def time_until_ready(servers: dict[str, Any]) -> float:
    """Return the seconds until the good servers of a host are ready, and each answers."""
    good = [name for name in servers if name.startswith("good")]
    began = time.perf_counter()
    async with host_of(servers, wait=0) as host:
        await asyncio.gather(*(host.servers[name].ready(30) for name in good))
        took = time.perf_counter() - began
        view = host.view()
        assert {(await view.call(f"{name}__whoami", {})).text() for name in good} == {"good"}
        assert not [name for name in servers if name not in good and host.servers[name].state == "ready"]
    return took


@pytest.mark.slow
async def test_fifteen_servers_are_ready_as_fast_beside_five_bad_ones(capsys: pytest.CaptureFixture[str]) -> None:
    good = {f"good{number}": tiny("good") for number in range(15)}
    before = left()
    alone = await time_until_ready(good)
    beside = await time_until_ready({**{kind: tiny(kind) for kind in BAD}, **good})
    assert left() == before
    with capsys.disabled():
        print(f"\n15 good servers: ready in {alone:.2f} s, beside 5 bad ones in {beside:.2f} s")
    # Waiting for a bad one would take its 30 s; on a busy machine the good ones take some seconds.
    assert beside < 20


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("is_cancelled", [False, True], ids=["closed", "cancelled"])
async def test_rounds_leave_no_process_task_or_descriptor(is_cancelled: bool, cases: int) -> None:
    """Ten rounds, since each may wait for servers that ignore the end of their input; a hundred with --cases 30000."""
    dice = random.Random(1)
    ready, rounds = 0, min(100, max(10, cases // 300))

    async def agent() -> None:
        nonlocal ready
        async with host_of({kind: tiny(kind) for kind in ("good", dice.choice(BAD))}, wait=0) as host:
            if is_cancelled:
                await asyncio.sleep(1000)
            await asyncio.sleep(dice.random() / 5)
            ready += host.servers["good"].state == "ready"

    await asyncio.create_task(asyncio.sleep(0))
    before = left()
    for _ in range(rounds):
        task = asyncio.create_task(agent())
        if is_cancelled:
            await asyncio.sleep(dice.random() / 5)
            task.cancel()
        await asyncio.wait((task,))
        assert task.cancelled() == is_cancelled
        assert left() == before
    assert is_cancelled or ready


def tool_of(number: int) -> Callable[[str], str]:
    def tool(text: str) -> str:
        return text

    tool.__name__ = f"t{number}"
    return tool


async def functions_called(call: Awaitable[object]) -> int:
    """Await a call; return how many Python functions it enters, which says what it costs on any machine."""
    entered = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        await call
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.slow
async def test_a_call_through_a_host_costs_little_more_than_through_its_client(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tools = {f"t{number}": tool_of(number) for number in range(50)}
    entries = [InMemory(name=f"s{n}", command=("x",), make=partial(app_of, f"s{n}", tools)) for n in range(20)]
    async with Host(entries, Client, policy=allow_all) as host:
        await eventually(lambda: len(host.catalogue) == 1000)
        view, client = host.view(), host.servers["s7"].client
        await view.call("s7__t7", {"text": "hi"})
        # A timer or the garbage collector may add functions to one of several calls.
        through_host = min([await functions_called(view.call("s7__t7", {"text": "hi"})) for _ in range(3)])
        through_client = min(
            [await functions_called(client.call_tool(name="t7", arguments={"text": "hi"})) for _ in range(3)]
        )
    with capsys.disabled():
        print(f"\na call: {through_client} functions through the client, {through_host} through the host")
    assert through_host < 1.9 * through_client
