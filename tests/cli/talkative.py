"""A server whose tool reports progress, logs, and asks its user."""

from mcp_bindings import App, Context

app = App("talkative")


@app.tool()
async def talk(ctx: Context) -> str:
    """Report, log and ask."""
    await ctx.report_progress(1, 2, "half")
    await ctx.info({"a": 1})
    await ctx.warning("careful\x1b[2J")
    return "yes" if await ctx.elicit("How many?", int) else "no"


@app.tool()
async def sample(ctx: Context) -> str:
    """Ask the model."""
    return await ctx.sample("hi")
