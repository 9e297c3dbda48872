"""The server of examples/pantry_server.py before it was ported: for FastMCP of mcp 1.30.0."""

import argparse
import logging
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.server.fastmcp.exceptions import ToolError
from mcp.server.fastmcp.prompts.base import AssistantMessage, Message, UserMessage
from mcp.types import SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

log = logging.getLogger("pantry")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452")
Place = Literal["shelf", "fridge", "freezer"]


class Item(BaseModel):
    """Something to eat."""

    name: str
    amount: int = 1
    place: Place = "shelf"
    best_before: date | None = None


class Removal(BaseModel):
    reason: str = Field(description="Why it is thrown away.")
    sure: bool = False


@dataclass
class Pantry:
    """The database."""

    database: sqlite3.Connection

    def items(self, text: str = "") -> list[Item]:
        """Return the items whose name contains a text."""
        query = "select name, amount, place, best_before from items where name like ? order by name"
        rows = self.database.execute(query, [f"%{text}%"]).fetchall()
        return [Item(name=name, amount=amount, place=place, best_before=day) for name, amount, place, day in rows]

    def find(self, name: str) -> Item:
        """Return an item by its name."""
        found = [item for item in self.items(name) if item.name == name]
        if not found:
            raise ToolError(f"there is no {name}; search finds the names")
        return found[0]

    def save(self, item: Item) -> None:
        """Add an item, or replace one of the same name."""
        values = [item.name, item.amount, item.place, item.best_before and item.best_before.isoformat()]
        self.database.execute("insert or replace into items values (?, ?, ?, ?)", values)

    def remove(self, item: Item) -> None:
        """Remove an item."""
        self.database.execute("delete from items where name = ?", [item.name])


@asynccontextmanager
async def opened(server: FastMCP) -> AsyncGenerator[Pantry]:
    """Open the database."""
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.execute("create table items (name primary key, amount, place, best_before)")
    pantry = Pantry(database)
    pantry.save(Item(name="flour", amount=2))
    pantry.save(Item(name="milk", place="fridge", best_before=date(2026, 12, 1)))
    log.info("opened %s", server.name)
    try:
        yield pantry
    finally:
        database.close()


mcp = FastMCP("pantry", instructions="Search before you add.", lifespan=opened)


def pantry_of(ctx: Context) -> Pantry:
    """Return the database of a call."""
    pantry: Pantry = ctx.request_context.lifespan_context
    return pantry


@mcp.tool(annotations=ToolAnnotations(readOnlyHint=True))
def search(ctx: Context, text: str = "", limit: Annotated[int, Field(ge=1, le=50)] = 10) -> list[Item]:
    """Find items by a part of their name."""
    return pantry_of(ctx).items(text)[:limit]


@mcp.tool()
async def add(item: Item, ctx: Context) -> Item:
    """Add an item."""
    pantry_of(ctx).save(item)
    await ctx.info(f"added {item.name}")
    return item


@mcp.tool()
async def use(name: str, ctx: Context, amount: Annotated[int, Field(ge=1)] = 1) -> Item:
    """Take some of an item."""
    item = pantry_of(ctx).find(name)
    if item.amount < amount:
        raise ToolError(f"there are only {item.amount} of {name}")
    item.amount -= amount
    pantry_of(ctx).save(item)
    return item


@mcp.tool(title="Throw away", annotations=ToolAnnotations(destructiveHint=True))
async def throw_away(name: str, ctx: Context) -> str:
    """Remove an item, once the user has given a reason."""
    item = pantry_of(ctx).find(name)
    answer = await ctx.elicit(f"Throw {name} away?", schema=Removal)
    if answer.action != "accept" or not answer.data.sure:
        return f"{name} is kept"
    pantry_of(ctx).remove(item)
    await ctx.warning(f"threw {name} away: {answer.data.reason}")
    return f"{name} is gone"


@mcp.tool()
async def suggest(ctx: Context) -> str:
    """Let the model of the client suggest a meal."""
    names = ", ".join(item.name for item in pantry_of(ctx).items())
    message = SamplingMessage(role="user", content=TextContent(type="text", text=f"What can I cook from {names}?"))
    answer = await ctx.session.create_message(messages=[message], max_tokens=100)
    return answer.content.text if isinstance(answer.content, TextContent) else "nothing"


@mcp.tool()
async def count(ctx: Context) -> int:
    """Count everything."""
    items = pantry_of(ctx).items()
    for done, item in enumerate(items, 1):
        await ctx.report_progress(done, len(items), f"counting {item.name}")
    return sum(item.amount for item in items)


@mcp.tool()
def photo() -> Image:
    """Take a picture of the pantry."""
    return Image(data=PNG, format="png")


@mcp.resource("pantry://places", mime_type="application/json")
def places() -> list[str]:
    """Where things are."""
    return ["shelf", "fridge", "freezer"]


@mcp.resource("pantry://places/{place}", mime_type="text/plain")
def place_of(place: Place) -> str:
    """How cold a place is."""
    return {"shelf": "20 °C", "fridge": "5 °C", "freezer": "-18 °C"}[place]


@mcp.prompt()
def plan(days: int = 3) -> list[Message]:
    """Plan meals."""
    return [UserMessage(f"Plan meals for {days} days."), AssistantMessage("I will search the pantry first.")]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    mcp.run()
