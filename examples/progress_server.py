"""A server with a slow tool: it reports progress, and cleans up when the call is cancelled."""

import argparse
import asyncio

from mcp_bindings import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    PeerError,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    serve_stdio,
)

LOAVES = {"type": "object", "properties": {"loaves": {"type": "integer"}}, "required": ["loaves"]}


class Baker(Server):
    options = ServerOptions(name="baker", version="1.0")

    def __init__(self) -> None:
        self.binned = "nothing was thrown away"

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        tools = [
            Tool(name="bake", input_schema=ToolInputSchema.model_validate(LOAVES)),
            Tool(name="bin", input_schema=ToolInputSchema()),
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        match params.name:
            case "bake":
                return await self.bake(int((params.arguments or {}).get("loaves", 1)), ctx)
            case "bin":
                return CallToolResult(content=[TextContent(text=self.binned)])
            case _:
                raise PeerError(-32602, f"unknown tool {params.name}")

    async def bake(self, loaves: int, ctx: Context) -> CallToolResult:
        done = 0
        try:
            for done in range(1, loaves + 1):
                await asyncio.sleep(0.02)
                await ctx.report_progress(done, loaves, f"loaf {done}")
        except asyncio.CancelledError:
            # The client cancelled the call and gets no answer; only cleaning up is left.
            self.binned = f"{done} loaves were thrown away: {ctx.cancel_reason}"
            raise
        return CallToolResult(content=[TextContent(text=f"{loaves} loaves")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Baker())
