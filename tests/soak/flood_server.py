"""The target of floods: a server in a separate process, over stdio."""

import asyncio
import logging
from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.middleware.validate import Validate

ITEMS: dict[str, Any] = {"type": "array", "uniqueItems": True}


class FloodServer(v.Server):
    """Waits forever or sends large answers."""

    options = ServerOptions(name="flood", middleware=(Validate(),))

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        names = ("wait", "large", "unique")
        properties = {"items": ITEMS}
        return v.ListToolsResult(
            tools=[v.Tool(name=name, input_schema=v.ToolInputSchema(properties=properties)) for name in names]
        )

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        if params.name == "wait":
            await asyncio.sleep(3600)
        size: Any = (params.arguments or {}).get("size", 1)
        return v.CallToolResult(content=[v.TextContent(text="x" * int(size))])


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve_stdio(FloodServer())
