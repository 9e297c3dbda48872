"""A thousand running tasks: their memory, and whether a client that polls without a pause delays the others."""

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions.tasks import ClientMixin
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer, start_task
from mcp_runtime.transports.http import asgi_app, connect_http
from mcp_runtime.transports.memory import connect_memory
from soak.scale import scaled
from support.http import served

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 600))]

RUNNING = 1_000
MOST_BYTES = 64 << 20
MOST_POLLS = 4
"""How many polls of the fast client may be answered while another client waits for one answer."""


def bakery() -> mcp.App:
    app: mcp.App = mcp.App("bakery", extensions=[Tasks(MemoryTaskStore(max_tasks=4 * RUNNING))])

    @app.tool(task="optional")
    async def bake(ctx: mcp.Context) -> str:
        """Bake until the test ends."""
        await defer(ctx)
        await asyncio.sleep(3600)
        return ""

    return app


async def start(client: mcp.Client, count: int) -> list[str]:
    call: Any = {"name": "bake"}
    return [(await start_task(client, TOOLS_CALL, call)).id for _ in range(count)]


async def test_a_thousand_running_tasks() -> None:
    app = bakery()
    async with (
        connect_memory(app) as near,
        served(asgi_app(app)) as url,
        connect_http(f"{url}/mcp") as peer,
        connect_http(f"{url}/mcp") as other,
    ):
        starting = await mcp.Client.open(near, extensions=[Tasks()])
        client = ClientMixin((await mcp.Client.open(peer, extensions=[Tasks()])).connection)
        fast = ClientMixin((await mcp.Client.open(other, extensions=[Tasks()])).connection)
        await start(starting, 20)
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            ids = await start(starting, RUNNING)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        print(f"{RUNNING} running tasks take {held / 2**20:.1f} MB, of client and server")
        assert held < MOST_BYTES

        polls, delays = 0, list[int]()

        async def poll_fast() -> None:
            nonlocal polls
            while True:
                await fast.get_task(task_id=ids[0])
                polls += 1

        polling = asyncio.ensure_future(poll_fast())
        loop, slowest = asyncio.get_running_loop(), 0.0
        for task_id in ids[::5]:
            began, asked = polls, loop.time()
            task = await client.get_task(task_id=task_id)
            assert task.status == "working"
            delays.append(polls - began)
            slowest = max(slowest, loop.time() - asked)
        assert not polling.done(), polling.exception()
        polling.cancel()
        print(f"beside {polls} polls of a fast client, {len(delays)} answers took at most {slowest * 1000:.0f} ms each")
        assert 0 < sorted(delays)[-2] <= MOST_POLLS
