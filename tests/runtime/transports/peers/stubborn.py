"""A server whose handlers do not end: stubborn.py."""

import asyncio
import time
from contextlib import suppress

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.transports.stdio import serve_stdio


class Stubborn(v.Server):
    """Its tools never end, or end late."""

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        await ctx.log("info", "begun")
        await asyncio.sleep(0.05)  # so that it has been sent
        match params.name:
            case "swallows":
                while True:
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(3600)
            case "thread":
                await asyncio.to_thread(time.sleep, 3600)
            case "blocks":
                time.sleep(3600)
            case _:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3600)
        return v.CallToolResult(content=[])


if __name__ == "__main__":
    serve_stdio(Stubborn(), end_timeout=1, grace=0.5)
    print("served")
