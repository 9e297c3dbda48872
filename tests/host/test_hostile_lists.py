"""Servers that list too much, change it all the time, or share a name."""

import asyncio

import pytest

from host.serving import InMemory, app_of
from mcp_bindings import App, Client
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.host import ConfigurationError, Host, ServerEntry, allow_all
from mcp_runtime.host.servers import MIN_REFRESH


def hello() -> str:
    return "hello"


class Endless(modern.Server):
    """Lists 100,000 tools, 1,000 on a page."""

    pages = 0

    async def list_tools(self, params: modern.PaginatedRequestParams, ctx: modern.Context) -> modern.ListToolsResult:
        Endless.pages += 1
        page = int(params.cursor or 0)
        schema = modern.ToolInputSchema()
        tools = [modern.Tool(name=f"t{page}_{number}", input_schema=schema) for number in range(1_000)]
        return modern.ListToolsResult(tools=tools, next_cursor=str(page + 1) if page < 99 else None)


@pytest.mark.slow
async def test_a_server_with_a_hundred_thousand_tools_fails_alone() -> None:
    entries = [
        InMemory(name="endless", command=("x",), make=Endless),
        InMemory(name="good", command=("x",), make=lambda: app_of("good", {"hello": hello})),
    ]
    async with Host(entries, Client, policy=allow_all) as host:
        assert host.servers["endless"].error == "tools/list: more than 10000 tools"
        assert Endless.pages == 11
        assert list(host.catalogue) == ["good__hello"]


@pytest.mark.usefixtures("virtual_time")
async def test_a_server_that_renames_its_tools_all_the_time_is_listed_once_a_second() -> None:
    app: App = app_of("s", {"t0": hello})
    async with Host([InMemory(name="s", command=("x",), make=lambda: app)], Client, policy=allow_all) as host:
        old, before, began = host.view(), host.catalogue.number, asyncio.get_running_loop().time()
        for number in range(1, 101):
            app.remove_tool(f"t{number - 1}")
            app.tool(f"t{number}", description="Does it.")(hello)
            await asyncio.sleep(0.1)
            _ = host.catalogue
        passed = asyncio.get_running_loop().time() - began
        assert 2 <= host.catalogue.number - before <= passed / MIN_REFRESH + 2
        assert (await old.call("s__t0", {})).is_error  # its tool is gone, and no other one is called
        await asyncio.sleep(2 * MIN_REFRESH)
        assert [*host.view().tools] == ["s__t100"]
        assert (await host.view().call("s__t100", {})).text() == "hello"


def test_two_servers_with_one_name() -> None:
    entries = [ServerEntry(name="a", command=("x",)), ServerEntry(name="a", url="http://localhost")]
    with pytest.raises(ConfigurationError, match="two servers are called a"):
        Host(entries, Client, policy=allow_all)
