"""A server that sends every kind of request while listing tools, and lists some only to clients that can answer.

Its first argument is what it does: ``ask``; ``env`` to name a tool after $TOOL_NAME and its working directory; ``fail``
to end with a traceback.
"""

import os
import sys
from pathlib import Path
from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.stdio import serve_stdio
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks


class Asking(v.Server):
    """Lists `plain`, and a tool per declared capability of the client, with the client's answer as its description."""

    # Requests of the modern era cannot ask anything while tools are listed.
    options = ServerOptions(name="asking", version="1", revisions="own", extensions=[Tasks(MemoryTaskStore())])

    async def list_tools(self, params: Any, ctx: v.Context) -> v.ListToolsResult:
        """Return the tools."""
        tools = [v.Tool(name="plain", input_schema=v.ToolInputSchema())]
        declared = ctx.client.connection.declared[Side.CLIENT]
        if "elicitation" in declared:
            schema = v.ElicitRequestFormParamsRequestedSchema(properties={})
            answer = await ctx.client.elicit(message="?", requested_schema=schema)
            tools.append(v.Tool(name="ask", description=answer.action, input_schema=v.ToolInputSchema()))
        if "roots" in declared:
            roots = (await ctx.client.list_roots()).roots
            tools.append(v.Tool(name="look", description=f"{len(roots)} roots", input_schema=v.ToolInputSchema()))
        if "sampling" in declared:
            try:
                await ctx.client.create_message(messages=[], max_tokens=1)
            except Exception as error:
                tools.append(v.Tool(name="think", description=str(error), input_schema=v.ToolInputSchema()))
        return v.ListToolsResult(tools=tools)


class Named(v.Server):
    """Lists one tool, named after its environment."""

    options = ServerOptions(name="named", version="1")

    async def list_tools(self, params: Any, ctx: v.Context) -> v.ListToolsResult:
        """Return the tool."""
        name = os.environ.get("TOOL_NAME", "unnamed")
        return v.ListToolsResult(
            tools=[v.Tool(name=name, description=Path.cwd().name, input_schema=v.ToolInputSchema())]
        )


if __name__ == "__main__":
    match sys.argv[1]:
        case "ask":
            serve_stdio(Asking())
        case "env":
            serve_stdio(Named())
        case _:
            raise RuntimeError("out of\x1b tea")
