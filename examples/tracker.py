"""An issue tracker with a database: `python tracker.py` on stdio, `mcp-bindgen run tracker.py --http` over HTTP."""

import argparse
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from typing import Annotated

from pydantic import BaseModel, Field

from mcp_bindings import App, Context, Depends, NotFound, ToolFailure

Ctx = Context[sqlite3.Connection]


class Issue(BaseModel):
    number: int
    title: str
    author: str
    state: str


class Closing(BaseModel):
    reason: str = Field(description="Why the issue can be closed.")


@asynccontextmanager
async def database() -> AsyncGenerator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)) as db:
        db.execute("create table if not exists issues (number integer primary key, title, author, state)")
        yield db


def current_user(ctx: Ctx) -> str:
    return ctx.requester.principal or "somebody"


User = Annotated[str, Depends(current_user)]
app = App("tracker", version="1.0", instructions="Search before you open an issue.", lifespan=database)


def find(ctx: Ctx, where: str, value: object) -> list[Issue]:
    rows = ctx.state.execute(f"select number, title, author, state from issues where {where} order by number", [value])
    return [Issue(number=row[0], title=row[1], author=row[2], state=row[3]) for row in rows]


@app.tool()
def get_issue(number: int, ctx: Ctx) -> Issue:
    """Show one issue."""
    if not (found := find(ctx, "number = ?", number)):
        raise ToolFailure(f"there is no issue {number}; search_issues finds the numbers")
    return found[0]


@app.tool()
def search_issues(ctx: Ctx, text: str = "", limit: Annotated[int, Field(ge=1, le=50)] = 10) -> list[Issue]:
    """Find issues by a part of their title."""
    return find(ctx, "title like ?", f"%{text}%")[:limit]


@app.tool()
def open_issue(title: str, ctx: Ctx, user: User) -> Issue:
    """Open an issue in the name of the current user."""
    cursor = ctx.state.execute("insert into issues values (null, ?, ?, 'open')", (title, user))
    return get_issue(cursor.lastrowid or 0, ctx)


@app.tool()
async def close_issue(number: int, ctx: Ctx) -> str:
    """Close an issue, once the user has given a reason."""
    answer = await ctx.elicit(f"Why can {get_issue(number, ctx).title!r} be closed?", Closing)
    if not answer:
        raise ToolFailure("the user does not want to close it")
    ctx.state.execute("update issues set state = 'closed' where number = ?", [number])
    return answer.reason


@app.tool()
async def import_issues(titles: list[str], ctx: Ctx, user: User) -> None:
    """Open an issue for each title."""
    for done, title in enumerate(titles, 1):
        open_issue(title, ctx, user)
        await ctx.report_progress(done, len(titles), title)


app.tool("whoami", description="Name the current user.")(current_user)
app.prompt("report")(lambda: "Read tracker://issues and write a report for the team.")


@app.resource("tracker://issues")
def all_issues(ctx: Ctx) -> list[Issue]:
    return find(ctx, "?", True)


@app.resource("tracker://states")
def states(ctx: Ctx) -> dict[str, int]:
    return dict(ctx.state.execute("select state, count(*) from issues group by state").fetchall())


@app.resource("tracker://issues/{number}")
def issue(number: int, ctx: Ctx) -> Issue:
    if not (found := find(ctx, "number = ?", number)):
        raise NotFound(f"there is no issue {number}")
    return found[0]


@app.prompt()
def triage(number: int, ctx: Ctx, tone: str = "short") -> str:
    return f"What is the next step on {get_issue(number, ctx).title!r}? Be {tone}."


@app.completion("tone", prompt="triage")
def tones(value: str) -> list[str]:
    return [tone for tone in ("short", "friendly", "formal") if tone.startswith(value)]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()
