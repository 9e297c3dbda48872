"""Our server of tools that become tasks, for clients by others (test_tasks.py): over stdio, or HTTP with `http`."""

import asyncio
import sys

from pydantic import BaseModel

from mcp_bindings.v2026_07_28 import App, Context
from mcp_runtime.app import ToolFailure
from mcp_runtime.core.errors import PeerError
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks, defer
from mcp_runtime.web_server import serve_http


class Size(BaseModel):
    loaves: int


app: App = App("bakery", extensions=[Tasks(MemoryTaskStore(poll_interval=0.1))])


@app.tool(task="optional")
async def bake(ctx: Context) -> str:
    """Bake."""
    await defer(ctx, "kneading")
    await asyncio.sleep(0.2)
    return "baked"


@app.tool(task="optional")
async def survey(ctx: Context) -> str:
    """Ask in mid-task."""
    await defer(ctx)
    size = await ctx.elicit("how many?", Size)
    return f"{size.loaves} loaves" if isinstance(size, Size) else "refused"


@app.tool(task="optional")
async def burn(ctx: Context) -> str:
    """Fail with a result."""
    await defer(ctx)
    raise ToolFailure("burnt")


@app.tool(task="optional")
async def protest(ctx: Context) -> str:
    """Fail with an error of the protocol."""
    await defer(ctx)
    raise PeerError(-32603, "no flour")


@app.tool(task="optional")
async def forever(ctx: Context) -> str:
    """Bake until it is cancelled."""
    await defer(ctx)
    await asyncio.sleep(3600)
    return ""


if __name__ == "__main__":
    if sys.argv[1:] == ["http"]:
        serve_http(app, port=0, started=lambda url: print(f"{url}/mcp", flush=True))
    else:
        app.run()
