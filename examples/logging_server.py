"""A server of both eras whose ordinary log reaches the client: from handlers and threads, including exceptions.

In 2025-11-25 the client sets a level for the session, in 2026-07-28 each request names its level.
"""

import argparse
import asyncio
import logging
import time
from pathlib import Path

from mcp_bindings import McpLogHandler, serve_stdio
from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern

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


async def backup() -> str:
    copied = await asyncio.to_thread(copy_files)
    log.info("backup of %d files done", copied)
    return f"{copied} files copied"


class Backup(legacy.Server):
    async def list_tools(
        self, params: legacy.PaginatedRequestParams | None, ctx: legacy.Context
    ) -> legacy.ListToolsResult:
        return legacy.ListToolsResult(tools=[legacy.Tool(name="backup", input_schema=legacy.ToolInputSchema())])

    async def call_tool(self, params: legacy.CallToolRequestParams, ctx: legacy.Context) -> legacy.CallToolResult:
        return legacy.CallToolResult(content=[legacy.TextContent(text=await backup())])


class ModernBackup(modern.Server):
    async def list_tools(self, params: modern.PaginatedRequestParams, ctx: modern.Context) -> modern.ListToolsResult:
        return modern.ListToolsResult(tools=[modern.Tool(name="backup", input_schema=modern.ToolInputSchema())])

    async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> modern.CallToolResult:
        return modern.CallToolResult(content=[modern.TextContent(text=await backup())])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    servers = (Backup(), ModernBackup())
    logging.basicConfig(level=logging.DEBUG, handlers=[McpLogHandler(*servers)])
    serve_stdio(*servers)
