"""A call of the context without await is an error that names it: what it would do is not done."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from mcp_bindings import PeerError
from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.memory import connect_memory
from support.apps import call, text_of

CALLS: dict[str, Callable[[Any], Any]] = {
    "elicit": lambda ctx: ctx.elicit("Sure?", bool),
    "sample": lambda ctx: ctx.sample("Hello"),
    "read_resource": lambda ctx: ctx.read_resource("lib://book"),
    "info": lambda ctx: ctx.info("hello"),
    "error": lambda ctx: ctx.error("hello"),
    "log": lambda ctx: ctx.log("info", "hello"),
    "report_progress": lambda ctx: ctx.report_progress(1),
}
USES: dict[str, Callable[[Any], Any]] = {
    "ignored": lambda begun: "done",
    "taken for its value": lambda begun: "yes" if begun else "no",
    "an attribute": lambda begun: begun.value,
    "an item": lambda begun: begun[0],
}


def served(name: str, use: str, *, is_async: bool) -> mcp.App[Any]:
    app = mcp.App[Any]("test")

    @app.resource("lib://book")
    def book() -> str:
        """A book."""
        return "text"

    def plain(ctx: mcp.Context) -> str:
        """Do it."""
        begun: Any = CALLS[name](ctx)
        return str(USES[use](begun))

    async def waiting(ctx: mcp.Context) -> str:
        """Do it."""
        return plain(ctx)

    app.tool("act", description="Act.")(waiting if is_async else plain)
    return app


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", CALLS)
def test_it_is_one_line_with_the_place(
    name: str, use: str, is_async: bool, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    with caplog.at_level(logging.ERROR, "mcp_runtime"):
        result = asyncio.run(call(served(name, use, is_async=is_async), "act"))
    assert (result.is_error, text_of(result)) == (True, "act failed; see the server's log")
    [record] = caplog.records
    assert record.exc_info is None
    assert f"tool act ({__file__}:" in record.getMessage()
    assert f" does not await ctx.{name}(...); " in record.getMessage()
    assert not recwarn.list


async def test_resources_and_prompts_are_checked_too(caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App[Any]("test")

    @app.resource("lib://shelf")
    def shelf(ctx: mcp.Context) -> str:
        """A shelf."""
        return str(bool(ctx.info("reading")))

    @app.prompt()
    def greet(ctx: mcp.Context) -> str:
        """Greet."""
        return str(bool(ctx.sample("Hello")))

    async with connect_memory(app) as peer:
        client = await mcp.Client.open(peer)
        with pytest.raises(PeerError, match="internal error"):
            await client.read_resource("lib://shelf")
        with pytest.raises(PeerError, match="internal error"):
            await client.get_prompt("greet")
    first, second = [record.getMessage() for record in caplog.records]
    assert f"resource lib://shelf shelf ({__file__}:" in first and "does not await ctx.info(...)" in first
    assert f"prompt greet ({__file__}:" in second and "does not await ctx.sample(...)" in second


async def test_calls_that_are_awaited_later_are_none(caplog: pytest.LogCaptureFixture) -> None:
    app = mcp.App[Any]("test")
    tasks: list[asyncio.Task[None]] = []

    @app.tool()
    async def act(ctx: mcp.Context) -> str:
        """Start tasks, one of which nothing waits for, and await a call after others."""
        late = ctx.info("late")
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.wait_for(ctx.info("a"), 10))
        await asyncio.gather(ctx.info("b"), ctx.info("c"))
        await late
        tasks.append(asyncio.create_task(ctx.report_progress(1)))
        return "done"

    result = await call(app, "act")
    assert (bool(result.is_error), text_of(result)) == (False, "done")
    await asyncio.gather(*tasks)
    assert not caplog.records
