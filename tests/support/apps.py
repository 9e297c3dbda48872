"""Clients of decorated servers."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.memory import connect_memory


@asynccontextmanager
async def opened(server: mcp.App, handlers: mcp.ClientHandlers | None = None) -> AsyncGenerator[mcp.Client]:
    async with connect_memory(server) as peer:
        yield await mcp.Client.open(peer, handlers=handlers)


async def call(server: mcp.App, name: str, **arguments: Any) -> mcp.CallToolResult:
    async with opened(server) as client:
        return await client.call_tool(name=name, arguments=arguments)


async def listed(server: mcp.App) -> dict[str, Mapping[str, Any]]:
    async with opened(server) as client:
        return {tool.name: tool.model_dump(mode="json") for tool in (await client.list_tools()).tools}


def text_of(result: Any) -> str:
    return "\n".join(block.text for block in result.content)
