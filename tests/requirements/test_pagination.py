"""Pagination (server/utilities/pagination): lists that come in pages."""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.errors import PeerError
from support.roles import answering, make_server, returns
from support.talk import raw, talk

requirement = pytest.mark.requirement
LISTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "iter_tools": ("tools/list", "tools", {"inputSchema": {"type": "object"}}),
    "iter_prompts": ("prompts/list", "prompts", {}),
    "iter_resources": ("resources/list", "resources", {"uri": "file:///x"}),
    "iter_resource_templates": ("resources/templates/list", "resourceTemplates", {"uriTemplate": "file:///{x}"}),
}
ALL: dict[str, Any] = {"tools": {}, "prompts": {}, "resources": {}}


async def listed(
    revision: str, iterator: str, pages: list[tuple[list[str], str | None]]
) -> tuple[list[str], list[Any]]:
    """Return the names that an iterator yields for some pages, and the cursors that it sent."""
    method, member, more = LISTS[iterator]
    cursors: list[Any] = []
    async with answering(revision, capabilities=ALL) as server:

        async def collect() -> list[str]:
            return [item.name async for item in getattr(server.client, iterator)()]

        collecting = asyncio.create_task(collect())
        for names, following in pages:
            asked = await server.until(lambda message: message.get("method") == method)
            server.got.remove(asked)
            cursors.append(asked.get("params", {}).get("cursor"))
            result = {member: [{"name": name, **more} for name in names]}
            server.tell(
                id=asked["id"], result={**result, **({"nextCursor": following} if following is not None else {})}
            )
        return await collecting, cursors


@requirement("pagination.page-size", "pagination.opaque", "pagination.end")
@pytest.mark.parametrize("iterator", LISTS)
async def test_pages_of_any_size_are_read_to_the_end(revision: str, iterator: str) -> None:
    odd = "..%2F \u2028\U0001f980 {} 0"
    pages: list[tuple[list[str], str | None]] = [(["a", "b", "c"], ""), ([], odd), (["d"], "0"), (["e"], None)]
    names, cursors = await listed(revision, iterator, pages)
    assert names == ["a", "b", "c", "d", "e"]
    assert cursors == [None, "", odd, "0"]


@requirement("pagination.both-flows", "pagination.end")
@pytest.mark.parametrize("iterator", LISTS)
async def test_a_list_without_pages_is_asked_for_once(revision: str, iterator: str) -> None:
    assert await listed(revision, iterator, [(["a"], None)]) == (["a"], [None])


@requirement("pagination.not-kept")
async def test_every_listing_begins_at_the_beginning(revision: str) -> None:
    for _ in range(2):
        _, cursors = await listed(revision, "iter_tools", [(["a"], "x"), (["b"], None)])
        assert cursors == [None, "x"]


@requirement("pagination.invalid")
async def test_a_handler_refuses_a_cursor_and_the_session_goes_on(revision: str) -> None:
    async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
        if params is not None and params.cursor not in (None, "1"):
            raise PeerError(-32602, "no page begins there")
        return await returns("ListToolsResult", tools=[])(self, params, ctx)

    async with talk(make_server(revision, list_tools=list_tools)) as both:
        with pytest.raises(PeerError, match="no page begins there") as raised:
            await both.client.list_tools(cursor="2")
        assert raised.value.code == -32602
        assert (await both.client.list_tools(cursor="1")).tools == []


@requirement("pagination.invalid")
async def test_a_cursor_must_be_a_string(revision: str) -> None:
    async with raw(make_server(revision, list_tools=returns("ListToolsResult", tools=[]))) as line:
        await line.shake_hands(revision)
        assert (await line.ask("tools/list", {"cursor": 1}))["error"]["code"] == -32602
