"""The id of a request that was cancelled is in use until its handler has ended."""

import asyncio

import pytest

from mcp_bindings import v2025_11_25 as v
from support.talk import raw

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_an_id_is_refused_while_its_cancelled_handler_runs() -> None:
    class Slow(v.Server):
        ended = 0

        async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
            return v.ListToolsResult(tools=[])

        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            try:
                await asyncio.sleep(60)
            finally:
                await asyncio.sleep(0.02)
                self.ended += 1
            return v.CallToolResult(content=[])

    server = Slow()
    async with raw(server) as line:
        await line.shake_hands("2025-11-25")
        line.tell(id=5, method="tools/call", params={"name": "x"})
        await asyncio.sleep(0.01)
        line.tell(method="notifications/cancelled", params={"requestId": 5})
        await asyncio.sleep(0.01)
        assert "cancelled" in (await line.ask("tools/list", id_=5))["error"]["message"]
        await asyncio.sleep(0.05)
        assert server.ended == 1
        line.got.clear()
        assert (await line.ask("tools/list", id_=5))["result"]["tools"] == []
