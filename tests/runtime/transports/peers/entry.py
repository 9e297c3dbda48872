"""A generated server behind `serve_stdio`."""

import sys

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
from mcp_runtime.core.transports.stdio import serve_stdio


class Echo(Server):
    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="echo", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        if "print" in sys.argv:
            print("called", params.name)
        return CallToolResult(content=[TextContent(text=str((params.arguments or {}).get("text")))])


serve_stdio(Echo())
print("served", file=sys.stderr)
