"""A server of the revision in its argument, with handlers that print and a tool that returns unusual text."""

import subprocess
import sys
from importlib import import_module
from typing import Any

from mcp_runtime.core.transports.stdio import serve_stdio

package: Any = import_module(f"mcp_bindings.v{sys.argv[1].replace('-', '_')}")


async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
    print("printed by a handler")
    subprocess.run((sys.executable, "-S", "-E", "-c", "print('printed by a child')"), check=True)
    return package.CallToolResult(content=[package.TextContent(text=(params.arguments or {})["text"])])


serve_stdio(type("Odd", (package.Server,), {"call_tool": call_tool})())
