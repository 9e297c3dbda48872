"""A server that lets each client call its tools three times at once, and then five times per second."""

import argparse

from mcp_bindings import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    RateLimit,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    serve_stdio,
)


class Lookup(Server):
    options = ServerOptions(middleware=(RateLimit(rate=5, burst=3, methods=["tools/call"]),))

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="lookup", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        return CallToolResult(content=[TextContent(text="found")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Lookup())
