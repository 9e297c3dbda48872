"""Listening continues after a restart of the server."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.client_features.changes import listening
from mcp_runtime.core.changes.listen import Change
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.memory import connect_memory
from support.roles import make_server, returns

SERVER = """
import os, sys
from pathlib import Path
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.transports.stdio import serve_stdio

starts = Path(sys.argv[1])
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")

class Changing(v.Server):
    options = ServerOptions(list_changed=True, resource_updates=True)

    async def list_tools(self, params, ctx):
        return v.ListToolsResult(tools=[v.Tool(name=starts.read_text(), input_schema=v.ToolInputSchema())])

    async def call_tool(self, params, ctx):
        await list_changed(self, "tools")
        return v.CallToolResult(content=[v.TextContent(text=str(os.getpid()))])

    async def list_resources(self, params, ctx):
        return v.ListResourcesResult(resources=[])

    async def read_resource(self, params, ctx):
        return v.ReadResourceResult(contents=[])

serve_stdio(Changing())
"""


TOOLS = Change(what="tools")
NO_TOOLS = returns("ListToolsResult", tools=[])


@pytest.mark.slow
@pytest.mark.requirement("listening.again")
async def test_a_killed_server_is_restarted_and_the_subscription_resumed(tmp_path: Path) -> None:
    @asynccontextmanager
    async def opens() -> AsyncGenerator[v.Client]:
        async with connect_stdio(sys.executable, "-c", SERVER, tmp_path / "starts") as peer:
            yield await v.Client.open(peer)

    listed: list[str] = []
    async with asyncio.timeout(100), listening(opens, tools=True, resources=["a:/x"], pause=0.01) as changes:
        for number in (1, 2, 3):
            client, first = await anext(changes)
            assert first == TOOLS
            assert (await anext(changes))[1] == Change(what="resource", uri="a:/x")
            listed += [tool.name async for tool in client.iter_tools()]
            [block] = (await client.call_tool(name="change")).content
            same, change = await anext(changes)
            assert (same, change.what) == (client, "tools")
            assert isinstance(block, v.TextContent)
            if number < 3:
                os.kill(int(block.text), signal.SIGKILL)
    assert listed == ["x", "xx", "xxx"]


class Shop:
    """A server in memory whose connections can be cut."""

    def __init__(self, **handlers: Any) -> None:
        self.server = make_server(
            "2026-07-28", ServerOptions(list_changed=True), **{"list_tools": NO_TOOLS, **handlers}
        )
        self.opened = 0
        self.clients: list[v.Client] = []

    @asynccontextmanager
    async def opens(self) -> AsyncGenerator[v.Client]:
        self.opened += 1
        async with connect_memory(self.server) as peer:
            self.clients.append(await v.Client.open(peer, options=ClientOptions(timeout=60)))
            yield self.clients[-1]


async def test_reconnecting_stops_after_repeated_failures() -> None:
    shop, seen = Shop(), list[Change]()
    async with listening(shop.opens, tools=True, attempts=3, pause=0.001) as changes:
        with pytest.raises(ConnectionClosed):
            async for client, change in changes:
                seen.append(change)
                await client.connection.aclose()
    assert (shop.opened, seen) == (3, [TOOLS] * 3)


async def test_old_failures_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_runtime.client_features.changes.STEADY", 0.02)
    shop = Shop()
    async with listening(shop.opens, tools=True, attempts=3, pause=0.001) as changes:
        for seconds in (0, 0, 0.05, 0, 0.05):
            client, _ = await anext(changes)
            await asyncio.sleep(seconds)
            await client.connection.aclose()
        assert (await anext(changes))[1] == TOOLS
    assert shop.opened == 6


async def test_a_subscription_ended_by_the_server_is_renewed() -> None:
    shop = Shop()
    async with listening(shop.opens, tools=True, pause=0.001) as changes:
        client, _ = await anext(changes)
        id_ = next(iter(client.connection.inbound.notifications.subscriptions.open))
        client.connection.outbound.end(id_)
        again, change = await anext(changes)
        assert again is not client and change == TOOLS and shop.opened == 2
        assert await list_changed(shop.server, "tools") == 1, "the first connection is closed"
        assert (await anext(changes))[1].what == "tools"


async def test_immediate_failures_are_not_retried() -> None:
    @asynccontextmanager
    async def opens() -> AsyncGenerator[v.Client]:
        tried.append(1)
        async with connect_stdio("/no/such/command") as peer:
            yield await v.Client.open(peer)

    tried: list[int] = []
    with pytest.raises(ConnectionClosed, match="no/such/command"):
        async with listening(opens, tools=True) as changes:
            await anext(changes)
    assert len(tried) == 1


async def test_leaving_closes_the_connection() -> None:
    shop = Shop()
    async with listening(shop.opens, tools=True) as changes:
        await anext(changes)
    assert shop.clients[0].connection.closed_because is not None
    with pytest.raises(StopAsyncIteration):
        await anext(changes)
