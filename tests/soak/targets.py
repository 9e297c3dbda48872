"""The targets of the fuzz tests: a server that answers fast, slowly, badly or never, and handlers of a client."""

import asyncio
from typing import Any

from mcp_runtime.core.errors import McpError, PeerError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import CallOptions
from support.talk import bindings

SHORT = CallOptions(timeout=0.02)


def make_server(revision: str, **options: Any) -> Any:
    """Return a server of a revision whose tools do what their names say."""
    v = bindings(revision)

    async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
        return v.ListToolsResult(tools=[])

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        said = params.name
        match params.name:
            case "wait":
                await asyncio.sleep(0.001)
            case "fail":
                raise KeyError("this is not for the peer")
            case "refuse":
                raise PeerError(-7, "no", {"why": None})
            case "print":
                print("this must not get among the messages")
            case "wrong":
                return {"content": 5}
            case "report":
                for number in range(3):
                    await ctx.report_progress(number + 1, 3)
                await asyncio.sleep(0.001)
            case "log":
                await ctx.log("info", params.arguments)
            case "ask":
                said = await _ask(v, ctx)
            case _:
                pass
        return v.CallToolResult(content=[v.TextContent(text=str(said))])

    async def ignore(self: Any, params: Any, ctx: Any) -> None:
        await asyncio.sleep(0)

    body: dict[str, Any] = {"list_tools": list_tools, "call_tool": call_tool, "on_roots_list_changed": ignore}
    server = type("Target", (v.Server,), body)()
    server.options = ServerOptions(name="target", version="1", log_rate=5.0, **options)
    return server


async def _ask(v: Any, ctx: Any) -> str:
    """Ask the client something; it may answer anything, any number of times."""
    message = v.SamplingMessage(role="user", content=v.TextContent(text="?"))
    try:
        result = await ctx.client.create_message(messages=[message], max_tokens=1, options=SHORT)
    except McpError as error:
        return type(error).__name__
    return str(result.model)


def make_handlers(revision: str) -> Any:
    """Return client handlers for every request of a server."""
    v = bindings(revision)

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        if params.max_tokens > 50:
            await asyncio.sleep(0.001)
        return v.CreateMessageResult(role="assistant", model="m", content=v.TextContent(text="!"))

    async def on_logging_message(self: Any, params: Any, ctx: Any) -> None:
        if params.level == "error":
            raise ValueError("this handler is broken")

    body: dict[str, Any] = {"create_message": create_message, "on_logging_message": on_logging_message}
    return type("Host", (v.ClientHandlers,), body)()


def client_options(**options: Any) -> ClientOptions:
    """Return the options of a client to attack."""
    return ClientOptions(name="target", roots=["file:///tmp"], **options)
