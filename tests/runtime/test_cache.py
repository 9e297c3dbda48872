"""A client that caches results for as long as the server allows (2026-07-28, server/utilities/caching)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core import sources
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.middleware import cache
from mcp_runtime.middleware.cache import ResultCache
from support.roles import make_handlers, returns
from support.together import together

pytestmark = pytest.mark.usefixtures("virtual_time")


class Library(v.Server):
    """Counts its requests."""

    def __init__(self, seconds: float = 60) -> None:
        hint = CacheHint(seconds=seconds)
        self.options = ServerOptions(
            list_changed=True, resource_updates=True, cache={"tools/list": hint, "resources/read": hint}
        )
        self.asked: list[str] = []

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        self.asked.append(f"tools {params.cursor}")
        if params.cursor == "bad":
            raise PeerError(-32602, "no such page")
        return v.ListToolsResult(tools=[v.Tool(name="t", input_schema=v.ToolInputSchema())])

    async def list_prompts(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListPromptsResult:
        self.asked.append("prompts")
        return v.ListPromptsResult(prompts=[])

    async def list_resources(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListResourcesResult:
        return v.ListResourcesResult(resources=[])

    async def read_resource(self, params: v.ReadResourceRequestParams, ctx: v.Context) -> v.ReadResourceResult:
        self.asked.append(params.uri)
        if params.uri == "a:/secret":
            await ctx.client.elicit(
                message="Who?", requested_schema=v.ElicitRequestFormParamsRequestedSchema(properties={})
            )
        return v.ReadResourceResult(contents=[v.TextResourceContents(uri=params.uri, text="x")])


@asynccontextmanager
async def reading(server: Library) -> AsyncGenerator[tuple[v.Client, ResultCache]]:
    kept = ResultCache()
    handlers = make_handlers("2026-07-28", elicit=returns("ElicitResult", action="decline"))
    async with together(v.Client, server, handlers=handlers, options=ClientOptions(middleware=(kept,))) as client:
        yield client, kept


@pytest.mark.requirement("alone.cache-key")
async def test_a_fresh_result_answers_only_the_same_request() -> None:
    server = Library()
    async with reading(server) as (client, kept):
        first = await client.list_tools()
        first.tools.clear()
        again = await client.list_tools(meta={"traceparent": "00-1"})
        assert [tool.name for tool in again.tools] == ["t"], "what a program does with a result is its own business"
        await client.list_tools(cursor="")
        for _ in range(2):
            await client.list_prompts()
        assert server.asked == ["tools None", "tools ", "prompts", "prompts"] and kept.hits == 1
        server.asked.clear()
        for uri in ("a:/x", "a:/y", "a:/x"):
            await client.read_resource(uri=uri)
        assert server.asked[:2] == ["a:/x", "a:/y"]


async def test_a_result_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: now))
    server = Library(seconds=60)
    async with reading(server) as (client, kept):
        await client.list_tools()
        now += 59
        await client.list_tools()
        now += 2
        await client.list_tools()
    assert len(server.asked) == 2 and kept.hits == 1


async def test_a_change_removes_a_result() -> None:
    server = Library()
    async with (
        reading(server) as (client, _),
        await client.listen(tools=True, resources=["a:/x"]) as changes,
    ):
        for _ in range(2):
            await client.list_tools()
            for uri in ("a:/x", "a:/y"):
                await client.read_resource(uri=uri)
        await list_changed(server, "tools")
        await resource_updated(server, "a:/x")
        for _ in range(2):
            await anext(changes)
        await asyncio.sleep(0)
        await client.list_tools()
        for uri in ("a:/x", "a:/y"):
            await client.read_resource(uri=uri)
    assert server.asked == ["tools None", "a:/x", "a:/y", "tools None", "a:/x"]


@pytest.mark.requirement("alone.cache-key")
async def test_results_that_depend_on_input_are_not_cached() -> None:
    server = Library()
    async with reading(server) as (client, _):
        for _ in range(2):
            assert (await client.read_resource(uri="a:/secret")).ttl_ms == 0
    assert server.asked == ["a:/secret", "a:/secret"]


@pytest.mark.requirement("alone.cache-key")
async def test_nothing_is_shared_between_connections() -> None:
    server, kept = Library(), ResultCache()
    for _ in range(2):
        async with together(v.Client, server, options=ClientOptions(middleware=(kept,))) as client:
            await client.list_tools()
    assert len(server.asked) == 2 and kept.hits == 0


async def test_a_failing_page_drops_the_whole_list(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Library()
    async with reading(server) as (client, kept):
        await client.list_tools()
        with pytest.raises(PeerError):
            await client.list_tools(cursor="bad")
        await client.list_tools()
        assert kept.hits == 0
        monkeypatch.setattr(cache, "MAX_RESULTS", 2)
        found: list[Any] = [await client.read_resource(uri=f"a:/{number}") for number in range(3)]
        before = len(server.asked)
        await client.read_resource(uri="a:/0")
        await client.read_resource(uri="a:/2")
        assert (len(found), len(server.asked) - before) == (3, 1)
