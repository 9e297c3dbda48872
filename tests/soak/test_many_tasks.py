"""A thousand running tasks: their memory, and whether a client that polls without a pause delays the others."""

import asyncio
import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions.tasks import ClientMixin
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer, start_task
from mcp_runtime.memory import connect_memory
from mcp_runtime.web_server import serve_http
from soak.scale import scaled

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 600))]

RUNNING = 1_000
MOST_BYTES = 64 << 20
MOST_DELAY = 0.1
ASKED = 50
AT_ONCE = 50
TESTS = Path(__file__).parents[1]


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


async def test_a_thousand_running_tasks_are_small() -> None:
    async with connect_memory(bakery()) as near:
        starting = await mcp.Client.open(near, extensions=[Tasks()])
        await start(starting, 20)
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            await start(starting, RUNNING)
            gc.collect()
            held = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        print(f"{RUNNING} running tasks take {held / 2**20:.1f} MB, of client and server")
        assert held < MOST_BYTES


def cpu_of(pid: int) -> float:
    """Return the seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_a_client_that_polls_without_a_pause_delays_no_other_task_by_100_ms() -> None:
    """The delay is the server's CPU time for the polls that it answers before; other load does not change it."""
    with subprocess.Popen(
        [sys.executable, "-m", "soak.test_many_tasks"], stdout=subprocess.PIPE, text=True, cwd=TESTS
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        try:
            async with connect_http(url) as peer, connect_http(url) as other:
                starting = await mcp.Client.open(peer, extensions=[Tasks()])
                ids = await start(starting, RUNNING)
                client = ClientMixin(starting.connection)
                fast = ClientMixin((await mcp.Client.open(other, extensions=[Tasks()])).connection)
                polls, before = 0, list[int]()

                async def poll_fast() -> None:
                    nonlocal polls
                    while True:
                        await fast.get_task(task_id=ids[0])
                        polls += 1

                polling = [asyncio.ensure_future(poll_fast()) for _ in range(AT_ONCE)]
                spent = cpu_of(server.pid)
                for task_id in ids[:: RUNNING // ASKED]:
                    began = polls
                    assert (await client.get_task(task_id=task_id)).status == "working"
                    before.append(polls - began)
                each = (cpu_of(server.pid) - spent) / (polls + len(before))
                assert not any(task.done() for task in polling)
                for task in polling:
                    task.cancel()
        finally:
            server.kill()
    slowest = sorted(before)[-2]
    said = f"beside {AT_ONCE} polls at once, {len(before)} answers each waited for at most {slowest} other polls"
    print(f"{said} of {each * 1000:.2f} ms of CPU: {slowest * each * 1000:.0f} ms")
    assert slowest > 0 and slowest * each < MOST_DELAY


if __name__ == "__main__":
    serve_http(bakery(), port=0, started=lambda url: print(f"{url}/mcp", flush=True))
