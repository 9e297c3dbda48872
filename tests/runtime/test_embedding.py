"""A server in the same process as its client, and its hook for new connections."""

import logging
from dataclasses import dataclass
from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_11_25
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.errors import ConnectionClosed, PeerError
from mcp_runtime.memory import connect_memory
from mcp_runtime.opening import open_any
from support.tools_server import Tools, text_result


class Welcoming(Tools):
    """Records connections, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.connections: list[Connection] = []
        self.fails = fails

    def connected(self, connection: Connection) -> None:
        if self.fails:
            raise KeyError("a secret")
        assert connection.revision == "2025-11-25"
        self.connections.append(connection)


async def test_a_server_in_memory() -> None:
    server = Welcoming()
    async with connect_memory(server) as peer:
        client = await v2025_11_25.Client.open(peer)
        assert await client.call_tool(name="echo", arguments={"n": 1}) == text_result("{'n': 1}")
        (connection,) = server.connections
    assert client.connection.closed_because == "closed by this side"
    assert await connection.wait_closed() == "the peer closed the connection"
    with pytest.raises(ConnectionClosed):
        await client.ping()


async def test_servers_of_several_revisions_in_memory() -> None:
    async with connect_memory(Tools(), v2024_11_05.Server()) as peer:
        client = await open_any(peer, v2024_11_05.Client, v2025_11_25.Client)
        assert isinstance(client, v2025_11_25.Client)


async def test_connecting_without_a_server_is_an_error() -> None:
    with pytest.raises(ValueError, match="no server"):
        async with connect_memory():
            pass


async def test_capabilities_of_the_peer() -> None:
    async with connect_memory(Tools()) as peer:
        client = await v2025_11_25.Client.open(peer)
        assert client.capabilities == {"tools": {"listChanged": True}, "logging": {}}
        paths = ("tools", "tools.listChanged", "logging", "prompts", "tools.x", "experimental.acme")
        assert [client.has(path) for path in paths] == [True, True, True, False, False, False]


async def test_a_server_that_fails_at_a_new_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with connect_memory(Welcoming(fails=True)) as peer:
        with caplog.at_level(logging.ERROR), pytest.raises(PeerError, match="internal error") as caught:
            await v2025_11_25.Client.open(peer)
        assert caught.value.code == -32603 and "secret" in caplog.text


async def test_names_of_methods_the_runtime_answers_are_free() -> None:
    class Own(Tools):
        def initialize(self) -> str:
            return "set up"

    async with connect_memory(server := Own()) as peer:
        await v2025_11_25.Client.open(peer)
        assert server.initialize() == "set up" and not hasattr(v2025_11_25.Server, "initialize")


@dataclass(frozen=True)
class Frozen(v2025_11_25.Server):
    """A server that nobody may change."""

    greeting: str

    async def call_tool(self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context) -> Any:
        return v2025_11_25.CallToolResult(content=[v2025_11_25.TextContent(text=self.greeting)])


async def test_a_server_may_be_frozen() -> None:
    async with connect_memory(Frozen("hello")) as peer:
        client = await v2025_11_25.Client.open(peer)
        assert (await client.call_tool(name="x")).content == [v2025_11_25.TextContent(text="hello")]
