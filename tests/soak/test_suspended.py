"""Handlers of 2026-07-28 that wait for a client which never retries: after the timeout, nothing is left of them."""

import asyncio
import gc
import os
import tracemalloc
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions, Suspended
from soak.scale import scaled
from support.channels import Stream, Streams

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

ABANDONED = scaled(4_000, 10_000)
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
MOST_LEFT = 250 * ABANDONED
"""Bytes that may be in use afterwards which were not before: dictionaries and sets keep the size that they grew to."""


class Asking(v.Server):
    def __init__(self) -> None:
        self.options = ServerOptions(inputs=Suspended(per_peer=ABANDONED, overall=ABANDONED))
        self.ended = 0

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        try:
            schema = v.ElicitRequestFormParamsRequestedSchema(properties={})
            await ctx.client.elicit(message="Well?", requested_schema=schema)
        finally:
            self.ended += 1
        return v.CallToolResult(content=[])


async def _abandon(streams: Streams, count: int) -> int:
    """Send this many requests, each over its own channel; returns how many asked for input."""
    asked = 0
    for first in range(0, count, 200):
        channels = [Stream() for _ in range(first, min(first + 200, count))]
        for channel in channels:
            streams.deliver(channel, id=1, method="tools/call", params={"name": "x", "_meta": META})
        while not all(channel.got for channel in channels):
            await asyncio.sleep(0)
        asked += sum("requestState" in channel.got[0].get("result", {}) for channel in channels)
    return asked


async def _warm_up() -> None:
    """Fill caches whose size does not depend on the number of handlers."""
    streams = Streams()
    connection = await start_server(streams, Asking())
    assert await _abandon(streams, 400) == 400
    await connection.aclose()


@pytest.mark.usefixtures("virtual_time")
async def test_abandoned_handlers_leave_nothing() -> None:
    await _warm_up()
    streams, server = Streams(), Asking()
    connection = await start_server(streams, server)
    gc.collect()
    tasks, descriptors = len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd"))
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        assert await _abandon(streams, ABANDONED) == ABANDONED
        assert len(asyncio.all_tasks()) == tasks + ABANDONED
        held, _ = tracemalloc.get_traced_memory()
        assert await _abandon(streams, 1) == 1, "the oldest one makes room"
        while server.ended < ABANDONED + 1:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.1)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    print(f"{(held - before) / ABANDONED:.0f} bytes for each handler that waits, {after - before} bytes afterwards")
    assert after - before < MOST_LEFT, f"{after - before} bytes are left"
    assert len(asyncio.all_tasks()) == tasks and len(os.listdir("/proc/self/fd")) == descriptors
    assert connection.open_requests == 0
    assert await _abandon(streams, 1) == 1
    await connection.aclose()
