"""How requests end: by timeout, by cancellation, with the connection."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.errors import ConnectionClosed, RequestTimeout
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.extensions.vendor import vendor_request
from mcp_runtime.memory import memory_pair
from support.talk import talk
from support.tools_server import Tools, text_result

pytestmark = pytest.mark.usefixtures("virtual_time")


class Leaving(Tools):
    """Ends the connection in the middle of a call."""

    def __init__(self, *, beside: bool) -> None:
        super().__init__()
        self.beside = beside

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        if self.beside:
            ctx.connection.spawn(ctx.connection.aclose("done"))
            await asyncio.sleep(60)
        await ctx.connection.aclose("done")
        return text_result("never")


class TestTime:

    async def test_a_server_that_never_answers_the_handshake(self) -> None:
        here, there = memory_pair()
        with pytest.raises(RequestTimeout, match="initialize"):
            await v.Client.open(Peer(here), options=ClientOptions(timeout=0.05))
        await there.close()


class TestTheEnd:
    async def test_open_calls_fail_and_handlers_are_cancelled(self) -> None:
        server = Tools()
        reasons: list[str] = []
        async with talk(server) as both:
            both.client.connection.on_close(reasons.append)
            call = asyncio.create_task(both.client.call_tool(name="slow"))
            stream = both.client.notifications(methods.NOTIFICATIONS_MESSAGE)
            await server.begun.wait()
            await both.server.aclose("maintenance")
            with pytest.raises(ConnectionClosed, match="the peer closed the connection"):
                await call
            assert server.ended == ["True maintenance"]
            assert [item async for item in stream] == []
            with pytest.raises(ConnectionClosed):
                await both.client.ping()
        assert reasons == ["the peer closed the connection"]

    @pytest.mark.parametrize("beside", [True, False])
    async def test_a_handler_may_end_the_connection(self, beside: bool) -> None:
        async with talk(Leaving(beside=beside)) as both:
            with pytest.raises(ConnectionClosed):
                await both.client.call_tool(name="x")
        assert both.server.closed_because == "done"

    @pytest.mark.parametrize("reason", ["maintenance", ""])
    async def test_closing_waits_for_what_runs(self, reason: str) -> None:
        server = Tools()
        async with talk(server) as both:
            call = asyncio.create_task(both.client.call_tool(name="slow"))
            await server.begun.wait()
            async with asyncio.timeout(10):
                await both.server.aclose(reason)
            assert server.ended and both.server.closed_because == reason
            with pytest.raises(ConnectionClosed):
                await call

    async def test_failing_hooks_do_no_harm(self, caplog: pytest.LogCaptureFixture) -> None:
        def fail(*arguments: Any) -> None:
            raise RuntimeError("hook")

        async with talk(Tools()) as both:
            both.client.connection.on_close(fail)
            both.server.on_error(fail)
            await both.client.connection.request(vendor_request("ping", None, dict), None, None)
        assert "hook" in caplog.text
