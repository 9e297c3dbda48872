"""Serves the tools in a JSON file over stdio; its first argument is the file."""

import json
import sys
from pathlib import Path
from typing import Any

from mcp_bindings import v2025_06_18 as v
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.stdio import serve_stdio

PAGE = 2


class Served(v.Server):
    """Lists the tools page by page, and echoes arguments."""

    options = ServerOptions(name="mcp-echo-server", version="3.1")

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        """Return one page."""
        tools: list[Any] = json.loads(Path(sys.argv[1]).read_text("utf-8"))["tools"]
        begin = int(params.cursor) if params and params.cursor else 0
        page = [v.Tool.model_validate_json(json.dumps(tool)) for tool in tools[begin : begin + PAGE]]
        more = str(begin + PAGE) if begin + PAGE < len(tools) else None
        return v.ListToolsResult(tools=page, next_cursor=more)

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        """Return the arguments."""
        return v.CallToolResult(content=[v.TextContent(text=json.dumps(params.arguments))])


if __name__ == "__main__":
    serve_stdio(Served())
