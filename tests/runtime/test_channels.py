"""Several channels to one peer: a request uses its own channel, and losing one affects no other."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.connection.transport import Verdict
from mcp_runtime.core.errors import LocalProtocolError, McpError
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from support.channels import Stream, Streams
from support.posting import answer, post, shake_hands

pytestmark = pytest.mark.usefixtures("virtual_time")

REVISION = "2025-11-25"


class Busy(v.Server):
    """Waits or logs."""

    options = ServerOptions(progress_rate=None, log_rate=None)

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.ended: list[str] = []

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        if params.name == "wait":
            return await self.wait(ctx)
        await ctx.log("info", params.name)
        return v.CallToolResult(content=[])

    async def wait(self, ctx: v.Context) -> v.CallToolResult:
        self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended.append(str(ctx.cancel_reason))
            raise
        self.ended.append("went on")
        return v.CallToolResult(content=[])


@asynccontextmanager
async def serving(server: Any, **capabilities: Any) -> AsyncGenerator[tuple[Streams, Connection]]:
    """Serve over a transport with a channel for each message, after the handshake."""
    streams = Streams()
    connection = await start_server(streams, server)
    await shake_hands(streams, REVISION, **capabilities)
    try:
        yield streams, connection
    finally:
        await connection.aclose()


def call(streams: Streams, id_: Any, name: str, **meta: Any) -> Stream:
    params = {"name": name, **({"_meta": meta} if meta else {})}
    return post(streams, id=id_, method="tools/call", params=params)


async def test_an_earlier_worker_sends_on_the_channel_of_its_request() -> None:
    orders: asyncio.Queue[tuple[v.Context, asyncio.Future[str]]] = asyncio.Queue()

    async def work() -> None:
        while True:
            ctx, done = await orders.get()
            await ctx.log("info", "at work")
            await ctx.report_progress(1)
            done.set_result(str((await ctx.client.list_roots()).roots[0].uri))

    class Ordering(v.Server):
        options = ServerOptions(progress_rate=None, log_rate=None)

        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            orders.put_nowait((ctx, done))
            return v.CallToolResult(content=[v.TextContent(text=await done)])

    worker = asyncio.create_task(work())
    async with serving(Ordering(), roots={}) as (streams, _):
        before = len(streams.got)
        for number in range(3):
            channel = call(streams, number, "x", progressToken="t")
            asked = await channel.until(lambda message: message.get("method") == "roots/list")
            streams.deliver(Stream(), id=asked["id"], result={"roots": [{"uri": f"file:///{number}"}]})
            assert (await answer(channel, number))["result"]["content"][0]["text"] == f"file:///{number}"
            sent = ["notifications/message", "notifications/progress", "roots/list", None]
            assert [message.get("method") for message in channel.got] == sent
        assert len(streams.got) == before, "nothing left on the common channel"
    worker.cancel()


async def test_messages_after_the_answer_use_the_common_channel() -> None:
    class Late(v.Server):
        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            ctx.connection.spawn(self.later(ctx))
            return v.CallToolResult(content=[])

        async def later(self, ctx: v.Context) -> None:
            await asyncio.sleep(0.01)
            await ctx.log("info", "late")

    async with serving(Late()) as (streams, _):
        channel = call(streams, 1, "x")
        await streams.until(lambda message: message.get("method") == "notifications/message")
        assert [message.get("id") for message in channel.got] == [1]


async def test_a_refusal_is_sent_on_the_channel_of_the_request() -> None:
    async with serving(Busy()) as (streams, _):
        unknown, wrong = post(streams, id=1, method="prompts/list"), post(streams, id=2, method="tools/call", params={})
        assert (await answer(unknown, 1))["error"]["code"] == -32601
        assert (await answer(wrong, 2))["error"]["code"] == -32602
        torn = Stream()
        assert streams.receiver.message_received(b'{"jsonrpc":', torn).verdict is Verdict.MALFORMED
        assert torn.got[0]["error"]["code"] == -32700 and "id" not in torn.got[0]
        large = Stream()
        assert streams.receiver.message_refused("too large", large).verdict is Verdict.MALFORMED
        assert large.got[0]["error"]["message"] == "too large"


@pytest.mark.parametrize("text", [None, b'{"jsonrpc":', b'{"jsonrpc":"2.0","id":1,"method":"ping"}'], ids=str)
async def test_nothing_is_sent_after_the_end(text: bytes | None) -> None:
    async with serving(Busy()) as (streams, connection):
        connection.finish("maintenance")
        late, receiver = Stream(), streams.receiver
        outcome = receiver.message_refused("too large", late) if text is None else receiver.message_received(text, late)
        assert not outcome.is_accepted
        assert late.got == []


async def test_losing_the_only_channel_closes_the_connection() -> None:
    server = Busy()
    async with serving(server) as (streams, connection):
        call(streams, 1, "wait")
        await server.begun.wait()
        streams.receiver.channel_lost(streams, None)
        assert await connection.wait_closed() == "the peer closed the connection"
        assert server.ended == ["the peer closed the connection"]


class Stuck(Stream):
    """A channel that is not read until the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.drained = asyncio.Event()

    async def drain(self) -> None:
        await self.drained.wait()


async def test_an_unread_channel_slows_down_only_itself() -> None:
    async with serving(Busy()) as (streams, _):
        stuck, other = Stuck(), Stream()
        name = "x" * 60_000
        for number in range(40):
            streams.deliver(stuck, id=f"{number} {name}", method="ping")
        assert stuck.is_paused
        streams.deliver(other, id="other", method="ping")
        assert (await answer(other, "other"))["result"] == {} and not other.is_paused and not streams.is_paused
        stuck.drained.set()
        async with asyncio.timeout(5):
            while stuck.is_paused:
                await asyncio.sleep(0)


async def test_finished_channels_are_released() -> None:
    async with serving(Busy()) as (streams, _):
        gone = weakref.WeakSet[Stream]()

        def use(number: int) -> None:
            gone.add(channel := call(streams, number, "unknown" if number % 2 else "wait"))
            streams.deliver(channel, method="notifications/cancelled", params={"requestId": number})
            streams.deliver(channel, method="notifications/unknown")
            streams.receiver.channel_lost(channel, None)

        for number in range(50):
            use(number)
        await asyncio.sleep(0.01)
        gc.collect()
        assert len(gone) == 0


async def test_a_duplicate_id_on_the_same_channel_is_refused_without_an_id() -> None:
    server = Busy()
    async with serving(server) as (streams, _):
        channel = call(streams, 7, "wait")
        await server.begun.wait()
        outcome = streams.deliver(channel, id=7, method="tools/list")
        assert outcome.verdict is Verdict.REJECTED and "7 belongs to a request that is still open" in outcome.reason
        assert [(m.get("id"), m["error"]["code"]) for m in channel.got] == [(None, -32600)]
        server.gate.set()
        assert "result" in await answer(channel, 7)


async def test_a_duplicate_id_on_another_channel_is_refused_with_the_id() -> None:
    server = Busy()
    async with serving(server) as (streams, _):
        first = call(streams, 7, "wait")
        await server.begun.wait()
        second = Stream()
        assert streams.deliver(second, id=7, method="tools/list").verdict is Verdict.REJECTED
        assert (await answer(second, 7))["error"]["code"] == -32600
        server.gate.set()
        assert "result" in await answer(first, 7)
        assert len(first.got) == 1


@pytest.mark.parametrize(
    ("message", "verdict", "reason"),
    [
        ({"id": 99, "result": {}}, Verdict.REJECTED, "99, which is not an open request"),
        ({"method": "notifications/initialized"}, Verdict.REJECTED, "not allowed in state 'ready'"),
        (
            {"method": "notifications/progress", "params": {"progressToken": "?", "progress": 1}},
            Verdict.REJECTED,
            "'?'",
        ),
        ({"method": "notifications/cancelled", "params": {"requestId": 99}}, Verdict.ACCEPTED, ""),
        ({"method": "notifications/unknown"}, Verdict.ACCEPTED, ""),
        ({"id": 1, "method": "ping"}, Verdict.ACCEPTED, ""),
        ({"id": 1}, Verdict.MALFORMED, '"method"'),
        ({"id": None, "method": "ping"}, Verdict.MALFORMED, '"id" must be'),
    ],
)
async def test_received_messages_have_an_outcome(message: dict[str, Any], verdict: Verdict, reason: str) -> None:
    async with serving(Busy()) as (streams, connection):
        errors: list[McpError] = []
        connection.on_error(errors.append)
        outcome = streams.deliver(Stream(), **message)
        assert outcome.verdict is verdict and reason in outcome.reason
        assert (outcome.code == 0) == outcome.is_accepted == (not errors)


async def test_a_notification_with_wrong_params_is_rejected() -> None:
    class Listening(v.Server):
        async def on_roots_list_changed(self, params: v.NotificationParams | None, ctx: v.Context) -> None: ...

    async with serving(Listening(), roots={"listChanged": True}) as (streams, _):
        outcome = streams.deliver(Stream(), method="notifications/roots/list_changed", params={"_meta": 1})
        assert outcome.verdict is Verdict.REJECTED and outcome.code == -32602


async def test_closing_early_needs_a_resumable_channel() -> None:
    raised: list[LocalProtocolError] = []

    class Hasty(v.Server):
        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            with pytest.raises(LocalProtocolError, match="cannot resume streams") as error:
                ctx.exchange.close_stream()
            raised.append(error.value)
            return v.CallToolResult(content=[])

    async with serving(Hasty()) as (streams, _):
        assert "result" in await answer(call(streams, 1, "x"), 1)
    assert len(raised) == 1


class Named(Stream):
    """A channel of an authenticated peer."""

    principal = Principal("ada")
    headers: Mapping[str, str] = MappingProxyType({"host": "x"})


async def test_a_principal_finds_its_tasks_over_another_connection() -> None:
    seen: list[Any] = []
    store = MemoryTaskStore()

    class Slow(v.Server):
        options = ServerOptions(extensions=[Tasks(store)])

        async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
            execution = v.ToolExecution(task_support="optional")
            return v.ListToolsResult(tools=[v.Tool(name="x", input_schema=v.ToolInputSchema(), execution=execution)])

        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            seen.append((ctx.exchange.requester.principal, ctx.exchange.requester.headers))
            return v.CallToolResult(content=[])

    async def listed(channel: type[Stream], *, begins: bool) -> int:
        streams = Streams()
        connection = await start_server(streams, Slow())
        await shake_hands(streams, REVISION, channel)
        if begins:
            await answer(post(streams, id=1, method="tools/call", params={"name": "x", "task": {}}), 1)
        tasks = (await answer(post(streams, id=2, method="tasks/list"), 2))["result"]["tasks"]
        await connection.aclose()
        return len(tasks)

    assert await listed(Named, begins=True) == 1
    assert await listed(Named, begins=False) == 1
    assert await listed(Stream, begins=False) == 0
    assert seen == [("ada", {"host": "x"})]
