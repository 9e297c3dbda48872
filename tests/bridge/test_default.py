"""Without any option, every client reaches every server."""

from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from bridge.messages import REVISIONS
from mcp_runtime.transports.memory import connect_memory
from support.apps import text_of
from support.talk import bindings


def app_of(revision: str) -> Any:
    app: Any = bindings(revision).App("greeter")

    def greet(name: str) -> str:
        """Greet someone."""
        return f"hello {name}"

    def flag() -> dict[str, Any]:
        """Return a flag."""
        return {"ok": True}

    app.tool()(greet)
    app.tool()(flag)
    return app


@pytest.mark.parametrize("client", REVISIONS)
@pytest.mark.parametrize("server", REVISIONS)
async def test_any_client_calls_a_tool_of_any_app(server: str, client: str) -> None:
    async with connect_memory(app_of(server)) as peer:
        opened = await bindings(client).Client.open(peer)
        assert opened.connection.revision == client, "the client's own revision comes first"
        result = await opened.call_tool(name="greet", arguments={"name": "Ada"})
        assert [text_of(result), len(result.content)] == ["hello Ada", 1], "the text is said once"
        assert '"resultType"' not in result.model_dump_json() or client >= "2026-07-28"
        listed = await opened.list_tools()
        assert client >= "2026-07-28" or "resultType" not in {*(result.model_extra or ()), *(listed.model_extra or ())}
        flagged = await opened.call_tool(name="flag")
        assert len(flagged.content) == 1


async def test_an_older_program_gets_no_result_type_from_a_server_of_the_newest_revision_alone() -> None:
    app = app_of("2026-07-28")
    app.options = replace(app.effective_options(), revisions="own")
    async with connect_memory(app) as peer:
        opened = await bindings("2025-11-25").Client.open(peer)
        assert opened.connection.revision == "2026-07-28"
        for result in (await opened.call_tool(name="flag"), await opened.list_tools()):
            assert "resultType" not in (result.model_extra or {}), "a gateway would pass it on to clients of its own"


async def test_a_text_that_says_something_else_is_not_taken_for_the_result() -> None:
    new = bindings("2026-07-28")

    class Server(new.Server):  # type: ignore[name-defined,misc]
        async def list_tools(self, params: Any, ctx: Any) -> Any:
            return new.ListToolsResult(tools=[new.Tool(name="t", input_schema=new.ToolInputSchema())], ttl_ms=0)

        async def call_tool(self, params: Any, ctx: Any) -> Any:
            return new.CallToolResult(content=[{"type": "text", "text": '{"ok": 1}'}], structured_content={"ok": True})

    async with connect_memory(Server()) as peer:
        opened = await bindings("2025-03-26").Client.open(peer)
        assert [block.text for block in (await opened.call_tool(name="t")).content] == ['{"ok": 1}', '{"ok": true}']


@pytest.mark.parametrize("package", ["acme.draft", "draft"])
def test_a_package_without_conversions_speaks_its_own_revision(package: str) -> None:
    binding = copy(bindings("2026-07-28").BINDING)
    binding.package = package
    assert binding.bridges("all") is None
    with pytest.raises(ValueError, match="has no conversions; generate two revisions or more"):
        binding.bridges(["2025-11-25"])
