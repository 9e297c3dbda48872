"""The tools of the conformance suite that become tasks."""

import asyncio

from pydantic import BaseModel

from conformance.decorated import app
from mcp_bindings import v2026_07_28 as v
from mcp_runtime import Refusal, ToolFailure
from mcp_runtime.core.errors import PeerError
from mcp_runtime.extensions.tasks import defer

__all__ = ["app"]


class Answer(BaseModel):
    confirm: bool


class Name(BaseModel):
    name: str


@app.tool()
def greet(name: str = "World") -> str:
    """Greet at once."""
    return f"Hello, {name}!"


@app.tool(task="optional")
async def slow_compute(ctx: v.Context, seconds: float = 0, label: str = "") -> str:
    """Sleep."""
    await defer(ctx)
    await asyncio.sleep(seconds)
    return f"{label} done after {seconds} s"


@app.tool(task="required")
async def failing_job(ctx: v.Context) -> str:
    """Fail with a result."""
    await defer(ctx)
    raise ToolFailure("this job fails")


@app.tool(task="optional")
async def protocol_error_job(ctx: v.Context) -> str:
    """Fail with an error of the protocol."""
    await defer(ctx)
    raise PeerError(-32603, "internal error")


@app.tool(task="optional")
async def confirm_delete(ctx: v.Context, filename: str = "") -> str:
    """Ask within the task."""
    await defer(ctx)
    return f"{filename}: {await ctx.elicit('Delete?', Answer)}"


@app.tool(task="optional")
async def multi_input(ctx: v.Context) -> str:
    """Ask two questions at once."""
    await defer(ctx)
    return str(await asyncio.gather(ctx.elicit("Who?", Name), ctx.elicit("Sure?", Answer)))


@app.tool(task="required")
async def test_tool_with_task(ctx: v.Context) -> str:
    """Ask before there is a task."""
    name = await ctx.elicit("Who?", Name)
    if isinstance(name, Refusal):
        return "refused"
    await defer(ctx)
    return f"Hello, {name.name}!"
