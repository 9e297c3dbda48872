"""Our server of 2026-07-28 for `peers/sdk_modern_client.py`.

With ``--both`` a server of 2025-11-25 runs beside it; with ``--bridged`` it is a bridged server of 2025-11-25; with
``--sealed`` its handlers are replayed with each answer. With ``--http`` it is served over HTTP, and prints its URL.
"""

import asyncio
import sys
from typing import Any

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions, Suspended
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.sealed import InputState
from mcp_runtime.web_server import serve_http

TOOLS = ("three", "both", "count", "say", "slow", "cancelled_calls", "change", "fail")


class Tools:
    """The same tools as the official SDK's server in `peers/sdk_modern_server.py`, under the same names."""

    package: Any
    options: ServerOptions | None = ServerOptions(
        name="modern",
        version="1",
        instructions="Ask.",
        list_changed=True,
        resource_updates=True,
        progress_rate=None,
        inputs=InputState(keys=[bytes(32)]) if "--sealed" in sys.argv else Suspended(),
    )

    def __init__(self) -> None:
        self.cancelled = 0

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        schema = self.package.ToolInputSchema()
        return self.package.ListToolsResult(tools=[self.package.Tool(name=name, input_schema=schema) for name in TOOLS])

    async def read_resource(self, params: Any, ctx: Any) -> Any:
        raise PeerError(-32602, "there is none")

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        tool: Any = getattr(self, params.name) if params.name in TOOLS else None
        if tool is None:
            raise PeerError(-32602, "unknown tool")
        said = await tool(ctx, params.arguments or {})
        return self.package.CallToolResult(content=[self.package.TextContent(text=said)])

    async def three(self, ctx: Any, arguments: dict[str, Any]) -> str:
        schema = self.package.ElicitRequestFormParamsRequestedSchema(properties={"word": self.package.StringSchema()})
        words: list[str] = []
        for number in range(3):
            answer = await ctx.client.elicit(message=f"word {number}", requested_schema=schema)
            words.append(str(answer.content["word"]))
        return " ".join(words)

    async def both(self, ctx: Any, arguments: dict[str, Any]) -> str:
        message = self.package.SamplingMessage(role="user", content=self.package.TextContent(text="hello"))
        client: Any = ctx.client  # Both are deprecated but still supported.
        asked: list[Any] = [client.list_roots(), client.create_message(messages=[message], max_tokens=5)]
        found: list[Any] = await asyncio.gather(*asked)
        return f"{found[0].roots[0].uri} {found[1].content.text}"

    async def count(self, ctx: Any, arguments: dict[str, Any]) -> str:
        for step in range(arguments["steps"]):
            await ctx.report_progress(step + 1, arguments["steps"], f"step {step + 1}")
        return str(arguments["steps"])

    async def say(self, ctx: Any, arguments: dict[str, Any]) -> str:
        await ctx.log("warning", {"said": arguments["text"]}, logger="voice")
        return str(arguments["text"])

    async def slow(self, ctx: Any, arguments: dict[str, Any]) -> str:
        try:
            await ctx.report_progress(1)
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "never"

    async def cancelled_calls(self, ctx: Any, arguments: dict[str, Any]) -> str:
        return str(self.cancelled)

    async def change(self, ctx: Any, arguments: dict[str, Any]) -> str:
        server: Any = self
        await list_changed(server, "tools")
        await resource_updated(server, arguments["uri"])
        return str(arguments["uri"])

    async def fail(self, ctx: Any, arguments: dict[str, Any]) -> str:
        raise PeerError(-7, "no luck", {"why": "luck"})


class Modern(Tools, v.Server):
    """The tools in the types of 2026-07-28."""

    package = v


class Bridged(Tools, v2025_11_25.Server):
    """The tools in the types of 2025-11-25."""

    package = v2025_11_25

    async def subscribe(
        self, params: v2025_11_25.SubscribeRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.EmptyResult:
        return v2025_11_25.EmptyResult()


class Legacy(v2025_11_25.Server):
    """Another era on the same stream."""


if __name__ == "__main__":
    served: tuple[Any, ...] = (Modern(), *([Legacy()] if "--both" in sys.argv else []))
    if "--bridged" in sys.argv:
        served = (Bridged(),)
    if "--http" in sys.argv:
        serve_http(*served, port=0, started=lambda url: print(f"{url}/mcp", flush=True))
    else:
        serve_stdio(*served)
