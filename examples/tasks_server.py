"""A server with a tool slow enough to be called as a task: it counts the words of a text, one at a time."""

import argparse
import asyncio

from mcp_bindings.v2025_11_25 import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    CreateTaskResult,
    ListToolsResult,
    PaginatedRequestParams,
    Server,
    TextContent,
    Tool,
    ToolExecution,
    ToolInputSchema,
)
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.server import ServerOptions
from mcp_runtime.transports.stdio import serve_stdio


class Counter(Server):
    options = ServerOptions(
        name="counter", version="1.0", extensions=[Tasks(MemoryTaskStore(ttl=600, poll_interval=0.05))]
    )

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        schema = ToolInputSchema(properties={"text": {"type": "string"}}, required=["text"])
        tool = Tool(name="count", input_schema=schema, execution=ToolExecution(task_support="required"))
        return ListToolsResult(tools=[tool])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult | CreateTaskResult:
        words = str((params.arguments or {}).get("text", "")).split()
        for number, word in enumerate(words, start=1):
            await asyncio.sleep(0.02)
            await ctx.report_progress(number, len(words), word)
        return CallToolResult(content=[TextContent(text=f"{len(words)} words")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Counter())
