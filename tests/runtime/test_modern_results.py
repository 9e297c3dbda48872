"""What each result of a modern server carries, and the available error codes (2026-07-28, basic/index)."""

import logging
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from support.roles import make_server, raises
from support.talk import bindings
from support.together import together

SERVER_INFO = "io.modelcontextprotocol/serverInfo"
OPTIONS = ServerOptions(name="shop", version="2", title="The shop")
INFO = {"name": "shop", "version": "2", "title": "The shop"}

MORE = {"acme/x": [1, None]}


class OwnResult(BaseModel):
    """A result class of an author."""

    resultType: str = "complete"
    content: list[Any] = []


def returning(result: Any) -> Any:
    async def answer(self: Any, params: Any, ctx: Any) -> Any:
        return result

    return make_server("2026-07-28", OPTIONS, call_tool=answer, list_tools=answer)


@pytest.mark.requirement("modern.server-info")
@pytest.mark.parametrize(
    ("result", "more"),
    [
        (v.CallToolResult(content=[]), {}),
        (v.CallToolResult(content=[v.TextContent(text="x", meta={"a": 1})]), {}),
        (
            v.CallToolResult(content=[], meta=v.ResultMetaObject.model_validate({"acme/x": [1, None]})),
            {"acme/x": [1, None]},
        ),
        (OwnResult(), {}),
        ({"resultType": "complete", "content": []}, {}),
    ],
)
async def test_every_result_names_its_server(result: Any, more: dict[str, Any]) -> None:
    async with together(v.Client, returning(result)) as client:
        found = await client.call_tool(name="x")
        assert found.meta is not None
        assert found.meta.model_dump(mode="json") == {SERVER_INFO: INFO, **more}


async def test_the_authors_own_metadata_is_kept() -> None:
    other = {SERVER_INFO: {"name": "another", "version": "1"}}
    result = v.CallToolResult(content=[], meta=v.ResultMetaObject.model_validate(other))
    async with together(v.Client, returning(result)) as client:
        assert (await client.call_tool(name="x")).model_dump(mode="json")["_meta"] == other


async def test_legacy_results_do_not_name_their_server() -> None:
    server = make_server("2025-11-25", OPTIONS, list_tools=raises(PeerError(7, "own")))
    async with together(v2025_11_25.Client, server) as client:
        with pytest.raises(PeerError) as caught:
            await client.list_tools()
        assert caught.value.code == 7


@pytest.mark.requirement("modern.error-codes")
@pytest.mark.parametrize(
    ("raised", "answered"),
    [
        (-32002, -32602),
        (-32042, -32603),
        (-32000, -32603),
        (-32019, -32603),
        (-32023, -32603),
        (-32099, -32603),
        (-32021, -32021),
        (-32601, -32601),
        (-32100, -32100),
        (-1, -1),
        (1234, 1234),
    ],
)
async def test_codes_of_earlier_revisions_are_translated(
    raised: int, answered: int, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_server("2026-07-28", call_tool=raises(PeerError(raised, "words", {"a": 1})))
    async with together(v.Client, server) as client:
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="x")
    assert (caught.value.code, caught.value.message, caught.value.data) == (answered, "words", {"a": 1})
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert bool(errors) == (answered == -32603)


async def test_codes_are_unchanged_in_the_legacy_era() -> None:
    server = make_server("2025-11-25", call_tool=raises(PeerError(-32002, "words")))
    async with together(v2025_11_25.Client, server) as client:
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="x")
    assert caught.value.code == -32002


class TestHints:
    async def ask(self, options: ServerOptions, **said: Any) -> tuple[int, str]:
        async def list_tools(self: Any, params: Any, ctx: Any) -> Any:
            return v.ListToolsResult(tools=[], **said)

        async with together(v.Client, make_server("2026-07-28", options, list_tools=list_tools)) as client:
            found = await client.list_tools()
        return found.ttl_ms, found.cache_scope

    @pytest.mark.requirement("alone.cache-hints")
    async def test_results_are_not_cacheable_by_default(self) -> None:
        assert await self.ask(ServerOptions()) == (0, "private")

    @pytest.mark.requirement("alone.cache-hints", "alone.cache-scope")
    async def test_options_set_the_cache_hint_of_a_method(self) -> None:
        options = ServerOptions(cache={"tools/list": CacheHint(seconds=1.5, scope="public")})
        assert await self.ask(options) == (1500, "public")

    async def test_the_handlers_hint_takes_precedence(self) -> None:
        options = ServerOptions(cache={"tools/list": CacheHint(seconds=1.5, scope="public")})
        assert await self.ask(options, ttl_ms=0) == (0, "public")
        assert await self.ask(options, ttl_ms=7, cache_scope="private") == (7, "private")

    @pytest.mark.requirement("alone.cache-time")
    async def test_only_some_results_can_be_cached(self) -> None:
        options = ServerOptions(cache={"tools/call": CacheHint(seconds=1)})
        with pytest.raises(ValueError, match=r"results of tools/call cannot be kept; those of prompts/list, "):
            await self.ask(options)
        with pytest.raises(ValueError, match="must be 0 or more, not -1"):
            CacheHint(seconds=-1)
        scope: Any = "all"
        with pytest.raises(ValueError, match="'private' or 'public', not 'all'"):
            CacheHint(seconds=1, scope=scope)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
async def test_a_handler_can_identify_its_client(revision: str) -> None:
    seen: list[Any] = []

    async def call_tool(self: Any, params: Any, ctx: Any) -> Any:
        seen.append(
            (ctx.requester.info["name"], ctx.requester.revision, ctx.client.has("sampling"), ctx.client.has("x"))
        )
        return bindings(revision).CallToolResult(content=[])

    options = ClientOptions(name="me", capabilities={"sampling": {}})
    async with together(
        bindings(revision).Client, make_server(revision, call_tool=call_tool), options=options
    ) as client:
        await client.call_tool(name="x")
    assert seen == [("me", revision, True, False)]
