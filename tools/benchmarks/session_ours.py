"""Our side of the conversations: generated bindings on the runtime, in memory, over stdio and over HTTP."""

import asyncio
import sys
from contextlib import AsyncExitStack
from functools import cache
from typing import Any

import http_raw
import messages
from session_worker import usage

from mcp_bindings import v2025_11_25 as v
from mcp_bindings import v2026_07_28 as m
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio, serve_stdio
from mcp_runtime.memory import connect_memory


@cache
def _result(method: str, name: str) -> Any:
    """Return a result that is created once, on first use."""
    found = v.METHODS[method]
    assert isinstance(found, RequestMethod)
    return found.result.validate(messages.RESULTS[name][1])


class EchoServer(v.Server):
    options = ServerOptions(name="echo", version="1", progress_rate=None)

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        if params is not None and params.cursor == "many":
            listed: v.ListToolsResult = _result("tools/list", "tools-result")
            return listed
        return v.ListToolsResult(tools=[v.Tool(name="echo", input_schema=v.ToolInputSchema())])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        if params.name == "usage":
            seconds, peak = usage()
            return v.CallToolResult(content=[v.TextContent(text=f"{seconds} {peak}")])
        if params.name == "text":
            text: v.CallToolResult = _result("tools/call", "escaped-result")
            return text
        return v.CallToolResult(content=[v.TextContent(text=(params.arguments or {})["text"])])


class Client:
    def __init__(self, client: v.Client, *, alone: bool) -> None:
        self._client = client
        self._alone = alone

    async def echo(self, text: str) -> str:
        result = await self._client.call_tool(name="echo", arguments={"text": text})
        content = result.content[0]
        assert isinstance(content, v.TextContent)
        return content.text

    async def tools(self) -> int:
        return len((await self._client.list_tools(cursor="many")).tools)

    async def text(self) -> int:
        content = (await self._client.call_tool(name="text")).content[0]
        assert isinstance(content, v.TextContent)
        return len(content.text)

    async def usage(self) -> tuple[float, int]:
        if self._alone:
            return 0.0, 0
        content = (await self._client.call_tool(name="usage")).content[0]
        assert isinstance(content, v.TextContent)
        seconds, peak = content.text.split()
        return float(seconds), int(peak)


class ModernServer(m.Server):
    options = EchoServer.options

    async def list_tools(self, params: m.PaginatedRequestParams | None, ctx: m.Context) -> m.ListToolsResult:
        return m.ListToolsResult(tools=[m.Tool(name="echo", input_schema=m.ToolInputSchema())])

    async def call_tool(self, params: m.CallToolRequestParams, ctx: m.Context) -> m.CallToolResult:
        if params.name == "usage":
            seconds, peak = usage()
            return m.CallToolResult(content=[m.TextContent(text=f"{seconds} {peak}")])
        return m.CallToolResult(content=[m.TextContent(text=(params.arguments or {})["text"])])


class ModernClient:
    def __init__(self, client: m.Client, *, alone: bool) -> None:
        self._client = client
        self._alone = alone

    async def echo(self, text: str) -> str:
        return await self._call("echo", text=text)

    async def usage(self) -> tuple[float, int]:
        if self._alone:
            return 0.0, 0
        seconds, peak = (await self._call("usage")).split()
        return float(seconds), int(peak)

    async def _call(self, name: str, **arguments: str) -> str:
        result = await self._client.call_tool(name=name, arguments=arguments)
        assert isinstance(result, m.CallToolResult)
        content = result.content[0]
        assert isinstance(content, m.TextContent)
        return content.text


async def memory(stack: AsyncExitStack) -> Client:
    peer = await stack.enter_async_context(connect_memory(EchoServer()))
    return Client(await v.Client.open(peer), alone=True)


async def modern(stack: AsyncExitStack) -> ModernClient:
    peer = await stack.enter_async_context(connect_memory(ModernServer()))
    return ModernClient(await m.Client.open(peer), alone=True)


async def stdio(stack: AsyncExitStack) -> Client:
    peer = await stack.enter_async_context(connect_stdio(sys.executable, __file__))
    return Client(await v.Client.open(peer), alone=False)


async def http(stack: AsyncExitStack) -> Client:
    peer = await stack.enter_async_context(connect_http(await http_raw.start(stack, __file__)))
    return Client(await v.Client.open(peer), alone=False)


async def http_modern(stack: AsyncExitStack) -> ModernClient:
    peer = await stack.enter_async_context(connect_http(await http_raw.start(stack, __file__)))
    return ModernClient(await m.Client.open(peer), alone=False)


OPEN = {
    "memory": memory,
    "modern": modern,
    "stdio": stdio,
    "http": http,
    "http-modern": http_modern,
}

if __name__ == "__main__":
    if "--http" in sys.argv:
        asyncio.run(http_raw.serve(asgi_app(EchoServer(), ModernServer())))
    else:
        serve_stdio(EchoServer())
