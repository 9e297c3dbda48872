"""Clients that have to come again take their time: results that ask nothing, and tasks that are polled."""

import asyncio
import random
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.errors import ConnectionClosed, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, TaskRecord, Tasks, run_as_task
from mcp_runtime.memory import connect_memory
from support.tasking import Worker, call, quick

pytestmark = pytest.mark.usefixtures("virtual_time")

STATE = modern.InputRequiredResult(request_state="s")
FORM: dict[str, Any] = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
QUESTION = modern.InputRequiredResult.model_validate(
    {
        "inputRequests": {"q": {"method": "elicitation/create", "params": FORM}},
        "requestState": "s",
        "resultType": "input_required",
    }
)
ASKS: dict[str, dict[str, Any]] = {
    "call_tool": {"name": "x"},
    "get_prompt": {"name": "x"},
    "read_resource": {"uri": "x://y"},
}


def now() -> float:
    return asyncio.get_running_loop().time()


class Raw(BaseModel, extra="allow"):
    """A result as it is."""


class Server(modern.Server):
    """Answers `answers` first, and then with a result; notes when each request came."""

    def __init__(self, answers: list[Any], *, revisions: Any = "all") -> None:
        super().__init__()
        self.answers, self.times = iter(answers), list[float]()
        self.options = ServerOptions(inputs=None, revisions=revisions)

    def answer(self, result: Any) -> Any:
        self.times.append(now())
        return next(self.answers, result)

    @property
    def gaps(self) -> list[float]:
        """The seconds between requests."""
        return [round(after - before, 2) for before, after in pairwise(self.times)]

    async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> Any:
        return self.answer(modern.CallToolResult(content=[]))

    async def get_prompt(self, params: modern.GetPromptRequestParams, ctx: modern.Context) -> Any:
        return self.answer(modern.GetPromptResult(messages=[]))

    async def read_resource(self, params: modern.ReadResourceRequestParams, ctx: modern.Context) -> Any:
        return self.answer(modern.ReadResourceResult(contents=[], ttl_ms=1000, cache_scope="public"))


class Answers(modern.ClientHandlers):
    async def elicit(self, params: Any, ctx: modern.ClientContext) -> modern.ElicitResult:
        return modern.ElicitResult(action="accept", content={})


class LegacyAnswers(legacy.ClientHandlers):
    async def elicit(self, params: Any, ctx: legacy.ClientContext) -> legacy.ElicitResult:
        return legacy.ElicitResult(action="accept", content={})


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize(
    ("client", "revisions"),
    [("2026_07_28", "all"), ("2025_11_25", "own"), ("2025_06_18", "all"), ("2024_11_05", "all")],
)
async def test_results_without_questions_are_followed_up_more_and_more_slowly(
    ask: str, client: str, revisions: str
) -> None:
    """The client waits; or the server, on behalf of clients whose revision has no such results."""
    server, bindings = Server([STATE] * 10, revisions=revisions), import_module(f"mcp_bindings.v{client}")
    async with connect_memory(server) as peer:
        result = await getattr(await bindings.Client.open(peer), ask)(**ASKS[ask])
    assert server.gaps == [0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5]
    assert getattr(result, "ttl_ms", 0) == 0


@pytest.mark.parametrize("ask", ASKS)
async def test_the_timeout_of_the_call_ends_them(ask: str) -> None:
    server = Server([STATE] * 1_000)
    async with connect_memory(server) as peer:
        client = await modern.Client.open(peer)
        begun = now()
        with pytest.raises(RequestTimeout):
            await getattr(client, ask)(**ASKS[ask], options=CallOptions(timeout=30))
        assert 29.9 < now() - begun < 30.2
    assert len(server.times) < 20


async def test_a_call_without_a_timeout_continues_for_as_long_as_it_takes() -> None:
    server = Server([STATE] * 3_000)
    async with connect_memory(server) as peer:
        client = await modern.Client.open(peer, options=ClientOptions(timeout=None, max_time=None))
        await client.call_tool(name="x")
    assert len(server.times) == 3_001


@pytest.mark.parametrize("seed", range(6))
async def test_only_questions_count_as_rounds_and_they_begin_the_pauses_again(seed: int) -> None:
    chance = random.Random(seed)
    answers = [QUESTION] * 16 + [STATE] * chance.randrange(20, 40)
    chance.shuffle(answers)
    expected, pause = list[float](), 0.0
    for answer in answers:
        expected.append(pause if answer is STATE else 0)
        pause = 0 if answer is QUESTION else min(pause * 2 or 0.05, 5)
    for bindings, handlers in ((modern, Answers()), (legacy, LegacyAnswers())):
        server = Server(answers)
        options: Any = ClientOptions(timeout=None, max_time=None)
        async with connect_memory(server) as peer:
            client: Any = await bindings.Client.open(peer, handlers=handlers, options=options)
            if bindings is modern:
                await client.call_tool(name="x")
                assert server.gaps == expected
            else:  # the limit of a server that asks by requests counts the last question too
                with pytest.raises(legacy.errors.InternalError):
                    await client.call_tool(name="x")
                last = len(answers) - answers[::-1].index(QUESTION)
                assert server.gaps == expected[: last - 1]


async def test_one_question_too_many_is_still_an_error() -> None:
    async with connect_memory(Server([QUESTION, STATE] * 17)) as peer:
        client = await modern.Client.open(peer, handlers=Answers())
        with pytest.raises(RemoteProtocolError, match="asked for input 17 times"):
            await client.call_tool(name="x")


async def test_the_end_of_the_connection_ends_a_pause() -> None:
    async with connect_memory(Server([STATE] * 100)) as peer:
        client = await modern.Client.open(peer)
        calling = asyncio.create_task(client.call_tool(name="x"))
        await asyncio.sleep(7)
        begun = now()
        await client.connection.aclose()
        with pytest.raises(ConnectionClosed):
            await calling
        assert now() - begun < 1


@pytest.mark.parametrize("interval", [None, 0, 1, 99, 100, 2_500, 10**15, *random.Random(7).sample(range(200), 3)])
async def test_tasks_are_polled_at_most_ten_times_a_second(interval: int | None) -> None:
    polls = list[float]()

    class Polled(Tasks):
        def handlers(self) -> Any:
            return {"tasks/get": self.get}

        async def get(self, params: Any, ctx: Any) -> Any:
            polls.append(now())
            ended: dict[str, Any] = {"status": "completed", "result": {"content": []}} if len(polls) > 5 else {}
            return {**task, "resultType": "complete", **ended}

    class Slow(modern.Server):
        async def call_tool(self, params: modern.CallToolRequestParams, ctx: modern.Context) -> Any:
            return Raw.model_validate(task)

    at = "2026-07-28T00:00:00Z"
    task: dict[str, Any] = {"taskId": "t", "createdAt": at, "lastUpdatedAt": at, "ttlMs": None, "status": "working"}
    task |= {"resultType": "task"} if interval is None else {"resultType": "task", "pollIntervalMs": interval}
    async with connect_memory(Slow(extensions=[Polled(quick())])) as peer:
        client = await modern.Client.open(peer, extensions=[Tasks()])
        await client.call_tool(name="x", options=CallOptions(timeout=1_000, max_time=1_000))
    gaps = [after - before for before, after in pairwise(polls[1:])]  # listening begins after one
    least = min(max((1_000 if interval is None else interval) / 1_000, 0.1), 60)
    assert all(least <= gap <= least * 1.11 for gap in gaps), gaps


@pytest.mark.parametrize("interval", [0, 0.001, 0.099, 0.1, 2.5, 1e9])
async def test_and_so_are_tasks_of_sessions(interval: float) -> None:
    polls, server = list[float](), Worker(MemoryTaskStore(poll_interval=interval, ttl=None, max_ttl=1e6))

    def polled(_: TaskRecord) -> None:
        polls.append(now())
        if len(polls) > 5:
            server.gate.set()

    async with connect_memory(server) as peer:
        client = await legacy.Client.open(peer)
        await run_as_task(client, legacy.methods.TOOLS_CALL, call(do="wait"), on_status=polled)
    least = min(max(interval, 0.1), 60)
    gaps = [after - before for before, after in pairwise(polls)]
    assert len(gaps) > 4 and all(least <= gap <= least * 1.11 for gap in gaps), gaps
