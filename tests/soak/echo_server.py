"""A server of both eras for tests of faults and load: a separate process, over stdio."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.stdio import serve_stdio


class Echo:
    """Echoes its arguments; counts concurrent calls."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0

    async def answer(
        self, params: v.CallToolRequestParams | modern.CallToolRequestParams, ctx: v.Context | modern.Context
    ) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return await self._answer(params.name, params.arguments or {}, ctx)
        finally:
            self.running -= 1

    async def _answer(self, name: str, arguments: dict[str, Any], ctx: v.Context | modern.Context) -> str:
        match name:
            case "echo":
                return str(arguments["text"])
            case "wait":
                await asyncio.sleep(arguments["seconds"])
                return "waited"
            case "most":
                return str(self.most)
            case "memory":
                return memory()
            case "print":
                print("this must not get among the messages")
                return "printed"
            case "ask":
                client: Any = ctx.client
                return str(len((await client.list_roots()).roots))
            case _:
                raise ValueError(name)


class EchoServer(v.Server):
    options = ServerOptions(name="echo", version="1")

    def __init__(self, echo: Echo | None = None) -> None:
        self.echo = echo or Echo()

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        return v.CallToolResult(content=[v.TextContent(text=await self.echo.answer(params, ctx))])


class ModernEchoServer(modern.Server):
    options = ServerOptions(name="echo", version="1")

    def __init__(self, echo: Echo | None = None) -> None:
        self.echo = echo or Echo()

    async def list_tools(self, params: modern.PaginatedRequestParams, ctx: modern.Context) -> modern.ListToolsResult:
        return modern.ListToolsResult(tools=[])

    async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> modern.CallToolResult:
        return modern.CallToolResult(content=[modern.TextContent(text=await self.echo.answer(params, ctx))])


SERVERS = {"legacy": EchoServer, "modern": ModernEchoServer}
CLIENTS: dict[str, type[v.Client | modern.Client]] = {"legacy": v.Client, "modern": modern.Client}
"""By era."""


def memory() -> str:
    """Return the memory of this process and its peak, in KB; the peak is reset."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    found = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    return f"{found['VmRSS']} {found['VmHWM']}"


if __name__ == "__main__":
    sys.stderr = open("/dev/null", "w")  # noqa: SIM115
    echo = Echo()
    serve_stdio(EchoServer(echo), ModernEchoServer(echo))
