"""The memory that a peer can occupy is bounded, in number of messages and in bytes."""

import asyncio
import json
import tracemalloc
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2025_03_26 as old
from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.connection.calls import LIGHT, Call, Reply, ReservedBytes, weight
from mcp_runtime.core.method import NotificationMethod
from mcp_runtime.core.protocol import dispatch
from mcp_runtime.core.protocol.jsonrpc import Notification
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from mcp_runtime.memory import memory_pair
from mcp_runtime.middleware import catalogue
from mcp_runtime.middleware.trace import Tracer
from support.talk import Raw, raw, talk
from support.tasking import Worker, text_result
from support.tools_server import Tools

pytestmark = pytest.mark.usefixtures("virtual_time")

TEXT = "x" * 100_000
LIMIT = 1_000_000


class Held(v.Server):
    """Holds calls and notifications until `gate` is opened; counts them."""

    options = ServerOptions(name="held", max_in_flight=4, max_queued=100, max_bytes=LIMIT, max_unread_bytes=LIMIT)

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.calls = 0
        self.notified = 0

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        self.calls += 1
        if params.name == "echo":
            return text_result(TEXT)
        await self.gate.wait()
        return text_result(params.name)

    async def on_roots_list_changed(self, params: v.NotificationParams | None, ctx: v.Context) -> None:
        self.notified += 1
        await self.gate.wait()


@asynccontextmanager
async def opened(server: v.Server) -> AsyncGenerator[Raw]:
    async with raw(server) as peer:
        await peer.shake_hands("2025-11-25", roots={"listChanged": True})
        yield peer


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def held() -> int:
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.usefixtures("traced")
async def test_large_requests_are_refused_beyond_the_limit() -> None:
    server = Held()
    async with opened(server) as peer:
        before = held()
        for number in range(100):
            peer.tell(id=number, method="tools/call", params={"name": "hold", "arguments": {"text": TEXT}})
        await asyncio.sleep(0)
        refused = [
            m for m in peer.got if "too many bytes of requests are waiting" in m.get("error", {}).get("message", "")
        ]
        assert 90 <= len(refused) < 100
        assert held() - before < 2 * LIMIT
        server.gate.set()
        for number in range(100):
            await peer.answer(number)
        # There is room again.
        peer.tell(id="last", method="tools/call", params={"name": "hold", "arguments": {"text": TEXT}})
        assert "result" in await peer.answer("last")


async def test_a_single_request_may_exceed_the_limit() -> None:
    server = Held()
    server.gate.set()
    async with opened(server) as peer:
        answer = await peer.ask("tools/call", {"name": "hold", "arguments": {"text": TEXT * 20}})
        assert "result" in answer


async def test_notifications_wait_for_their_turn_and_are_dropped_beyond_the_limit() -> None:
    server = Held()
    async with opened(server) as peer:
        tasks = len(asyncio.all_tasks())
        for _ in range(10_000):
            peer.tell(method="notifications/roots/list_changed")
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) - tasks <= 4
        assert any("too many notifications are waiting" in str(error) for error in peer.errors)
        assert "result" in await peer.ask("ping")
        server.gate.set()
        while len(asyncio.all_tasks()) > tasks:
            await asyncio.sleep(0)
        assert server.notified == 4 + 100


@pytest.mark.usefixtures("traced")
async def test_large_notifications_are_dropped_beyond_the_limit() -> None:
    server = Held()
    async with opened(server) as peer:
        before = held()
        for _ in range(100):
            peer.tell(method="notifications/roots/list_changed", params={"_meta": {"x": TEXT}})
        await asyncio.sleep(0)
        assert held() - before < 2 * LIMIT


@pytest.mark.usefixtures("traced")
async def test_a_stream_of_notifications_is_bounded_in_bytes() -> None:
    async with talk(Tools(), max_bytes=LIMIT) as both:
        stream = both.client.notifications(methods.NOTIFICATIONS_MESSAGE)
        sent = both.received
        for _ in range(100):
            await both.server.log("info", TEXT)
            sent.clear()
        await asyncio.sleep(0.05)
        assert stream.dropped
        assert sum(len(item.data) for item, _ in stream._items if item is not None) <= LIMIT


async def test_unread_results_stop_the_work() -> None:
    server = Held()
    server.options = ServerOptions(name="held")
    async with opened(server) as peer:
        peer.transport.pause_reading()
        for number in range(100):
            peer.tell(id=number, method="tools/call", params={"name": "echo"})
        await asyncio.sleep(0.1)
        # 1 MB waits in the transport and 1 MB in its senders; the other results are not even built.
        assert 20 <= server.calls < 30
        peer.transport.resume_reading()
        for number in range(100):
            assert "result" in await peer.answer(number)
        assert server.calls == 100


async def test_unread_immediate_results_become_errors() -> None:
    class Wide(Held):
        options = ServerOptions(name="wide", max_unread_bytes=LIMIT)

        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            await self.gate.wait()
            return text_result(TEXT)

    server = Wide()
    async with opened(server) as peer:
        for number in range(100):
            peer.tell(id=number, method="tools/call", params={"name": "x"})
        await asyncio.sleep(0.01)
        peer.transport.pause_reading()
        server.gate.set()
        await asyncio.sleep(0.05)
        peer.transport.resume_reading()
        answers = [await peer.answer(number) for number in range(100)]
        dropped = [a for a in answers if "were not read" in a.get("error", {}).get("message", "")]
        assert 80 < len(dropped) < 100


async def test_unread_log_messages_are_dropped() -> None:
    server = Held()
    async with opened(server) as peer:
        peer.transport.pause_reading()
        level = peer.server.binding.methods["notifications/message"] if peer.server.binding else None
        assert isinstance(level, NotificationMethod) and level.params is not None
        for _ in range(100):
            peer.server.post(level, level.params.build({"level": "info", "data": TEXT}))
        await asyncio.sleep(0.05)
        peer.got.clear()
        peer.transport.resume_reading()
        await asyncio.sleep(0.05)
        assert 10 <= len(peer.got) < 30
        peer.got.clear()
        await peer.server.log("info", "heard")
        await asyncio.sleep(0.05)
        assert peer.got[-1]["params"]["data"] == "heard"


async def test_memory_transports_wait_for_bytes_that_are_not_read() -> None:
    here, there = memory_pair()
    there.pause_reading()
    here.send(b"x" * 2_000_000)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await here.drain()


async def test_results_of_tasks_are_bounded_in_bytes() -> None:
    class Large(Worker):
        async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
            return text_result(TEXT)

    async with opened(Large(MemoryTaskStore(max_bytes=LIMIT))) as peer:
        ids: list[str] = []
        for number in range(10):
            answer = await peer.ask("tools/call", {"name": "work", "arguments": {}, "task": {}}, number)
            ids.append(answer["result"]["task"]["taskId"])
        results = [await peer.ask("tasks/result", {"taskId": id_}, id_) for id_ in ids]
        kept = [answer for answer in results if "result" in answer]
        assert len(kept) == LIMIT // weight(json.dumps(kept[0]["result"]).encode())
        assert results[-1]["error"]["message"].startswith("the results of the tasks take too much memory")
        state = await peer.ask("tasks/get", {"taskId": ids[-1]}, "state")
        assert state["result"]["status"] == "failed"


async def test_params_of_running_tasks_count() -> None:
    server = Worker()
    server.options = ServerOptions(name="worker", extensions=[Tasks(MemoryTaskStore())], max_bytes=LIMIT)
    async with opened(server) as peer:
        given: dict[str, Any] = {"name": "work", "arguments": {"do": "wait", "text": TEXT}, "task": {}}
        answers = [await peer.ask("tools/call", given, number) for number in range(10)]
        refused = [answer for answer in answers if "error" in answer]
        assert len(refused) == 6
        server.gate.set()
        await peer.ask("tasks/result", {"taskId": answers[0]["result"]["task"]["taskId"]}, "done")
        while "error" in await peer.ask("tools/call", given, "again"):
            peer.got.clear()
            await asyncio.sleep(0)


MAX_WAITING = 100


async def test_tasks_can_be_cancelled_while_results_are_awaited() -> None:
    server = Worker()
    server.options = ServerOptions(
        name="worker", extensions=[Tasks(MemoryTaskStore())], max_in_flight=8, max_waiting=MAX_WAITING
    )
    async with opened(server) as peer:
        given = {"name": "work", "arguments": {"do": "wait"}, "task": {}}
        task_id = (await peer.ask("tools/call", given, "call"))["result"]["task"]["taskId"]
        for number in range(MAX_WAITING + 1):
            peer.tell(id=number, method="tasks/result", params={"taskId": task_id})
        assert "may wait" in (await peer.answer(MAX_WAITING))["error"]["message"]
        cancelled = await peer.ask("tasks/cancel", {"taskId": task_id}, "cancel")
        assert cancelled["result"]["status"] == "cancelled"
        assert (await peer.answer(0))["error"]["message"] == "the task was cancelled"
        await peer.answer(MAX_WAITING - 1)
        # All waiting calls have gone, and others may wait.
        assert "may wait" not in str(await peer.ask("tasks/result", {"taskId": task_id}, "later"))


async def test_answers_to_a_batch_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Batched(old.Server):
        async def list_tools(self, params: Any, ctx: old.Context) -> old.ListToolsResult:
            return old.ListToolsResult(tools=[old.Tool(name=TEXT, input_schema=old.ToolInputSchema())])

    monkeypatch.setattr(dispatch, "MAX_BATCH_BYTES", LIMIT)
    async with raw(Batched()) as peer:
        await peer.shake_hands("2025-03-26")
        batch = [{"jsonrpc": "2.0", "id": number, "method": "tools/list"} for number in range(20)]
        peer.send(json.dumps(batch).encode())
        while "id" in peer.got[-1]:
            await asyncio.sleep(0)
        answers: list[Any] = peer.got[-1]
        assert sorted(answer["id"] for answer in answers) == list(range(20))
        assert sum("result" in answer for answer in answers) == 9
        assert {a["error"]["message"] for a in answers if "error" in a} == {
            "the answers to this batch are too large together; send this request alone"
        }


@pytest.mark.usefixtures("traced")
async def test_remembered_lists_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "MAX_BYTES", LIMIT)
    known = catalogue.Catalogue("tools", lambda tool: tool)

    def page(begin: int, size: int) -> v.ListToolsResult:
        names = range(begin, begin + size)
        return v.ListToolsResult(
            tools=[v.Tool(name=str(n), description=f"{n}{TEXT}", input_schema=v.ToolInputSchema()) for n in names]
        )

    before = held()
    for begin in range(0, 100, 2):
        known.learn(page(begin, 2))
    assert held() - before < 2 * LIMIT
    assert known.get("99") is not None and known.get("0") is None
    # One page is kept, however large it is.
    known.learn(page(200, 20))
    assert known.get("200") is not None and known.get("219") is not None


@pytest.mark.usefixtures("traced")
async def test_traces_keep_short_ids() -> None:
    tracer = Tracer(lambda record: None)
    before = held()
    for number in range(100):
        text = json.dumps({"jsonrpc": "2.0", "id": f"{number}{TEXT}", "method": f"x{TEXT}"}).encode()
        tracer("received", text)
    tracer("sent", json.dumps({"jsonrpc": "2.0", "id": f"7{TEXT}", "result": {}}).encode())
    assert tracer.records[-1].duration is not None
    assert held() - before < LIMIT


def test_the_weight_of_a_message_is_about_what_it_takes() -> None:
    values: list[Any] = [[[]] * 1000, [{}] * 1000, {str(n): {"a": 1.5} for n in range(1000)}, TEXT, [0.5] * 1000]
    for value in values:
        text = json.dumps(value).encode()
        tracemalloc.start()
        parsed = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert parsed == value
        assert taken / 2 <= weight(text) <= 6 * taken


def test_a_load_is_released_once() -> None:
    load = ReservedBytes(LIGHT)
    call = Call(None, Reply(None, Notification("tools/call", None), memory_pair()[0]))
    call.held = load.reserve(b"x" * LIGHT, 1, None)
    assert call.held is not None
    assert load.reserve(b"x", 1, None) is None
    call.release()
    call.release()
    assert load.used == 0
