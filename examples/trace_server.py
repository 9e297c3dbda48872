"""A server to observe; see trace_client.py."""

import argparse

from mcp_bindings import serve_stdio
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


class Login(Server):
    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="login", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        user = (params.arguments or {}).get("user")
        return CallToolResult(content=[TextContent(text=f"welcome, {user}")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Login())
