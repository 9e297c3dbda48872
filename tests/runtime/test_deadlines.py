"""Timeouts: many requests share one timer, and each has its own timeout."""

import asyncio

import pytest

from mcp_bindings import v2025_11_25 as v
from support.talk import raw, talk
from support.tools_server import Tools

pytestmark = pytest.mark.usefixtures("virtual_time")


def _timers() -> int:
    scheduled: list[asyncio.TimerHandle] = getattr(asyncio.get_running_loop(), "_scheduled")  # noqa: B009
    return sum(not timer.cancelled() for timer in scheduled)


async def test_many_requests_share_one_timer_which_ends_with_them() -> None:
    before = _timers()
    async with talk(Tools(), timeout=30.0) as conversation:
        calls = [asyncio.ensure_future(conversation.client.call_tool(name="slow")) for _ in range(100)]
        await asyncio.sleep(0.01)
        # Each handler sleeps, too; the timeouts of a hundred calls add one.
        assert _timers() - before == len(calls) + 1
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert _timers() == before


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
