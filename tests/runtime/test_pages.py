"""Paginated lists: where they end, and that endless ones are aborted."""

from importlib import import_module
from itertools import count
from typing import Any

import pytest

from mcp_bindings import v2025_06_18, v2026_07_28
from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core import stub
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.memory import connect_memory
from mcp_runtime.middleware.validate import Validate
from support.talk import talk


class Paged(v.Server):
    """Lists one tool per page, or none, and names the next page as configured."""

    def __init__(self, cursors: list[str | None], *, is_empty: bool = False) -> None:
        self.cursors = iter(cursors)
        self.is_empty = is_empty
        self.names = count()

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        tools = [] if self.is_empty else [v.Tool(name=f"t{next(self.names)}", input_schema=v.ToolInputSchema())]
        return v.ListToolsResult(tools=tools, next_cursor=next(self.cursors))


async def _names(server: Paged) -> list[str]:
    async with talk(server) as both:
        return [tool.name async for tool in both.client.iter_tools()]


async def test_an_absent_cursor_ends_them() -> None:
    assert await _names(Paged(["a", "", "b", None])) == ["t0", "t1", "t2", "t3"]


@pytest.mark.parametrize("cursors", [["a", "a"], ["a", "b", "a"], ["", ""]])
async def test_a_cursor_that_comes_twice(cursors: list[str | None]) -> None:
    with pytest.raises(RemoteProtocolError, match="/nextCursor: endless pagination: the same cursor came twice"):
        await _names(Paged(cursors))


async def test_too_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RemoteProtocolError, match="100 in a row are empty"):
        await _names(Paged([str(number) for number in range(200)], is_empty=True))
    monkeypatch.setattr(stub, "MAX_PAGES", 50)
    with pytest.raises(RemoteProtocolError, match="there are more than 50"):
        await _names(Paged([str(number) for number in range(200)]))


def paged_app(own: Any, reader: str) -> Any:
    """Return an App that lists one tool per page, with something that reads the list when a tool is called."""
    validates = ServerOptions(middleware=(Validate(),)) if reader == "validating server" else None
    tasks = [Tasks(MemoryTaskStore())] if reader == "tasks" else []
    app = own.App("shop", page_size=1, options=validates, extensions=tasks)
    for name in ("one", "two", "three"):

        def tool(cups: int) -> str:
            """Count."""
            return f"{cups} cups"

        app.tool(name)(tool)
    return app


OWN = {
    "tasks": (v, v2026_07_28),
    **dict.fromkeys(("validating server", "validating client"), (v2025_06_18, v, v2026_07_28)),
}
READERS = [(reader, own) for reader, packages in OWN.items() for own in packages]


@pytest.mark.parametrize(("reader", "own"), READERS)
@pytest.mark.parametrize("client", ["2024_11_05", "2025_03_26", "2025_06_18", "2025_11_25", "2026_07_28"])
async def test_tools_beyond_the_first_page_are_called_in_every_revision(reader: str, own: Any, client: str) -> None:
    middleware = (Validate(),) if reader == "validating client" else ()
    async with connect_memory(paged_app(own, reader)) as peer:
        bindings = import_module(f"mcp_bindings.v{client}")
        opened = await bindings.Client.open(peer, options=ClientOptions(middleware=middleware))
        for name in ("three", "two", "one"):
            assert (await opened.call_tool(name=name, arguments={"cups": 2})).content[0].text == "2 cups"
