"""A server for faults and load: a process of its own, over stdio."""

import asyncio
import sys
from pathlib import Path

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.server import ServerOptions
from mcp_runtime.transports.stdio import serve_stdio


class EchoServer(v.Server):
    """Answers with what it was told; counts how many calls it works on at once."""

    options = ServerOptions(name="echo", version="1")

    def __init__(self) -> None:
        self.running = 0
        self.most = 0

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            return v.CallToolResult(content=[v.TextContent(text=await self._answer(params, ctx))])
        finally:
            self.running -= 1

    async def _answer(self, params: v.CallToolRequestParams, ctx: v.Context) -> str:
        arguments = params.arguments or {}
        match params.name:
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
                return str(len((await ctx.client.list_roots()).roots))
            case name:
                raise ValueError(name)


def memory() -> str:
    """Return the memory of this process and its peak, in KB; the peak begins anew."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    found = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    Path("/proc/self/clear_refs").write_text("5", "utf-8")
    return f"{found['VmRSS']} {found['VmHWM']}"


if __name__ == "__main__":
    sys.stderr = open("/dev/null", "w")  # noqa: SIM115
    serve_stdio(EchoServer())
