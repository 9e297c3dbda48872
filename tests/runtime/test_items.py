"""Lists are read item by item: whatever is wrong with an item of a list, the others are used, and it is named."""

import random
from typing import Any

import pytest

import mcp_bindings
from mcp_bindings import v2025_06_18, v2025_11_25
from mcp_runtime.core.connection.checks import MAX_UNUSABLE
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.memory import connect_memory
from support.lists import ATTRIBUTES, CALLS, NO_ITEMS, PACKAGES, VALID, Raw, draw, server_of


@pytest.mark.parametrize("kind", VALID)
@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.REVISION)
@pytest.mark.parametrize("is_bridged", [False, True], ids=["own", "bridged"])
async def test_what_is_right_is_used(kind: str, package: Any, is_bridged: bool) -> None:
    client: Any = mcp_bindings.Client if is_bridged else package.Client
    for seed in range(6):
        items, names, pointers = draw(random.Random(f"{kind} {seed}"), kind, 12)
        async with connect_memory(server_of(package, {kind: items})) as peer:
            opened = await client.open(peer)
            errors: list[Any] = []
            opened.connection.on_error(errors.append)
            found = await getattr(opened, CALLS[kind])()
            assert [item.name for item in getattr(found, ATTRIBUTES.get(kind, kind))] == names
            assert [one.pointer for one in found.unusable] == pointers
            assert [error.pointer for error in errors] == pointers
            assert "unusable" not in found.model_dump_json()


async def test_each_line_names_the_item_and_what_is_wrong() -> None:
    items = [{"name": "a\x1b[31m" + "x" * 500, "inputSchema": {"type": "array"}}, VALID["tools"] | {"name": "b"}, 5]
    async with connect_memory(server_of(v2025_06_18, {"tools": items})) as peer:
        found = await (await v2025_06_18.Client.open(peer)).list_tools()
    first, second = map(str, found.unusable)
    assert first.startswith(r"/tools/0 (a\x1b[31mxxx") and first.endswith("/inputSchema/type: Input should be 'object'")
    assert len(first) < 300
    assert second == "/tools/2: Input should be a valid dictionary or instance of Tool"


@pytest.mark.parametrize("kind", VALID)
@pytest.mark.parametrize("is_bridged", [False, True], ids=["own", "bridged"])
async def test_a_strict_client_refuses_the_whole_list(kind: str, is_bridged: bool) -> None:
    client: Any = mcp_bindings.Client if is_bridged else v2025_11_25.Client
    for wrong in NO_ITEMS:
        async with connect_memory(server_of(v2025_11_25, {kind: [VALID[kind] | {"name": "n"}, wrong]})) as peer:
            opened = await client.open(peer, options=ClientOptions(strict=True))
            with pytest.raises(RemoteProtocolError, match=f"/{kind}/1"):
                await getattr(opened, CALLS[kind])()


@pytest.mark.parametrize("tools", [None, {}, "x", 5, True, {"0": {}}])
async def test_a_value_other_than_a_list_is_refused(tools: Any) -> None:
    async with connect_memory(server_of(v2025_06_18, {"tools": tools})) as peer:
        opened = await v2025_06_18.Client.open(peer)
        with pytest.raises(RemoteProtocolError, match="/tools"):
            await opened.list_tools()


async def test_many_invalid_items_are_told_apart_up_to_a_limit() -> None:
    good = VALID["tools"] | {"name": "n"}
    items: list[Any] = [good, *[{}] * (MAX_UNUSABLE + 100), good]
    async with connect_memory(server_of(v2025_06_18, {"tools": items})) as peer:
        found = await (await v2025_06_18.Client.open(peer)).list_tools()
    assert found.tools[0].name == "n"
    assert MAX_UNUSABLE <= len(found.unusable) < MAX_UNUSABLE + 20
    assert "too many items are not valid" in str(found.unusable[-1])


async def test_an_iterator_yields_the_valid_items() -> None:
    items = [{}, VALID["prompts"] | {"name": "n"}, None]
    async with connect_memory(server_of(v2025_06_18, {"prompts": items})) as peer:
        opened = await mcp_bindings.Client.open(peer)
        assert [prompt.name async for prompt in opened.iter_prompts()] == ["n"]


async def test_one_invalid_content_block_still_refuses_the_result() -> None:
    class Server(v2025_06_18.Server):
        options = ServerOptions(revisions="own")

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return Raw({"content": [{"type": "text", "text": "a"}, {"type": "text"}]})

    async with connect_memory(Server()) as peer:
        opened = await mcp_bindings.Client.open(peer)
        with pytest.raises(RemoteProtocolError, match="/content/1/text"):
            await opened.call_tool(name="x")
