"""Tasks of 2026-07-28 with fastmcp-tasks 4.1.4, in both directions, and with the client of ext-tasks 0.2.2 (npm)."""

import asyncio
import json
import subprocess
from collections.abc import AsyncGenerator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    asynccontextmanager,
    suppress,
)
from typing import Any

import pytest

from interop.processes import PEERS, SECONDS, TESTS, interpreter, node_package
from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.extensions.tasks import TaskFailed, TaskHandle, Tasks, start_task
from support.ports import free_port

pytestmark = [pytest.mark.interop, pytest.mark.xdist_group("tasks"), pytest.mark.timeout(SECONDS)]

PEER = str(PEERS / "fastmcp_bakery.py")


def ours(*options: str) -> tuple[str, ...]:
    """Return the command line of our server."""
    return (interpreter(""), "-m", "interop.our_bakery", *options)


def test_their_client_drives_our_server() -> None:
    command = [interpreter("MCP_PEER_TASKS"), PEER, "call", *ours()]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
        "bake": [False, "baked", "completed"],
        "survey": [False, "3 loaves", "completed"],
        "burn": ["ToolError", "burnt", "completed"],
        "protest": ["ToolError", "no flour", "failed"],
        "forever": "cancelled",
        "plain": "3 loaves",
    }


def test_their_client_does_not_name_tasks_over_http() -> None:
    """A client must send the id of the task as `Mcp-Name` (tasks extension, Streamable HTTP)."""
    with subprocess.Popen(ours("http"), cwd=TESTS, stdout=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stdout is not None
            command = [interpreter("MCP_PEER_TASKS"), PEER, "call", server.stdout.readline().strip()]
            done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
        finally:
            server.kill()
    assert "the header Mcp-Name is missing, but taskId in the body is" in done.stderr


def test_the_client_of_npm_drives_our_server() -> None:
    node_package("@modelcontextprotocol/ext-tasks")
    command = ["node", str(PEERS / "ts_tasks_client.mjs"), *ours()]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
        "bake": ["task", "completed", False, "baked"],
        "survey": ["task", "completed", False, "3 loaves"],
        "burn": ["task", "completed", True, "burnt"],
        "protest": ["task", "failed", -32603, "no flour"],
        "forever": "cancelled",
    }


class Baker(mcp.ClientHandlers):
    async def elicit(self, params: Any, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        return mcp.ElicitResult(action="accept", content={"loaves": 3})


@asynccontextmanager
async def http_peer() -> AsyncGenerator[Peer]:
    """Run their server over HTTP, and connect to it."""
    port = free_port()
    with subprocess.Popen([interpreter("MCP_PEER_TASKS"), PEER, "serve", str(port)], cwd=TESTS) as server:
        try:
            async with asyncio.timeout(SECONDS / 2):
                while True:
                    with suppress(OSError):
                        _, writer = await asyncio.open_connection("127.0.0.1", port)
                        writer.close()
                        break
                    await asyncio.sleep(0.1)
            async with connect_http(f"http://127.0.0.1:{port}/mcp") as peer:
                yield peer
        finally:
            server.kill()


def stdio_peer() -> AbstractAsyncContextManager[Peer]:
    return connect_stdio(interpreter("MCP_PEER_TASKS"), PEER, "serve")


@pytest.mark.parametrize("connected", [stdio_peer, http_peer])
async def test_our_client_drives_their_server(connected: Callable[[], AbstractAsyncContextManager[Peer]]) -> None:
    async with connected() as peer:
        client = await mcp.Client.open(peer, handlers=Baker(), extensions=[Tasks()])

        async def started(name: str) -> TaskHandle[Any]:
            handle = await start_task(client, TOOLS_CALL, {"name": name, "arguments": {}})
            assert handle.id
            return handle

        for name, is_error, text in (("bake", False, "baked"), ("survey", False, "3 loaves"), ("burn", True, "burnt")):
            handle = await started(name)
            result = await handle.result()
            assert (result.is_error, handle.record.status) == (is_error, "completed")
            assert text in result.content[0].text
        handle = await started("protest")
        with pytest.raises(PeerError) as caught:
            await handle.result()
        assert (caught.value.code, caught.value.message, handle.record.status) == (-32603, "no flour", "failed")
        handle = await started("forever")
        await handle.cancel()
        with pytest.raises(TaskFailed):
            await handle.result()
        assert handle.record.status == "cancelled"
        call = asyncio.ensure_future(client.call_tool(name="survey"))
        assert (await call).content[0].text == "3 loaves"  # type: ignore[union-attr]
