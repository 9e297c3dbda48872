"""Our client and our server over HTTP in the modern era: through a proxy that cuts, and with a process that dies."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.client import ClientOptions, open_any
from mcp_runtime.errors import ConnectionClosed, RequestTimeout
from mcp_runtime.features.subscriptions import list_changed
from mcp_runtime.options import CallOptions
from mcp_runtime.server import ServerOptions
from mcp_runtime.transports.http import asgi_app, connect_http, serve_http
from support.cutting import Proxy, cutting
from support.http import served
from support.stdio_peers import eventually

SCHEMA = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}


class Tools(v.Server):
    """Echoes, asks, and waits."""

    options = ServerOptions(list_changed=True)

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = 0

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[v.Tool(name="echo", input_schema=v.ToolInputSchema.model_validate(SCHEMA))])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        text = str((params.arguments or {}).get("text"))
        if params.name == "ask":
            form = v.ElicitRequestFormParamsRequestedSchema(properties={"word": v.StringSchema()})
            answer = await ctx.client.elicit(message="?", requested_schema=form)
            text = str((answer.content or {})["word"])
        elif params.name == "wait":
            self.begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return v.CallToolResult(content=[v.TextContent(text=text)])


class Host(v.ClientHandlers):
    async def elicit(self, params: v.ElicitRequestParams, ctx: v.ClientContext) -> v.ElicitResult:
        return v.ElicitResult(action="accept", content={"word": "tea"})


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[v.Client, Tools, Proxy]]:
    server = Tools()
    async with served(asgi_app(server)) as url, cutting(url) as proxy, connect_http(f"{proxy.url}/mcp") as peer:
        yield await v.Client.open(peer, handlers=Host(), options=ClientOptions(timeout=60)), server, proxy


async def said(client: v.Client, name: str, text: str = "", options: CallOptions | None = None) -> str:
    [block] = (await client.call_tool(name=name, arguments={"text": text}, options=options)).content
    assert isinstance(block, v.TextContent)
    return block.text


async def test_everything_works_and_is_cancelled_and_cut() -> None:
    async with opened() as (client, server, proxy):
        # The first call is made before the client has learned about the header.
        assert await said(client, "echo", "Zürich\r\n") == "Zürich\r\n"
        assert await asyncio.gather(*(said(client, "echo", str(n)) for n in range(32))) == [str(n) for n in range(32)]
        assert await said(client, "ask") == "tea"
        async with await client.listen(tools=True) as changes:
            await list_changed(server, "tools")
            assert (await anext(changes)).what == "tools"
            proxy.cut()
            with pytest.raises(ConnectionClosed):
                await anext(changes)
        while not server.begun.is_set():
            # On a busy machine the server has perhaps not received it in time.
            with pytest.raises(RequestTimeout):
                await said(client, "wait", options=CallOptions(timeout=0.6))
        await eventually(lambda: server.cancelled)
        server.begun.clear()
        before = server.cancelled
        waiting = asyncio.ensure_future(said(client, "wait"))
        await server.begun.wait()
        proxy.cut()
        with pytest.raises(ConnectionClosed):
            await waiting
        await eventually(lambda: server.cancelled > before)
        assert await said(client, "echo", "on") == "on"


@pytest.mark.slow
async def test_a_server_that_is_killed_ends_every_call() -> None:
    command = (sys.executable, "-m", "runtime.transports.http.test_both_sides_modern")
    with subprocess.Popen(command, cwd=Path(__file__).parents[3], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        async with connect_http(url) as peer:
            client = await open_any(peer, v.Client, v2025_11_25.Client, options=ClientOptions(timeout=60))
            assert isinstance(client, v.Client)
            subscription = await client.listen(tools=True)
            calls = [asyncio.ensure_future(said(client, "wait")) for _ in range(20)]
            await asyncio.sleep(0.3)
            process.kill()
            process.wait()
            results = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(result) for result in results} == {ConnectionClosed}
            with pytest.raises(ConnectionClosed):
                await anext(subscription)
            with pytest.raises(ConnectionClosed, match=r"/mcp: cannot connect .*; check the URL"):
                await said(client, "echo")


if __name__ == "__main__":
    serve_http(Tools(), port=0, started=lambda url: print(f"{url}/mcp", flush=True))
