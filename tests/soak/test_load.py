"""Many sessions, many requests, large messages: memory, tasks and concurrency; `make bench` measures times."""

import asyncio
import gc
import sys
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.settings import Settings
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.memory import connect_memory
from soak.echo_server import CLIENTS, SERVERS, EchoServer, memory
from soak.fire import census, resident
from soak.scale import scaled

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

SESSIONS = 1000
BYTES_PER_END = 8 * 1024
MOST_QUEUED_KB = 30 * 1024
"""What either side may need more while 10,000 requests wait."""
LARGE = 10_000_000


async def _call(client: v.Client | modern.Client, name: str, **arguments: object) -> str:
    result = await client.call_tool(name=name, arguments=dict(arguments))
    content = result.content[0]
    assert isinstance(content, v.TextContent | modern.TextContent)
    return content.text


async def _open(stack: AsyncExitStack) -> v.Client:
    return await v.Client.open(await stack.enter_async_context(connect_memory(EchoServer())))


async def test_idle_sessions_are_small() -> None:
    async with AsyncExitStack() as stack:
        clients = [await _open(stack) for _ in range(10)]
        tasks = len(asyncio.all_tasks())
        gc.collect()
        tracemalloc.start()
        try:
            clients += [await _open(stack) for _ in range(SESSIONS)]
            gc.collect()
            used, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(asyncio.all_tasks()) - tasks <= SESSIONS
        assert used / SESSIONS / 2 <= BYTES_PER_END, f"{used / SESSIONS / 2:.0f} bytes for each end of an idle session"
        assert await asyncio.gather(*(_call(client, "echo", text="x") for client in clients)) == ["x"] * len(clients)


@pytest.mark.parametrize("era", CLIENTS)
async def test_memory_is_flat_over_many_calls(era: str) -> None:
    calls = scaled(30_000, 2_000_000)
    async with connect_memory(SERVERS[era]()) as peer:
        client: v.Client | modern.Client = await CLIENTS[era].open(peer)
        for _ in range(calls // 5):
            await _call(client, "echo", text="hello")
        early = census(), resident()
        for _ in range(calls - calls // 5):
            await _call(client, "echo", text="hello")
        assert not {name: more for name, more in (census() - early[0]).items() if more > 5}
        assert resident() - early[1] < 2_000, f"memory grew by {resident() - early[1]} KB"


@asynccontextmanager
async def _over_stdio() -> AsyncGenerator[v.Client]:
    async with connect_stdio(sys.executable, Path(__file__).with_name("echo_server.py")) as peer:
        client = await v.Client.open(peer)
        await asyncio.gather(*(_call(client, "echo", text="warm") for _ in range(200)))
        gc.collect()
        yield client


async def _server_memory(client: v.Client) -> tuple[int, int]:
    now, peak = (await _call(client, "memory")).split()
    return int(now), int(peak)


def _own_memory() -> tuple[int, int]:
    now, peak = memory().split()
    return int(now), int(peak)


async def test_queued_requests() -> None:
    number = scaled(10_000, 50_000)
    async with _over_stdio() as client:
        await _server_memory(client)
        theirs, _ = await _server_memory(client)
        own, _ = _own_memory()
        texts = await asyncio.gather(*(_call(client, "echo", text=str(i)) for i in range(number)))
        _, own_peak = _own_memory()
        _, their_peak = await _server_memory(client)
        assert texts == [str(i) for i in range(number)]
        assert int(await _call(client, "most")) <= Settings().max_in_flight
        most = MOST_QUEUED_KB * number // 10_000
        assert their_peak - theirs <= most, f"the server needed {their_peak - theirs} KB more"
        assert own_peak - own <= most, f"the client needed {own_peak - own} KB more"


async def test_a_large_message() -> None:
    async with _over_stdio() as client:
        text = "x" * LARGE
        await _server_memory(client)
        theirs, _ = await _server_memory(client)
        own, _ = _own_memory()
        assert await _call(client, "echo", text=text) == text
        _, own_peak = _own_memory()
        _, their_peak = await _server_memory(client)
        assert (their_peak - theirs) * 1024 <= 5 * LARGE, f"the server needed {their_peak - theirs} KB more"
        assert (own_peak - own) * 1024 <= 5 * LARGE, f"the client needed {own_peak - own} KB more"
