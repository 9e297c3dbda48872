"""A server with custom middleware that logs who did what, how long it took and how it ended."""

import argparse
import sys
import time
from typing import Any

from mcp_bindings import Exchange, PeerError, Proceed, ServerOptions, serve_stdio
from mcp_bindings.v2025_11_25 import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    Server,
    TextContent,
    Tool,
    ToolInputSchema,
)


async def audit(exchange: Exchange, proceed: Proceed) -> Any:
    """Write a line for every request and notification, in either direction."""
    started = time.perf_counter()
    outcome = "failed"
    try:
        result = await proceed()
        outcome = "ok"
        return result
    except PeerError as error:
        outcome = f"error {error.code}"
        raise
    finally:
        who = exchange.requester.info.get("name", "?")
        milliseconds = (time.perf_counter() - started) * 1000
        print(f"AUDIT {who} {exchange.way} {exchange.method.name} {outcome} {milliseconds:.1f} ms", file=sys.stderr)


class Vault(Server):
    options = ServerOptions(name="vault", middleware=(audit,))

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="open", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        if params.name != "open":
            raise PeerError(-32602, f"unknown tool {params.name}")
        await ctx.log("notice", "the vault was opened")
        return CallToolResult(content=[TextContent(text="open")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Vault())
