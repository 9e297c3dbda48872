"""Our client and our server over HTTP in the modern era, with a process that dies."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.opening import open_any
from mcp_runtime.web_server import serve_http
from support.programs import quick_python


class Tools(v.Server):
    """Waits."""

    options = ServerOptions(list_changed=True)

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        await asyncio.sleep(60)
        return v.CallToolResult(content=[])


@pytest.mark.slow
async def test_a_server_that_is_killed_ends_every_call() -> None:
    command = (quick_python(), "-m", "runtime.transports.http.test_both_sides_modern")
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        async with connect_http(url) as peer:
            client = await open_any(peer, v.Client, v2025_11_25.Client, options=ClientOptions(timeout=60))
            assert isinstance(client, v.Client)
            subscription = await client.listen(tools=True)
            calls = [asyncio.ensure_future(client.call_tool(name="wait")) for _ in range(20)]
            await asyncio.sleep(0.3)
            process.kill()
            process.wait()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(result) for result in results} == {ConnectionClosed}
            with pytest.raises(ConnectionClosed):
                await anext(subscription)
            with pytest.raises(ConnectionClosed, match=r"/mcp: (cannot connect|the connection broke) .*; check"):
                await client.call_tool(name="echo")


if __name__ == "__main__":
    serve_http(Tools(), port=0, started=lambda url: print(f"{url}/mcp", flush=True))
