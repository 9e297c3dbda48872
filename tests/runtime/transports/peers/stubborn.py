"""A server whose handlers do not end."""

import asyncio
import sys
import time
from contextlib import suppress

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.transports.stdio import serve_stdio


class Stubborn(v.Server):
    """Its tools never end, or end late."""

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        match params.name:
            case "swallows":
                begun()
                while True:
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(3600)
            case "thread":
                await asyncio.to_thread(block)
            case "blocks":
                block()
            case _:
                begun()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3600)
        return v.CallToolResult(content=[])


def begun() -> None:
    """Tell the test that the tool is about to hang."""
    print("begun", file=sys.stderr, flush=True)


def block() -> None:
    """Block a thread for longer than any test lasts."""
    begun()
    time.sleep(3600)


if __name__ == "__main__":
    serve_stdio(Stubborn(), end_timeout=1, grace=0.5)
    print("served")
