"""Serves one tool over HTTP, to clients that have the token; prints its URL.

python -m tools.http_served TOKEN        # in tests/
"""

import sys
from collections.abc import Mapping
from typing import Any

from mcp_bindings import v2025_06_18 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.web_server import serve_http


class Served(v.Server):
    """Lists a tool to authorized clients only."""

    options = ServerOptions(name="over-http", version="1.0")

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        """Return the tool."""
        if ctx.principal is None or ctx.principal.subject != sys.argv[1]:
            raise PeerError(-32000, "who are you?")
        return v.ListToolsResult(tools=[v.Tool(name="say", input_schema=v.ToolInputSchema())])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        """Return an empty result."""
        return v.CallToolResult(content=[])


def token(scope: Mapping[str, Any]) -> str | None:
    """Return what a request states in its header `Authorization`, as the name of its sender."""
    found: bytes | None = dict(scope["headers"]).get(b"authorization")
    return found.decode("ascii") if found else None


if __name__ == "__main__":
    serve_http(Served(), port=0, principal=token, started=lambda url: print(f"{url}/mcp", flush=True))
