"""Middleware: every message passes through it, and the included rate limit."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.connection import Exchange, Way
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit, RateLimited
from support.calculator import Calculator, Unchecked, tool
from support.together import together

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestRateLimit:
    async def test_requests_over_the_limit_are_refused_with_a_hint(self) -> None:
        limit = RateLimit(rate=5, burst=3, methods=["tools/call"])

        class Limited(Calculator):
            options = ServerOptions(middleware=(limit,))

        server = Limited(tool("sum"))
        async with together(v.Client, server) as client:
            for _ in range(3):
                await client.call_tool(name="sum")
            with pytest.raises(PeerError, match="too many tools/call: try again in") as caught:
                await client.call_tool(name="sum")
            assert caught.value.code == RATE_LIMITED
            await client.list_tools()
            seconds: float = caught.value.data["retryAfter"]
            assert 0 < seconds <= 0.2
            await asyncio.sleep(seconds + 0.01)
            await client.call_tool(name="sum")
        assert len(server.called) == 4
        assert limit.refused == 1

    async def test_each_peer_has_its_own_limit(self) -> None:
        class Limited(Calculator):
            options = ServerOptions(middleware=(RateLimit(rate=0.01),))

        server = Limited(tool("sum"))
        for _ in range(2):
            async with together(v.Client, server) as client:
                await client.call_tool(name="sum")
                with pytest.raises(PeerError):
                    await client.call_tool(name="sum")

    async def test_peers_can_be_told_apart_by_the_program(self) -> None:
        def name(exchange: Exchange) -> str:
            return str(exchange.connection.peer_info["name"])

        class Limited(Calculator):
            options = ServerOptions(middleware=(RateLimit(rate=0.01, peer=name, methods=["tools/call"]),))

        server = Limited(tool("sum"))
        refused: list[str] = []
        for peer in ("a", "a", "b"):
            async with together(v.Client, server, options=ClientOptions(name=peer)) as client:
                try:
                    await client.call_tool(name="sum")
                except PeerError:
                    refused.append(peer)
        assert refused == ["a"]

    async def test_all_peers_can_share_a_limit(self) -> None:
        limit = RateLimit(rate=0.01, burst=3, per="process", methods=["tools/call"])

        class Limited(Calculator):
            options = ServerOptions(middleware=(limit,))

        server, outcomes = Limited(tool("sum")), list[bool]()
        for _ in range(5):
            async with together(v.Client, server) as client:
                try:
                    await client.call_tool(name="sum")
                    outcomes.append(True)
                except PeerError:
                    outcomes.append(False)
        assert outcomes == [True, True, True, False, False] and limit.refused == 2

    async def test_requests_over_the_limit_can_be_delayed(self) -> None:
        class Limited(Calculator):
            options = ServerOptions(middleware=(RateLimit(rate=20, wait=True, methods=["tools/call"]),))

        async with together(v.Client, Limited(tool("sum"))) as client:
            loop = asyncio.get_running_loop()
            begun = loop.time()
            await asyncio.gather(*(client.call_tool(name="sum") for _ in range(5)))
            assert loop.time() - begun == pytest.approx(4 / 20, abs=0.01)

    async def test_delays_have_a_maximum(self) -> None:
        class Limited(Calculator):
            options = ServerOptions(middleware=(RateLimit(rate=0.1, wait=True, max_wait=1),))

        async with together(v.Client, Limited(tool("sum"))) as client:
            await client.call_tool(name="sum")
            with pytest.raises(PeerError, match="too many"):
                await client.call_tool(name="sum")

    async def test_a_client_can_limit_itself(self) -> None:
        limit = RateLimit(rate=0.1, ways=[Way.SENT], methods=["tools/call", "notifications/roots/list_changed"])
        options = ClientOptions(middleware=(limit,), roots=[])
        server = Unchecked(tool("sum"))
        async with together(v.Client, server, options=options) as client:
            await client.call_tool(name="sum")
            with pytest.raises(RateLimited) as caught:
                await client.call_tool(name="sum")
            assert 9 < caught.value.retry_after <= 10
            await client.set_roots([])
            await client.set_roots([])
        assert len(server.called) == 1
        assert limit.refused == 2

    def test_invalid_limits_are_refused(self) -> None:
        for rate, burst in ((0, 1), (-1, 1), (1, 0), (float("nan"), 1)):
            with pytest.raises(ValueError, match="positive rate"):
                RateLimit(rate=rate, burst=burst)
        with pytest.raises(ValueError, match='per="process"'):
            RateLimit(rate=1, per="process", peer=lambda exchange: 1)


class TestChain:
    async def test_every_message_passes_both_ways(self) -> None:
        seen: list[tuple[str, str]] = []

        async def audit(exchange: Exchange, proceed: Proceed) -> Any:
            result = await proceed()
            kind = "request" if isinstance(exchange.method, RequestMethod) else "notification"
            seen.append((exchange.way.value, f"{kind} {exchange.method.name}"))
            return result

        server = Unchecked(tool("sum"))
        async with together(v.Client, server, options=ClientOptions(middleware=(audit,))) as client:
            await client.call_tool(name="sum")
            # There is no handler for this one.
            await list_changed(server, "tools")
            await asyncio.sleep(0)
        assert ("sent", "request tools/call") in seen
        assert ("received", "notification notifications/tools/list_changed") in seen
