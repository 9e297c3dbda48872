"""A server whose ordinary log reaches the client: from handlers, from threads, exceptions included."""

import asyncio
import logging
import time
from pathlib import Path

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
from mcp_runtime.logs import McpLogHandler
from mcp_runtime.transports.stdio import serve_stdio

log = logging.getLogger("backup")


def copy_files() -> int:
    """Do blocking work in a thread, and log as any Python code does."""
    for number in range(1, 4):
        log.debug("copying file %d", number)
        time.sleep(0.01)
    log.warning({"message": "the disk is nearly full", "free_bytes": 1024, "api_key": "never sent"})
    try:
        Path("/no/such/file").read_text("utf-8")
    except OSError:
        log.exception("one file could not be read")
    return 3


class Backup(Server):
    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="backup", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        copied = await asyncio.to_thread(copy_files)
        log.info("backup of %d files done", copied)
        return CallToolResult(content=[TextContent(text=f"{copied} files copied")])


if __name__ == "__main__":
    server = Backup()
    logging.basicConfig(level=logging.DEBUG, handlers=[McpLogHandler(server)])
    serve_stdio(server)
