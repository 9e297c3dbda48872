"""A server whose tool reports progress, logs, and asks its user."""

from typing import Literal

from pydantic import BaseModel, Field

from mcp_bindings import App, Context

app = App("talkative")


@app.tool()
async def talk(ctx: Context) -> str:
    """Report, log and ask."""
    await ctx.report_progress(1, 2, "half")
    await ctx.info({"a": 1})
    await ctx.warning("careful\x1b[2J")
    return "yes" if await ctx.elicit("How many?", int) else "no"


class Order(BaseModel):
    """A form with a field of each kind."""

    size: Literal["s", "m"]
    cups: int = Field(ge=1, le=5)
    sugar: bool = False
    extras: list[Literal["milk", "lemon"]] = []
    note: str | None = None


@app.tool()
async def order(ctx: Context) -> str:
    """Ask for an order."""
    answer = await ctx.elicit("What do you drink?", Order)
    return answer.model_dump_json() if isinstance(answer, Order) else type(answer).__name__


@app.tool()
async def sample(ctx: Context) -> str:
    """Ask the model."""
    return await ctx.sample("hi")
