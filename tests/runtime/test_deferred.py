"""Slow calls of tools are answered by tasks (2026-07-28, io.modelcontextprotocol/tasks)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2025_11_25 as older
from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import tasks as types
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime import Refusal
from mcp_runtime.app import DefinitionError
from mcp_runtime.core.errors import ConnectionClosed, PeerError, RequestTimeout
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.extensions.tasks import TaskFailed, Tasks, defer, resume_task, start_task
from mcp_runtime.extensions.vendor import send_request, vendor_request
from mcp_runtime.memory import connect_memory
from support.http import served
from support.tasking import quick


class Raw(BaseModel, extra="allow"):
    """Params or a result as they are."""


UPDATE = vendor_request("tasks/update", Raw, Raw)


class Size(BaseModel):
    loaves: int


class Bakery:
    """A server of slow tools, which notes what happened."""

    def __init__(self, store: Any = None, **options: Any) -> None:
        self.gate = asyncio.Event()
        self.ids: list[str] = []
        self.stopped = False
        self.app = mcp.App("bakery", extensions=[Tasks(store or quick(), **options)])
        for tool in (self.bake, self.survey, self.fail, self.report, self.slow):
            self.app.tool(task="optional")(tool)
        self.app.tool(task="required")(self.must)
        self.app.tool()(self.plain)

    async def bake(self, ctx: mcp.Context) -> str:
        """Bake when the gate opens."""
        task = await defer(ctx, "kneading")
        await task.say("in the oven")
        if task.id is not None:
            self.ids.append(task.id)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.stopped = True
            raise
        return "baked"

    async def survey(self, ctx: mcp.Context) -> str:
        """Ask before there is a task, and twice in it."""
        first = await ctx.elicit("before", Size)
        task = await defer(ctx)
        self.ids.append(task.id or "")
        both = await asyncio.gather(ctx.elicit("one", Size), ctx.elicit("two", Size))
        last = await ctx.elicit("three", Size)
        return " ".join(str(size.loaves) for size in (first, *both, last) if not isinstance(size, Refusal))

    async def must(self, ctx: mcp.Context) -> str:
        """Refuse clients without tasks."""
        await defer(ctx)
        return "done"

    async def plain(self, ctx: mcp.Context) -> str:
        """Defer although the tool was not declared so."""
        await self.gate.wait()
        with pytest.raises(RuntimeError, match=r"declared without task=: @app.tool\(task=...\)"):
            await defer(ctx)
        return "plain"

    async def fail(self, ctx: mcp.Context) -> str:
        """Fail with an error of the protocol."""
        await defer(ctx)
        raise PeerError(-7, "no flour", {"left": 0})

    async def report(self, ctx: mcp.Context) -> mcp.CallToolResult:
        """Fail with a result."""
        await defer(ctx)
        return mcp.CallToolResult(content=[mcp.TextContent(text="burnt")], is_error=True)

    async def slow(self, ctx: mcp.Context) -> str:
        """Take long without knowing of tasks."""
        size = await ctx.elicit("before", Size)
        await self.gate.wait()
        return f"slow {size}"


class Customer(mcp.ClientHandlers):
    """Answers each question with the number of questions so far."""

    def __init__(self, slowness: float = 0) -> None:
        self.asked: list[str] = []
        self.slowness = slowness

    async def elicit(self, params: Any, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        self.asked.append(params.message)
        loaves = len(self.asked)
        await asyncio.sleep(self.slowness)
        return mcp.ElicitResult(action="accept", content={"loaves": loaves})


@asynccontextmanager
async def opened(bakery: Bakery, handlers: Any = None) -> AsyncGenerator[mcp.Client]:
    async with connect_memory(bakery.app) as peer:
        yield await mcp.Client.open(peer, handlers=handlers, extensions=[Tasks()])


def stubs(client: mcp.Client) -> types.ClientMixin:
    return types.ClientMixin(client.__caller__)


async def state_of(client: mcp.Client, task_id: str, status: str) -> Any:
    """Poll until the task has a status."""
    async with asyncio.timeout(5):
        while (task := await stubs(client).get_task(task_id=task_id)).status != status:
            await asyncio.sleep(0.01)
    return task


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def called(client: mcp.Client, bakery: Bakery, tool: str = "bake") -> "asyncio.Task[Any]":
    """Call a tool, and return once it has become a task."""
    call = asyncio.ensure_future(client.call_tool(name=tool))
    async with asyncio.timeout(5):
        while not bakery.ids:
            await asyncio.sleep(0)
    return call


async def test_a_deferred_call_is_polled() -> None:
    bakery = Bakery()
    async with opened(bakery) as client:
        call = await called(client, bakery)
        await asyncio.sleep(0)
        working = await state_of(client, bakery.ids[0], "working")
        assert (working.status_message, working.poll_interval_ms) == ("in the oven", 10)
        bakery.gate.set()
        assert text_of(await call) == "baked"
        done = await state_of(client, bakery.ids[0], "completed")
        assert done.result["content"][0]["text"] == "baked"
        assert text_of(await resume_task(client, bakery.ids[0])) == "baked"


async def test_clients_that_do_not_declare_it_wait_for_the_result() -> None:
    bakery = Bakery(after=0)
    bakery.gate.set()
    async with connect_memory(bakery.app) as peer:
        client = await mcp.Client.open(peer)
        assert text_of(await client.call_tool(name="bake")) == "baked" and bakery.ids == []
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="must")
        assert caught.value.code == -32021
        assert caught.value.data == {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
        for method in (stubs(client).get_task, stubs(client).cancel_task):
            with pytest.raises(PeerError) as caught:
                await method(task_id="x")
            assert caught.value.code == -32021
        with pytest.raises(PeerError) as caught:
            await stubs(client).update_task(task_id="x", input_responses={})
        assert caught.value.code == -32021


async def test_older_clients_wait_for_the_result() -> None:
    bakery = Bakery(after=0)
    bakery.gate.set()
    async with connect_memory(bakery.app) as peer:
        client = await older.Client.open(peer)
        assert text_of(await client.call_tool(name="bake")) == "baked" and bakery.ids == []
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="must")
        assert caught.value.code == -32601


@asynccontextmanager
async def over_http(bakery: Bakery, handlers: Any) -> AsyncGenerator[mcp.Client]:
    async with served(asgi_app(bakery.app)) as url, connect_http(f"{url}/mcp") as peer:
        yield await mcp.Client.open(peer, handlers=handlers, extensions=[Tasks()])


async def test_questions_come_in_the_call_and_then_through_the_task() -> None:
    bakery, customer = Bakery(), Customer()
    async with over_http(bakery, handlers=customer) as client:
        assert text_of(await client.call_tool(name="survey")) == "1 2 3 4"
        assert customer.asked == ["before", "one", "two", "three"]


def answer(loaves: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"loaves": loaves}}


@pytest.mark.usefixtures("virtual_time")
async def test_a_partial_answer_leaves_the_rest_open_and_keys_are_never_used_again() -> None:
    bakery = Bakery()
    async with opened(bakery, handlers=Customer()) as client:
        call = await called(client, bakery, "survey")
        await asyncio.wait([call], timeout=0.02)  # it polls at most every 100 ms
        task_id = bakery.ids[0]
        asked = (await state_of(client, task_id, "input_required")).input_requests
        assert sorted(asked) == ["elicitation-1", "elicitation-2"]

        async def give(answers: Any) -> None:
            await stubs(client).update_task(task_id=task_id, input_responses=answers)

        await give({"elicitation-1": answer(7), "elicitation-9": answer(8)})
        assert list((await state_of(client, task_id, "input_required")).input_requests) == ["elicitation-2"]
        await give({"elicitation-1": answer(9), "elicitation-2": answer(8)})
        assert list((await state_of(client, task_id, "input_required")).input_requests) == ["elicitation-3"]
        await give({"elicitation-3": answer(9)})
        assert text_of(await call) == "1 7 8 9"


async def test_answers_to_other_questions_are_ignored_whatever_they_contain() -> None:
    bakery = Bakery()
    async with opened(bakery, handlers=Customer()) as client:
        call = await called(client, bakery)
        params = {"taskId": bakery.ids[0], "inputResponses": {"x": 7, "y": None}}
        await send_request(client.connection, UPDATE, params)
        bakery.gate.set()
        assert text_of(await call) == "baked"


@pytest.mark.usefixtures("virtual_time")
async def test_a_cancelled_call_cancels_its_task() -> None:
    bakery = Bakery()
    async with opened(bakery) as client:
        call = await called(client, bakery)
        await asyncio.sleep(0.02)
        call.cancel()
        task = await state_of(client, bakery.ids[0], "cancelled")
        assert task.status_message == "cancelled as requested" and bakery.stopped
        await stubs(client).cancel_task(task_id=bakery.ids[0])
        with pytest.raises(TaskFailed, match="cancelled as requested"):
            await resume_task(client, bakery.ids[0])


@pytest.mark.usefixtures("virtual_time")
async def test_the_handler_of_a_task_that_expires_is_stopped() -> None:
    bakery = Bakery(store=quick(ttl=0.1))
    async with opened(bakery) as client:
        await start_task(client, TOOLS_CALL, {"name": "bake"})
        async with asyncio.timeout(5):
            while not bakery.stopped:
                await asyncio.sleep(0.01)
        with pytest.raises(PeerError, match="no such task"):
            await resume_task(client, bakery.ids[0])


@pytest.mark.usefixtures("virtual_time")
async def test_a_timeout_cancels_the_task() -> None:
    bakery = Bakery()
    async with opened(bakery) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool(name="bake", options=CallOptions(timeout=0.05))
        await state_of(client, bakery.ids[0], "cancelled")


@pytest.mark.usefixtures("virtual_time")
async def test_a_timeout_counts_from_the_start_of_the_call() -> None:
    bakery = Bakery(after=0.3)
    async with opened(bakery, handlers=Customer()) as client:
        began = asyncio.get_running_loop().time()
        with pytest.raises(RequestTimeout):
            await client.call_tool(name="slow", options=CallOptions(timeout=0.4))
        assert asyncio.get_running_loop().time() - began < 0.6


@pytest.mark.usefixtures("virtual_time")
async def test_a_started_task_has_a_handle() -> None:
    bakery, states = Bakery(), list[str]()
    async with opened(bakery) as client:
        handle = await start_task(client, TOOLS_CALL, {"name": "bake"})
        assert (handle.id, (await handle.poll()).message) == (bakery.ids[0], "in the oven")
        waiting = asyncio.ensure_future(handle.result(on_status=lambda record: states.append(record.status.value)))
        await asyncio.sleep(0.12)
        bakery.gate.set()
        assert text_of(await waiting) == "baked" and (states[0], states[-1]) == ("working", "completed")
        bakery.gate.clear()
        other = await start_task(client, TOOLS_CALL, {"name": "bake"})
        assert (await other.cancel()).status.value == "cancelled" and other.id != handle.id
        with pytest.raises(TaskFailed):
            await other.result()


async def test_a_call_that_was_answered_at_once_has_a_handle_too() -> None:
    bakery = Bakery()
    bakery.gate.set()
    async with opened(bakery) as client:
        handle = await start_task(client, TOOLS_CALL, {"name": "plain"})
        assert handle.id == "" and text_of(await handle.result()) == "plain"


async def test_errors_of_the_protocol_fail_a_task_and_those_of_tools_complete_it() -> None:
    bakery = Bakery()
    async with opened(bakery) as client:
        with pytest.raises(PeerError) as caught:
            await client.call_tool(name="fail")
        assert (caught.value.code, caught.value.message, caught.value.data) == (-7, "no flour", {"left": 0})
        result = await client.call_tool(name="report")
        assert result.is_error and text_of(result) == "burnt"


@pytest.mark.usefixtures("virtual_time")
async def test_slow_calls_become_tasks_by_themselves_but_not_while_they_ask() -> None:
    bakery, customer = Bakery(after=0.02), Customer(0.1)
    async with opened(bakery, handlers=customer) as client:
        asyncio.get_running_loop().call_later(0.2, bakery.gate.set)
        assert text_of(await client.call_tool(name="slow")) == "slow loaves=1" and customer.asked == ["before"]


@pytest.mark.parametrize("task_id", ["x", "x" * 1_000_000])
async def test_unknown_ids_are_refused(task_id: str) -> None:
    async with opened(Bakery()) as client:
        for method in (stubs(client).get_task, stubs(client).cancel_task):
            reason = "no such task" if len(task_id) < 2 else "taskId must be a string of at most 256 characters"
            with pytest.raises(PeerError, match=reason) as caught:
                await method(task_id=task_id)
            assert caught.value.code == -32602


async def test_a_principal_sees_only_its_own_tasks_over_any_connection() -> None:
    bakery = Bakery()
    calls: list[asyncio.Task[Any]] = []

    def principal(scope: Any) -> str:
        return str(dict(scope["headers"])[b"x-user"].decode())

    async with served(asgi_app(bakery.app, principal=principal)) as url:
        for user in ("ann", "bob", "ann"):
            async with connect_http(f"{url}/mcp", headers={"x-user": user}) as peer:
                client = await mcp.Client.open(peer, extensions=[Tasks()])
                if not bakery.ids:
                    calls.append(await called(client, bakery))
                elif user == "ann":
                    bakery.gate.set()
                    assert text_of(await resume_task(client, bakery.ids[0])) == "baked"
                else:
                    with pytest.raises(PeerError, match="no such task"):
                        await stubs(client).get_task(task_id=bakery.ids[0])
    with pytest.raises(ConnectionClosed):
        await calls[0]


async def test_defer_says_that_there_is_no_store() -> None:
    app = mcp.App("none")
    seen: list[str] = []

    @app.tool()
    async def bake(ctx: mcp.Context) -> str:
        """Bake."""
        with pytest.raises(RuntimeError) as caught:
            await defer(ctx)
        seen.append(str(caught.value))
        return ""

    async with connect_memory(app) as peer:
        await (await mcp.Client.open(peer)).call_tool(name="bake")
    assert seen == ["defer() needs a store of tasks: App(extensions=[Tasks(MemoryTaskStore())])"]


@pytest.mark.usefixtures("virtual_time")
async def test_tools_without_a_declaration_never_become_tasks() -> None:
    bakery = Bakery(after=0.01)
    async with opened(bakery) as client:
        asyncio.get_running_loop().call_later(0.05, bakery.gate.set)
        handle = await client.call_tool(name="plain")
        assert text_of(handle) == "plain"


@pytest.mark.parametrize(
    ("task", "extensions", "reason"),
    [
        ("optional", [], "needs a store"),
        ("required", [Tasks()], "needs a store"),
        ("sometimes", [Tasks(quick())], "task='sometimes' is neither"),
    ],
)
def test_declarations_that_cannot_work_are_refused(task: Any, extensions: Any, reason: str) -> None:
    with pytest.raises(DefinitionError, match=reason):
        mcp.App("none", extensions=extensions).tool(task=task)(Bakery().bake)
