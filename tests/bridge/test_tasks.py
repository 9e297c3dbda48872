"""Tasks of 2025-11-25 and of the extension, where a bridge connects the two."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from bridge.conversation import converse
from mcp_bindings import v2025_11_25 as old
from mcp_bindings import v2026_07_28 as new
from mcp_bindings.v2025_11_25.methods import TOOLS_CALL
from mcp_bindings.v2026_07_28 import methods as new_calls
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import (
    MemoryTaskStore,
    Status,
    TaskFailed,
    TaskRecord,
    Tasks,
    defer,
    run_as_task,
    start_task,
)
from mcp_runtime.extensions.vendor import send_request, vendor_request
from mcp_runtime.memory import connect_memory

OLD, NEW = old.REVISION, new.REVISION


class Raw(BaseModel, extra="allow"):
    """Params or a result as they are."""


class Size(BaseModel):
    loaves: int


def bakery(options: ServerOptions | None = None) -> new.App:
    app: new.App = new.App("bakery", options=options, extensions=[Tasks(MemoryTaskStore(poll_interval=0.05))])

    @app.tool(task="optional")
    async def bake(name: str, ctx: new.Context) -> dict[str, int]:
        """Ask before and after the call is a task."""
        size = await ctx.elicit(f"{name}: how many?", Size)
        task = await defer(ctx, "kneading")
        await task.say("in the oven")
        if name == "burnt":
            raise PeerError(-7, "too late")
        if name == "slow":
            await asyncio.Event().wait()
        again = await ctx.elicit("more?", Size)
        assert isinstance(size, Size) and isinstance(again, Size)
        return {"loaves": size.loaves + again.loaves}

    @app.tool(task="required")
    async def wait(ctx: new.Context) -> list[int]:
        """Return what only 2026-07-28 can express."""
        await defer(ctx)
        return [1, 2]

    @app.tool()
    async def plain() -> str:
        """Never become a task."""
        return "plain"

    return app


class Customer(old.ClientHandlers):
    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    async def elicit(self, params: Any, ctx: old.ClientContext) -> old.ElicitResult:
        self.asked.append((params.message, ctx.meta.get("io.modelcontextprotocol/related-task")))
        return old.ElicitResult(action="accept", content={"loaves": len(self.asked)})


def text_of(result: Any) -> str:
    return str(result.content[0].text)


def order(tool: str, **arguments: Any) -> old.CallToolRequestParams:
    return old.CallToolRequestParams(name=tool, arguments=arguments)


class TestSessionsOfAServerWithTheExtension:
    async def test_a_client_of_2025_11_25_runs_a_tool_as_a_task(self) -> None:
        customer, seen = Customer(), list[TaskRecord]()
        async with converse(bakery(), OLD, handlers=customer) as talk:
            assert talk.client.capabilities["tasks"] == {"requests": {"tools": {"call": {}}}, "list": {}, "cancel": {}}
            tools = {tool.name: tool for tool in (await talk.client.list_tools()).tools}
            support = {name: tool.execution.task_support if tool.execution else None for name, tool in tools.items()}
            assert support == {"bake": "optional", "wait": "required", "plain": None}
            result = await run_as_task(talk.client, TOOLS_CALL, order("bake", name="rye"), on_status=seen.append)
            assert result.structured_content == {"loaves": 3}
            task_id = seen[0].id
            assert [words for words, _ in customer.asked] == ["rye: how many?", "more?"]
            assert [related for _, related in customer.asked] == [{"taskId": task_id}] * 2
            assert seen[-1].status is Status.COMPLETED
            listed = (await talk.client.list_tasks()).tasks
            assert [task.task_id for task in listed] == [task_id]
            assert talk.judge(OLD) > 5

    async def test_its_results_are_those_of_2025_11_25(self) -> None:
        async with converse(bakery(), OLD, handlers=Customer()) as talk:
            result = await run_as_task(talk.client, TOOLS_CALL, order("wait"))
            assert result.structured_content == {"result": [1, 2]} and "1" in text_of(result)
            with pytest.raises(PeerError, match="can only be called as a task") as refused:
                await talk.client.call_tool(name="wait")
            assert refused.value.code == -32601
            with pytest.raises(PeerError, match="cannot be called as a task"):
                await start_task(talk.client, TOOLS_CALL, order("plain"))
            assert text_of(await talk.client.call_tool(name="plain")) == "plain"
            waited = await talk.client.call_tool(name="bake", arguments={"name": "rye"})
            assert waited.structured_content == {"loaves": 3}, "without a task, it waits for the result"

    async def test_errors_and_cancellation(self) -> None:
        async with converse(bakery(), OLD, handlers=Customer()) as talk:
            with pytest.raises(PeerError, match="too late") as failed:
                await run_as_task(talk.client, TOOLS_CALL, order("bake", name="burnt"))
            assert failed.value.code == -7
            handle = await start_task(talk.client, TOOLS_CALL, order("bake", name="slow"))
            async with asyncio.timeout(10):
                while (await handle.poll()).message != "in the oven":
                    await asyncio.sleep(0.01)
            assert (await handle.cancel()).status is Status.CANCELLED
            with pytest.raises((PeerError, TaskFailed), match="cancelled"):
                await handle.result()
            raw = vendor_request("tools/call", Raw, Raw)
            bad: list[Any] = [{"ttl": -1}, {"ttl": "long"}, 5, []]
            for wrong in bad:
                with pytest.raises(PeerError, match=r"ttl must be a number|/task"):
                    await send_request(talk.client.connection, raw, {"name": "bake", "task": wrong})

    async def test_older_sessions_have_no_tasks(self) -> None:
        async with converse(bakery(), "2025-06-18") as talk:
            assert "tasks" not in talk.client.capabilities
            assert text_of(await talk.client.call_tool(name="plain")) == "plain"


class Oven(old.Server):
    """A server of 2025-11-25 whose tools are tasks."""

    options = ServerOptions(extensions=[Tasks(MemoryTaskStore(poll_interval=0.05))], revisions="own")

    async def list_tools(self, params: Any, ctx: old.Context) -> old.ListToolsResult:
        execution = old.ToolExecution(task_support="optional")
        return old.ListToolsResult(
            tools=[old.Tool(name="bake", input_schema=old.ToolInputSchema(), execution=execution)]
        )

    async def call_tool(self, params: old.CallToolRequestParams, ctx: old.Context) -> old.CallToolResult:
        match (params.arguments or {}).get("name"):
            case "burnt":
                raise PeerError(-7, "too late")
            case "slow":
                await asyncio.Event().wait()
            case _:
                schema = old.ElicitRequestFormParamsRequestedSchema(
                    properties={"loaves": old.NumberSchema(type="number")}
                )
                answer = await ctx.client.elicit(message="how many?", requested_schema=schema)
                return old.CallToolResult(content=[], structured_content=answer.content)
        raise AssertionError


class NewCustomer(new.ClientHandlers):
    async def elicit(self, params: Any, ctx: new.ClientContext) -> new.ElicitResult:
        return new.ElicitResult(action="accept", content={"loaves": 4})


class TestClientsOfTheExtensionAtAServerOfSessions:
    async def test_its_calls_are_tasks_of_2025_11_25(self) -> None:
        seen: list[TaskRecord] = []
        async with connect_memory(Oven()) as peer:
            client = await new.Client.open(peer, handlers=NewCustomer(), extensions=[Tasks()])
            assert client.connection.revision == OLD
            call = new_calls.TOOLS_CALL
            handle = await start_task(client, call, {"name": "bake", "arguments": {"name": "rye"}}, ttl=60)
            assert handle.record.ttl == 60_000
            result = await handle.result(on_status=seen.append)
            assert result.structured_content == {"loaves": 4} and result.result_type == "complete"
            params = new.CallToolRequestParams(
                name="bake", arguments={"name": "burnt"}, meta=client.connection.plain_meta(new.RequestMetaObject)
            )
            with pytest.raises(PeerError, match="too late"):
                await run_as_task(client, call, params)
            slow = await start_task(client, call, {"name": "bake", "arguments": {"name": "slow"}})
            assert (await slow.poll()).status is Status.WORKING
            assert (await slow.cancel()).status is Status.CANCELLED
            waited = await client.call_tool(name="bake", arguments={"name": "rye"})
            assert waited.structured_content == {"loaves": 4}


def old_bakery() -> old.App:
    """Return the bakery in 2025-11-25, where the entry of a tool says that it can be a task."""
    app: old.App = old.App("bakery", extensions=[Tasks(MemoryTaskStore(poll_interval=0.05))])

    @app.tool(execution=old.ToolExecution(task_support="optional"))
    async def bake(name: str, ctx: old.Context) -> dict[str, int]:
        """Ask before and after the call is a task."""
        size = await ctx.elicit(f"{name}: how many?", Size)
        task = await defer(ctx, "kneading")
        await task.say("in the oven")
        if name == "slow":
            await asyncio.Event().wait()
        again = await ctx.elicit("more?", Size)
        assert isinstance(size, Size) and isinstance(again, Size)
        return {"loaves": size.loaves + again.loaves}

    return app


class TestServersOfSessionsWithClientsOfTheExtension:
    async def test_calls_become_tasks_of_the_extension(self) -> None:
        async with connect_memory(old_bakery()) as peer:
            client = await new.Client.open(peer, handlers=NewCustomer(), extensions=[Tasks()])
            assert client.connection.revision == NEW
            waited = await client.call_tool(name="bake", arguments={"name": "rye"})
            assert waited.structured_content == {"loaves": 8} and waited.result_type == "complete"
            handle = await start_task(client, new_calls.TOOLS_CALL, {"name": "bake", "arguments": {"name": "rye"}})
            assert handle.id and (await handle.result()).structured_content == {"loaves": 8}
            slow = await start_task(client, new_calls.TOOLS_CALL, {"name": "bake", "arguments": {"name": "slow"}})
            assert (await slow.cancel()).status is Status.CANCELLED

    async def test_a_client_without_the_extension_waits(self) -> None:
        async with connect_memory(old_bakery()) as peer:
            client = await new.Client.open(peer, handlers=NewCustomer())
            waited = await client.call_tool(name="bake", arguments={"name": "rye"})
            assert waited.structured_content == {"loaves": 8}


class TestClientsOfSessionsAtAServerOfTheExtension:
    async def test_its_calls_are_tasks_of_the_extension(self) -> None:
        async with connect_memory(bakery(options=ServerOptions(revisions="own"))) as peer:
            client = await old.Client.open(peer, handlers=(customer := Customer()), extensions=[Tasks()])
            assert client.connection.revision == NEW
            waited = await client.call_tool(name="bake", arguments={"name": "rye"})
            assert waited.structured_content == {"loaves": 3}
            handle = await start_task(client, TOOLS_CALL, order("bake", name="rye"))
            assert handle.id and (await handle.result()).structured_content == {"loaves": 7}
            assert [words for words, _ in customer.asked] == ["rye: how many?", "more?"] * 2
            with pytest.raises(PeerError, match="too late"):
                await run_as_task(client, TOOLS_CALL, order("bake", name="burnt"))
            slow = await start_task(client, TOOLS_CALL, order("bake", name="slow"))
            assert (await slow.cancel()).status is Status.CANCELLED
