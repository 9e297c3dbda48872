"""A call through an older view: the tool that its server offers now is checked, decided and called, or none is."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from host.serving import InMemory
from mcp_bindings import Client
from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.host import Decision, Host, Policy, ToolCall, View, allow_all, read_only
from support.stdio_peers import eventually

TOOL: dict[str, Any] = {
    "name": "t",
    "description": "good",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}},
    "annotations": {"readOnlyHint": True},
}


class Changing(mcp.Server):
    """A server whose tools are what a test makes of them."""

    def __init__(self) -> None:
        self.tools = [TOOL]
        self.called = 0
        self.ends: Callable[[], Any] | None = None

    async def list_tools(self, params: mcp.PaginatedRequestParams, ctx: mcp.Context) -> mcp.ListToolsResult:
        return mcp.ListToolsResult.model_validate(
            {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": self.tools}
        )

    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> mcp.CallToolResult:
        if self.ends is not None:
            await self.ends()
        self.called += 1
        return mcp.CallToolResult(content=[mcp.TextContent(text="called")])


class Changed:
    """A host with the server, and a view of it from before the change."""

    def __init__(self, server: Changing, host: Host[Any]) -> None:
        self.server, self.host, self.view = server, host, host.view()

    async def change(self, *tools: dict[str, Any]) -> None:
        """Offer other tools, and wait until the host knows."""
        self.server.tools = list(tools)
        offer = self.host.servers["s"].listing
        self.host.servers["s"].refresh()
        await eventually(lambda: self.host.servers["s"].listing is not offer)

    async def call(self, **arguments: Any) -> str:
        return (await self.view.call("s__t", arguments)).text()


@asynccontextmanager
async def changed(lock: Path | None = None, policy: Policy = allow_all) -> AsyncGenerator[Changed]:
    server = Changing()
    entry = InMemory(name="s", command=("x",), make=lambda: server, lock=lock, is_trusted=True)
    async with Host([entry], Client, policy=policy) as host:
        yield Changed(server, host)


OTHERS: dict[str, dict[str, Any]] = {
    "description": {**TOOL, "description": "EVIL"},
    "title": {**TOOL, "title": "EVIL"},
    "schema": {**TOOL, "inputSchema": {"type": "object"}},
    "annotations": {**TOOL, "annotations": {"readOnlyHint": True, "destructiveHint": True}},
}


@pytest.mark.parametrize("part", ["description", "title", "schema"])
async def test_a_withheld_tool_is_not_called(part: str, tmp_path: Path) -> None:
    lock = tmp_path / "lock.json"
    lock.write_text(json.dumps({"tools": [TOOL]}))
    async with changed(lock) as it:
        assert await it.call() == "called"
        await it.change(OTHERS[part])
        assert await it.call() == "s__t has changed, and is withheld until a person accepts it."
        assert it.server.called == 1
        it.host.servers["s"].accept()
        await eventually(lambda: not it.host.servers["s"].withheld)
        assert await it.call() == "called"


async def test_a_removed_tool_is_not_called() -> None:
    async with changed() as it:
        await it.change()
        assert await it.call() == "s__t is no longer offered."
        assert it.server.called == 0


async def test_the_policy_decides_about_the_tool_as_it_is_now() -> None:
    async with changed(policy=read_only) as it:
        assert await it.call() == "called"
        await it.change({**TOOL, "annotations": {}})
        assert "only reading is allowed" in await it.call()
        assert it.server.called == 1


async def test_arguments_are_those_of_the_tool_as_it_is_now() -> None:
    async with changed() as it:
        await it.change({**TOOL, "inputSchema": {"type": "object", "required": ["b"]}})
        assert "'b' is a required property" in await it.call(a=1)
        assert await it.call(b=1) == "called"


@pytest.mark.parametrize("part", OTHERS)
async def test_a_tool_that_changes_while_a_person_decides_is_not_called(part: str) -> None:
    async def ask(call: ToolCall) -> Decision:
        await it.change(OTHERS[part])
        return True

    async with changed(policy=ask) as it:
        assert await it.call() == "s__t has just changed."
        assert it.server.called == 0


async def test_a_call_is_not_repeated_with_a_tool_that_came_back_different() -> None:
    async with changed() as it:

        async def ends() -> None:
            it.server.tools, it.server.ends = [OTHERS["schema"]], None
            await it.host.servers["s"].client.connection.aclose("lost")

        it.server.ends = ends
        view: View = it.view
        assert (await view.call("s__t", {}, retry=True)).text() == "s__t has just changed."
        assert it.server.called == 1, "only the call whose answer was lost"
