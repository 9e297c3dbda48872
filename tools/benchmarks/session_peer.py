"""The peer's side of the conversations: mcp 2.3.0, a low-level server without extras, in the same revision.

Imported dynamically, since the project's own environment does not have it.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any

import http_raw
import messages
from session_worker import usage

mcp: Any = import_module("mcp")
lowlevel: Any = import_module("mcp.server.lowlevel")
types: Any = import_module("mcp_types")


async def list_tools(ctx: Any, params: Any) -> Any:
    if params is not None and params.cursor == "many":
        return RESULTS["tools"]
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in NAMES])


async def call_tool(ctx: Any, params: Any) -> Any:
    if params.name == "usage":
        seconds, peak = usage()
        return types.CallToolResult(content=[types.TextContent(type="text", text=f"{seconds} {peak}")])
    if params.name == "text":
        return RESULTS["text"]
    return types.CallToolResult(content=[types.TextContent(type="text", text=params.arguments["text"])])


NAMES = ("echo", "usage", "text")
RESULTS = {
    "tools": types.ListToolsResult.model_validate(messages.TOOLS_RESULT, by_name=False),
    "text": types.CallToolResult.model_validate(messages.ESCAPED_RESULT, by_name=False),
}


def server() -> Any:
    return lowlevel.Server("echo", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


class Client:
    def __init__(self, client: Any, *, alone: bool) -> None:
        self._client = client
        self._alone = alone

    async def echo(self, text: str) -> str:
        result = await self._client.call_tool("echo", {"text": text})
        found: str = result.content[0].text
        return found

    async def tools(self) -> int:
        return len((await self._client.list_tools(cursor="many")).tools)

    async def text(self) -> int:
        return len((await self._client.call_tool("text", {})).content[0].text)

    async def usage(self) -> tuple[float, int]:
        if self._alone:
            return 0.0, 0
        seconds, peak = (await self._client.call_tool("usage", {})).content[0].text.split()
        return float(seconds), int(peak)


async def memory(stack: AsyncExitStack) -> Client:
    """Make direct calls without messages: the least work that the peer can do in one process."""
    return Client(await stack.enter_async_context(mcp.Client(server())), alone=True)


async def streams(stack: AsyncExitStack) -> Client:
    return Client(await stack.enter_async_context(mcp.Client(server(), mode="legacy")), alone=True)


async def stdio(stack: AsyncExitStack) -> Client:
    parameters = mcp.StdioServerParameters(command=sys.executable, args=[__file__])
    return Client(await stack.enter_async_context(mcp.Client(parameters, mode="legacy")), alone=False)


async def http(stack: AsyncExitStack) -> Client:
    url = await http_raw.start(stack, __file__)
    return Client(await stack.enter_async_context(mcp.Client(url, mode="legacy")), alone=False)


OPEN = {"memory": memory, "streams": streams, "stdio": stdio, "http": http}


async def serve() -> None:
    stdio_server: Any = import_module("mcp.server.stdio").stdio_server
    served = server()
    async with stdio_server() as (reading, writing):
        await served.run(reading, writing, served.create_initialization_options())


async def serve_http() -> None:
    manager: Any = import_module("mcp.server.streamable_http_manager").StreamableHTTPSessionManager(server())

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await manager.handle_request(scope, receive, send)

    async with manager.run():
        await http_raw.serve(app)


if __name__ == "__main__":
    asyncio.run(serve_http() if "--http" in sys.argv else serve())
