"""Paginated lists: where they end, and that endless ones are aborted."""

from itertools import count

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core import stub
from mcp_runtime.core.errors import RemoteProtocolError
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
