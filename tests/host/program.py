"""A server that behaves as its first argument says; the second is its name."""

import asyncio
import os
import sys
import time

from mcp_bindings.v2025_11_25 import App, Context, ListToolsResult, PaginatedRequestParams, ToolAnnotations

kind, name = sys.argv[1:3]
if kind == "dead":
    sys.exit("no such luck")
if kind == "hanging":
    time.sleep(1000)
if kind == "flooding":
    while True:
        print("x" * 10_000, flush=True)
app = App(name)


@app.tool(annotations=ToolAnnotations(read_only_hint=True))
def whoami() -> str:
    """Say who answers."""
    return name


@app.tool()
def add(a: int, b: int = 2) -> int:
    """Add two numbers."""
    return a + b


@app.tool()
def die() -> str:
    """End the process."""
    os._exit(3)


@app.tool(annotations=ToolAnnotations(read_only_hint=True))
def die_once(path: str) -> str:
    """End the process, unless the file is there."""
    if not os.path.exists(path):
        open(path, "x").close()
        os._exit(3)
    return "alive"


@app.tool()
async def grow() -> str:
    """Add a tool."""

    @app.tool()
    def more(q: str) -> str:
        """Say it again."""
        return q

    return "grown"


if kind == "slow":

    class Slow(App):
        async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
            await asyncio.sleep(1000)
            raise AssertionError

    app = Slow(name)
    app.tool()(add)
app.run()
