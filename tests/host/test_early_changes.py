"""A list that changes right after it was read first is read again, however the server reports the change."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from host.serving import InMemory
from mcp_bindings import Client
from mcp_bindings import v2025_06_18 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.host import Host, ServerEntry, allow_all
from support.stdio_peers import eventually

PROGRAM = """
import json, sys
lists = 0
def send(message): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if "id" not in message:
        continue
    result = {}
    if method == "initialize":
        result = {"protocolVersion": "2025-11-25", "serverInfo": {"name": "e", "version": "1"}}
        result["capabilities"] = {"tools": {"listChanged": True}}
    elif method == "tools/list":
        lists += 1
        result = {"tools": [{"name": f"v{lists}", "inputSchema": {"type": "object"}}]}
    elif method != "ping":
        send({"id": message["id"], "error": {"code": -32601, "message": "no"}})
        continue
    send({"id": message["id"], "result": result})
    if method == "tools/list" and lists == 1:
        send({"method": "notifications/tools/list_changed"})
"""


def growing(package: Any) -> Any:
    """Return a server whose list grows, and is reported as changed, while its first reader gets it."""

    class Growing(package.Server):  # type: ignore[misc]
        options = ServerOptions(name="growing", list_changed=frozenset(("tools",)))
        lists = 0

        async def list_tools(self, params: Any, ctx: Any) -> Any:
            self.lists += 1
            if self.lists == 1:
                await list_changed(self, "tools")
            schema = package.ToolInputSchema()
            return package.ListToolsResult(tools=[package.Tool(name=f"v{self.lists}", input_schema=schema)])

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            raise NotImplementedError

    return Growing()


@asynccontextmanager
async def host_of(entry: ServerEntry) -> AsyncGenerator[Host[Any]]:
    async with Host([entry], Client, policy=allow_all) as host:
        yield host


@pytest.mark.parametrize("package", [legacy, modern], ids=lambda package: package.REVISION)
async def test_a_change_during_the_first_list_is_noticed(package: Any) -> None:
    async with host_of(InMemory(name="r", make=lambda: growing(package))) as host:
        await eventually(lambda: list(host.view().tools) == ["r__v2"])


async def test_a_change_right_after_the_first_list_is_noticed(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text(PROGRAM)
    servers = {"mcpServers": {"r": {"command": sys.executable, "args": [str(script)]}}}
    async with Host.from_mapping(servers, Client, policy=allow_all) as host:
        await eventually(lambda: list(host.view().tools) == ["r__v2"])


async def test_a_server_that_answers_no_subscription_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(modern.App[Any]):
        def connected(self, connection: Any) -> None:
            super().connected(connection)

            async def wait(params: Any, ctx: Any) -> Any:
                await asyncio.sleep(3600)

            connection.handle(connection.binding.methods["subscriptions/listen"], wait)

    monkeypatch.setattr("mcp_runtime.host.servers.LISTENING", 0.05)
    app = Silent("silent")

    @app.tool()
    async def tea() -> str:
        """Brew."""
        return "tea"

    async with host_of(InMemory(name="s", make=lambda: app)) as host:
        await eventually(lambda: list(host.view().tools) == ["s__tea"])
