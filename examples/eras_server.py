"""A server of both eras: it asks for confirmation before it deletes, and notifies listeners that its list has changed.

In 2025-11-25 the question is a request of the server, in 2026-07-28 part of a result. The handlers are the same.
"""

import argparse
from typing import Any

from mcp_bindings import (
    CacheHint,
    PeerError,
    ServerOptions,
    ask_form,
    list_changed,
    requires,
    serve_stdio,
)
from mcp_bindings import (
    v2025_11_25 as legacy,
)
from mcp_bindings import (
    v2026_07_28 as modern,
)
from mcp_runtime.client_features import Action

OPTIONS = ServerOptions(name="files", version="1.0", list_changed=True)
FORM = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
files = ["draft", "letter", "notes"]


async def delete(client: Any, arguments: dict[str, Any] | None) -> str:
    """Delete a file, if the user confirms."""
    name = str((arguments or {}).get("name"))
    if name not in files:
        raise PeerError(-32602, f"there is no file {name}")
    answer = await ask_form(client, f"Delete {name}?", FORM)
    if answer.action is not Action.ACCEPT or not answer.content["sure"]:
        return f"{name} is kept"
    files.remove(name)
    for server in SERVERS:
        await list_changed(server, "tools")
    return f"{name} is deleted, {len(files)} are left"


class Legacy(legacy.Server):
    options = OPTIONS

    async def list_tools(
        self, params: legacy.PaginatedRequestParams | None, ctx: legacy.Context
    ) -> legacy.ListToolsResult:
        tool = legacy.Tool(name="delete", description=", ".join(files), input_schema=legacy.ToolInputSchema())
        return legacy.ListToolsResult(tools=[tool])

    async def call_tool(self, params: legacy.CallToolRequestParams, ctx: legacy.Context) -> legacy.CallToolResult:
        text = await delete(ctx.client, params.arguments)
        return legacy.CallToolResult(content=[legacy.TextContent(text=text)])


class Modern(modern.Server):
    options = ServerOptions(
        name="files", version="1.0", list_changed=True, cache={"tools/list": CacheHint(seconds=60, scope="public")}
    )

    async def list_tools(self, params: modern.PaginatedRequestParams, ctx: modern.Context) -> modern.ListToolsResult:
        tool = modern.Tool(name="delete", description=", ".join(files), input_schema=modern.ToolInputSchema())
        return modern.ListToolsResult(tools=[tool])

    @requires("elicitation.form", only=["delete"])
    async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> modern.CallToolResult:
        text = await delete(ctx.client, params.arguments)
        return modern.CallToolResult(content=[modern.TextContent(text=text)])


SERVERS = (Legacy(), Modern())

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(*SERVERS)
