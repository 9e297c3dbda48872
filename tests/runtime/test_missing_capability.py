"""A capability that a client lacks has a specific error, on the wire and in the log."""

import logging
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import MissingCapability
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from support.roles import make_server
from support.talk import raw


async def ask_the_model(self: Any, params: Any, ctx: Any) -> Any:
    await ctx.client.create_message(messages=[], max_tokens=5)


async def test_the_client_learns_what_it_lacks(caplog: pytest.LogCaptureFixture) -> None:
    async with raw(make_server("2025-11-25", call_tool=ask_the_model)) as line:
        await line.shake_hands("2025-11-25")
        caplog.clear()
        error = (await line.ask("tools/call", {"name": "x"}))["error"]
    assert error == {
        "code": -32600,
        "message": "sampling/createMessage needs the capability client.sampling, which the peer did not declare",
        "data": {"requiredCapabilities": {"sampling": {}}},
    }
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "tools/call needs the capability client.sampling" in record.getMessage() and record.exc_info is None


async def test_a_task_fails_with_it() -> None:
    class Slow(v.Server):
        options = ServerOptions(extensions=[Tasks(MemoryTaskStore())])

        async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
            execution = v.ToolExecution(task_support="optional")
            return v.ListToolsResult(tools=[v.Tool(name="x", input_schema=v.ToolInputSchema(), execution=execution)])

        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            await ctx.client.create_message(messages=[], max_tokens=5)
            raise AssertionError("not reached")

    async with raw(Slow()) as line:
        await line.shake_hands("2025-11-25")
        created = await line.ask("tools/call", {"name": "x", "task": {}})
        task = {"taskId": created["result"]["task"]["taskId"]}
        assert (await line.ask("tasks/result", task, id_=2))["error"]["code"] == -32600


async def test_a_missing_capability_of_another_peer_is_not_forwarded(caplog: pytest.LogCaptureFixture) -> None:
    """A gateway's handler may ask a server that lacks something; that does not concern its own client."""

    async def forward(self: Any, params: Any, ctx: Any) -> Any:
        raise MissingCapability("server.prompts", "prompts/list")

    async with raw(make_server("2025-11-25", call_tool=forward)) as line:
        await line.shake_hands("2025-11-25")
        assert (await line.ask("tools/call", {"name": "x"}))["error"] == {"code": -32603, "message": "internal error"}
    [record] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert record.exc_info is None and record.getMessage() == (
        "the handler of tools/call failed: prompts/list needs the capability server.prompts,"
        " which the peer did not declare"
    )
