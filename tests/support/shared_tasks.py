"""Laws of stores that processes share: tasks survive the process that runs them, and any process answers for them."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import tasks as types
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.extensions.tasks import (
    TRANSITIONS,
    Failure,
    InvalidTransition,
    MemoryTaskStore,
    SharedTaskStore,
    Status,
    Success,
    TaskFailed,
    Tasks,
    TooManyTasks,
    UnknownCursor,
    UnknownTask,
    resume_task,
    start_task,
)
from mcp_runtime.extensions.tasks.states import Outcome
from mcp_runtime.extensions.tasks.store import ResultTooLarge, size_of
from mcp_runtime.extensions.vendor import send_request, vendor_request
from mcp_runtime.memory import connect_memory
from support.programs import quick_python
from support.task_program import server

TESTS = Path(__file__).parents[1]
DONE = Success(result={"content": [], "x": None})


class Raw(BaseModel, extra="allow"):
    """Params or a result as they are."""


UPDATE = vendor_request("tasks/update", Raw, Raw)


class Customer(mcp.ClientHandlers):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def elicit(self, params: Any, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        self.asked.append(params.message)
        return mcp.ElicitResult(action="accept", content={"loaves": len(self.asked)})


def call(tool: str, name: str) -> dict[str, Any]:
    return {"name": tool, "arguments": {"name": name}}


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.02)


Make = Callable[..., SharedTaskStore]


class StoreLaws:
    """Laws of a store. Subclasses have a fixture `make`, which returns another store with the same tasks."""

    async def test_the_transitions_are_those_of_the_store_in_memory(self, make: Make) -> None:
        store = make()
        assert [isinstance(each, SharedTaskStore) for each in (store, MemoryTaskStore())] == [True, False]
        for before, after in product(Status, repeat=2):
            task = await store.create("me", None)
            if before is not Status.WORKING:
                await store.move("me", task.id, before, outcome=DONE if before.is_terminal else None)
            if after in TRANSITIONS[before] or (after is before and not before.is_terminal):
                moved = await store.move("me", task.id, after, message="so", questions={"a": {"method": "x"}})
                assert (moved.status, moved.message, moved.questions) == (after, "so", {"a": {"method": "x"}})
            else:
                with pytest.raises(InvalidTransition, match=before.value):
                    await store.move("me", task.id, after, outcome=DONE)
                assert (await store.get("me", task.id)).status is before

    async def test_another_process_reads_what_one_wrote(self, make: Make) -> None:
        outcomes: dict[Status, Outcome] = {
            Status.COMPLETED: DONE,
            Status.FAILED: Failure(code=-7, message="no", data=[1]),
        }
        store, other = make(), make()
        ids = {(await store.create("me", None)).id: status for status in outcomes}
        waiting = {task_id: asyncio.ensure_future(other.wait("me", task_id)) for task_id in ids}
        await asyncio.sleep(0.05)
        for task_id, status in ids.items():
            await store.move("me", task_id, status, outcome=outcomes[status])
            assert await waiting[task_id] == outcomes[status]
            for owner, unknown in (("you", task_id), ("me", "x")):
                with pytest.raises(UnknownTask, match="no such task; it may have expired"):
                    await other.get(owner, unknown)
                with pytest.raises(UnknownTask):
                    await other.move(owner, unknown, Status.CANCELLED)

    async def test_numbers_are_limited_per_owner_and_per_peer(self, make: Make) -> None:
        store = make(max_tasks=4)
        for _ in range(2):
            await store.create("", None, peer="greedy")
        with pytest.raises(TooManyTasks):
            await store.create("", None, peer="greedy")
        last = [(await store.create("", 1_500, peer=peer)).id for peer in ("a", "b")]
        with pytest.raises(TooManyTasks, match="the limit of 4 tasks"):
            await store.create("", None, peer="c")
        await store.create("me", None)
        await asyncio.sleep(1.55)
        assert last[0] not in {(await store.create("", None, peer="c")).id, (await store.create("", None)).id}
        store.forget("")
        async with asyncio.timeout(60):
            while (await store.page("", None))[0]:
                await asyncio.sleep(0.02)
        await store.create("", None, peer="greedy")

    async def test_tasks_expire_and_pages_continue(self, make: Make) -> None:
        store = make(page_size=2, max_ttl=60, max_bytes=1000)
        gone = await store.create("me", 1)
        kept = [await store.create("me", 10**18) for _ in range(3)]
        assert {task.ttl for task in kept} == {60_000}
        await asyncio.sleep(0.01)
        with pytest.raises(UnknownTask):
            await store.get("me", gone.id)
        first, cursor = await store.page("me", None)
        rest, end = await store.page("me", cursor)
        assert [task.id for task in (*first, *rest)] == [task.id for task in kept] and end is None
        for wrong in ("x", "-1", "9" * 99):
            with pytest.raises(UnknownCursor):
                await store.page("me", wrong)
        with pytest.raises(ResultTooLarge):
            await store.move("me", kept[0].id, Status.COMPLETED, outcome=Success(result={"x": "y" * 2000}))
        assert (await store.get("me", kept[0].id)).status is Status.WORKING
        half = Success(result={"x": "y" * 100})
        narrow = make(max_bytes=2 * size_of(half) - 1)
        await narrow.move("me", kept[0].id, Status.COMPLETED, outcome=half)
        with pytest.raises(ResultTooLarge):
            await narrow.move("me", kept[1].id, Status.COMPLETED, outcome=half)

    async def test_a_lease_that_lapsed_is_taken_once(self, make: Make) -> None:
        stores = [make(lease=1.5) for _ in range(3)]
        task_id = (await stores[0].create("", None)).id
        assert await stores[0].renew([task_id]) == {}
        await stores[0].record(task_id, {"call": {}})
        assert await stores[1].take(task_id) is None and not (await stores[1].get("", task_id)).is_lapsed
        asked = {"a": {"method": "x"}, "b": {"method": "x"}}
        await stores[0].move("", task_id, Status.INPUT_REQUIRED, questions=asked)
        await stores[1].answer(task_id, {"a": {"x": None}})
        await stores[1].answer(task_id, {"b": {}})
        assert await stores[0].renew([task_id]) == {task_id: {"a": {"x": None}, "b": {}}}
        await stores[0].move("", task_id, Status.WORKING)
        assert await stores[0].renew([task_id]) == {}
        await asyncio.sleep(1.55)
        assert (await stores[1].get("", task_id)).is_lapsed
        taken: list[Any] = []
        async with asyncio.timeout(60):
            while not any(taken):
                await asyncio.sleep(0.02)
                taken = [await store.take(task_id) for store in stores[1:]]
        assert taken == [{"call": {}}, None]
        assert await stores[0].renew([task_id, "x"]) == {task_id: None, "x": None}
        await stores[1].move("", task_id, Status.COMPLETED, outcome=DONE)
        assert await stores[1].renew([task_id]) == {task_id: None}

    async def test_a_lease_lasts_while_it_is_renewed(self, make: Make) -> None:
        store, other = make(lease=1.5), make()
        task_id = (await store.create("", None)).id
        for _ in range(4):
            await asyncio.sleep(store.interval)
            await store.renew([task_id])
        assert not (await other.get("", task_id)).is_lapsed

    @pytest.mark.parametrize("wrong", [{"ttl": -1.0}, {"page_size": 0}, {"lease": 0}])
    async def test_settings_are_checked(self, make: Make, wrong: dict[str, float]) -> None:
        with pytest.raises(ValueError, match=r"must (not be negative|last longer)"):
            make(**wrong)


@asynccontextmanager
async def two(place: str, notes: Path) -> AsyncGenerator[tuple[mcp.Client, mcp.Client, Customer]]:
    """Two servers with the same tasks, and a client of each."""
    customer = Customer()
    apps = [server(place, notes) for _ in range(2)]
    async with connect_memory(apps[0]) as first, connect_memory(apps[1]) as second:
        clients = [await mcp.Client.open(peer, handlers=customer, extensions=[Tasks()]) for peer in (first, second)]
        yield clients[0], clients[1], customer


@contextmanager
def process(place: str, notes: Path) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """Run a server; yield its process and its URL."""
    command = [quick_python(), "-m", "support.task_program", place, str(notes)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=TESTS) as running:
        assert running.stdout is not None
        try:
            yield running, running.stdout.readline().strip()
        finally:
            running.kill()


@asynccontextmanager
async def opened(url: str, customer: Customer) -> AsyncGenerator[mcp.Client]:
    """Open a client of a server."""
    async with connect_http(url) as peer:
        yield await mcp.Client.open(peer, handlers=customer, extensions=[Tasks()])


class ServerLaws:
    """Laws of servers that share a store. Subclasses have a fixture `place`, which names the store."""

    async def test_answers_and_results_pass_through_another_process(self, place: str, tmp_path: Path) -> None:
        async with two(place, tmp_path / "notes") as (first, second, customer):
            handle = await start_task(first, TOOLS_CALL, call("once", "rye"))
            stub = types.ClientMixin(second.__caller__)
            async with asyncio.timeout(60):
                while (task := await stub.get_task(task_id=handle.id)).status != "input_required":
                    await asyncio.sleep(0.02)
            with pytest.raises(PeerError, match="inputResponses/elicitation-1"):
                bad = {"elicitation-1": {"action": "eat"}, "elicitation-2": 7}
                await send_request(second.connection, UPDATE, {"taskId": handle.id, "inputResponses": bad})
            (tmp_path / "notes.go").touch()
            assert text_of(await resume_task(second, handle.id)) == "rye: loaves=1" and len(customer.asked) == 1
            assert text_of(await handle.result()) == "rye: loaves=1"
            assert task.input_requests and (tmp_path / "notes").read_text() == "rye loaves=1\n"

    async def test_a_cancellation_in_another_process_stops_the_task(self, place: str, tmp_path: Path) -> None:
        async with two(place, tmp_path / "notes") as (first, second, _):
            handle = await start_task(first, TOOLS_CALL, call("once", "rye"))
            waiting = asyncio.ensure_future(handle.result())
            await until((tmp_path / "notes").exists)
            await types.ClientMixin(second.__caller__).cancel_task(task_id=handle.id)
            with pytest.raises(TaskFailed, match="cancelled as requested"):
                await waiting
            await until(lambda: "stopped" in (tmp_path / "notes").read_text())

    @pytest.mark.slow
    async def test_tasks_of_a_killed_server_fail_or_run_again_elsewhere(self, place: str, tmp_path: Path) -> None:
        customer, notes = Customer(), tmp_path / "notes"
        with process(place, notes) as (first, url), process(place, notes) as (_, other):
            async with opened(url, customer) as client:
                ids = [(await start_task(client, TOOLS_CALL, call(tool, tool))).id for tool in ("once", "again")]
                waiting = [asyncio.ensure_future(resume_task(client, task_id)) for task_id in ids]
                await until(lambda: notes.exists() and len(notes.read_text().splitlines()) == 2)
                async with opened(other, customer) as second:
                    stub = types.ClientMixin(second.__caller__)
                    # For longer than a lease, while their process lives, nothing fails or runs twice.
                    await asyncio.sleep(2.5)
                    assert [(await stub.get_task(task_id=task_id)).status for task_id in ids] == ["working"] * 2
                    assert (await stub.get_task(task_id=ids[0])).status_message == "in the oven"
                first.send_signal(signal.SIGKILL)
                first.wait()
                await asyncio.gather(*waiting, return_exceptions=True)
        runs = notes.read_text().splitlines()
        assert sorted(line.split()[0] for line in runs) == ["again", "once"] and len(customer.asked) == 2
        with process(place, notes) as (_, third):  # the second one was killed too, a moment later
            async with opened(third, customer) as client:
                stub = types.ClientMixin(client.__caller__)
                async with asyncio.timeout(60):
                    while (failed := await stub.get_task(task_id=ids[0])).status == "working":
                        await asyncio.sleep(0.1)
                    while len(notes.read_text().splitlines()) < 3:
                        assert (await stub.get_task(task_id=ids[1])).status in ("working", "input_required")
                        await asyncio.sleep(0.1)
                assert (failed.status, failed.status_message) == ("failed", "the process that ran the task has ended")
                (tmp_path / "notes.go").touch()
                said = next(line for line in runs if line.startswith("again")).replace("again ", "again: ")
                assert text_of(await resume_task(client, ids[1])) == said
        assert len(customer.asked) == 2, "a recorded answer is not asked for again"
