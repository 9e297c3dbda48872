"""The target of floods: a server in a separate process, over stdio."""

import asyncio
import logging
from typing import Any

from mcp_bindings import v2025_03_26 as batches
from mcp_bindings import v2025_11_25 as v
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.middleware.validate import Validate
from mcp_runtime.server import ServerOptions
from mcp_runtime.transports.stdio import serve_stdio

ITEMS: dict[str, Any] = {"type": "array", "uniqueItems": True}


class FloodServer(v.Server):
    """Waits forever, sends large answers, fails, accepts subscriptions and tasks."""

    options = ServerOptions(name="flood", extensions=[Tasks(MemoryTaskStore())], middleware=(Validate(),))

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        names = ("wait", "large", "fail", "unique")
        properties = {"items": ITEMS}
        return v.ListToolsResult(
            tools=[
                v.Tool(
                    name=name,
                    input_schema=v.ToolInputSchema(properties=properties),
                    execution=v.ToolExecution(task_support="optional"),
                )
                for name in names
            ]
        )

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        match params.name:
            case "wait":
                await asyncio.sleep(3600)
            case "fail":
                raise KeyError("this handler is broken")
            case _:
                pass
        size: Any = (params.arguments or {}).get("size", 1)
        return v.CallToolResult(content=[v.TextContent(text="x" * int(size))])

    async def list_resources(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListResourcesResult:
        return v.ListResourcesResult(resources=[])

    async def subscribe(self, params: v.SubscribeRequestParams, ctx: v.Context) -> v.EmptyResult:
        return v.EmptyResult()

    async def on_roots_list_changed(self, params: v.NotificationParams | None, ctx: v.Context) -> None:
        await asyncio.sleep(3600)


class BatchServer(batches.Server):
    """Accepts batches, which only its revision has."""


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    serve_stdio(FloodServer(), BatchServer())
