"""Tasks in Redis, with a real redis-server that is killed, restarted, paused and full."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
from redis.asyncio import Redis

from mcp_bindings.extensions.tasks import ClientMixin
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.core.errors import PeerError
from mcp_runtime.extensions.tasks import (
    InvalidTransition,
    Status,
    Success,
    TooManyTasks,
    UnknownTask,
    resume_task,
    start_task,
)
from mcp_runtime.extensions.tasks import redis as stores
from mcp_runtime.extensions.tasks.redis import RedisTaskStore
from support.redis_server import RedisServer, full, killed, redis_server, slowed, stopped
from support.shared_tasks import Make, ServerLaws, StoreLaws, call, text_of, two, until

pytestmark = pytest.mark.interop


Fault: TypeAlias = Callable[[RedisServer], AbstractAsyncContextManager[None]]

UNREACHABLE = "the store of tasks cannot be reached; try again later"


@pytest.fixture
async def server() -> AsyncGenerator[RedisServer]:
    async with redis_server(persists=True) as running:
        yield running


@pytest.fixture
async def make(server: RedisServer) -> AsyncGenerator[Make]:
    async with server.client() as redis:

        def make(**more: Any) -> RedisTaskStore:
            return RedisTaskStore(redis, prefix="shop", **more)

        yield make


class TestStore(StoreLaws):
    pass


class TestServers(ServerLaws):
    @pytest.fixture
    def place(self, server: RedisServer) -> str:
        return server.url


@pytest.mark.parametrize("fault", [killed, stopped, full])
async def test_tasks_outlive_an_outage_of_redis(
    server: RedisServer,
    fault: Fault,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(stores, "TIMEOUT", 0.5)
    notes = tmp_path / "notes"
    async with two(server.url, notes) as (first, second, _):
        once, again = [(await start_task(first, TOOLS_CALL, call(tool, tool))).id for tool in ("once", "again")]
        near, far = [ClientMixin(client.__caller__) for client in (first, second)]
        answers: Any = {"elicitation-1": {"action": "accept", "content": {"loaves": 7}}}
        await far.update_task(task_id=once, input_responses=answers)
        await until(notes.exists)
        async with fault(server):
            with pytest.raises(PeerError, match=UNREACHABLE):
                await start_task(first, TOOLS_CALL, call("once", "late"))
            with pytest.raises(PeerError, match=UNREACHABLE):
                await far.update_task(task_id=again, input_responses=answers)
            if fault is not full:
                for stub in (near, far):
                    with pytest.raises(PeerError, match=UNREACHABLE):
                        await stub.get_task(task_id=once)
            notes.with_suffix(".go").touch()
            await asyncio.sleep(2.2)  # longer than a lease: the handler of the first task returns in the outage
        await asyncio.sleep(1.1)  # the process that runs the tasks has half a lease to renew its leases
        assert text_of(await resume_task(second, once)) == "once: loaves=7"
        assert text_of(await resume_task(second, again)) == "again: loaves=1"
        assert sorted(notes.read_text().splitlines()) == ["again loaves=1", "once loaves=7"], "nothing ran twice"
    lines = [record.getMessage().split(":")[0] for record in caplog.records if "Redis" in record.getMessage()]
    assert sorted(lines) == ["tasks can be stored in Redis again"] * 2 + ["tasks cannot be stored in Redis now"] * 2


async def test_tasks_that_redis_has_lost_are_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # A client that listens polls once a minute, and Redis may be killed just after a poll.
    monkeypatch.setattr("mcp_runtime.extensions.tasks.caller.MAX_INTERVAL", 0.5)
    notes = tmp_path / "notes"
    async with redis_server() as forgetful, two(forgetful.url, notes) as (first, second, _):
        handle = await start_task(first, TOOLS_CALL, call("once", "rye"))
        waiting = asyncio.ensure_future(handle.result())
        await until(notes.exists)
        async with killed(forgetful):
            pass
        with pytest.raises(PeerError, match=rf"no such task|{UNREACHABLE}"):
            await waiting
        with pytest.raises(PeerError, match="no such task"):
            await ClientMixin(second.__caller__).get_task(task_id=handle.id)
        await until(lambda: "rye stopped" in notes.read_text())
    assert f"the run of the task {handle.id} is stopped: it has ended elsewhere, or is lost" in caplog.text


def test_a_client_or_prefix_that_cannot_be_used_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="decode_responses"):
        RedisTaskStore(Redis(decode_responses=True))
    with pytest.raises(ValueError, match="name your application"):
        RedisTaskStore(Redis(), prefix="")


async def test_a_live_process_keeps_its_tasks_after_an_outage(make: Make) -> None:
    store, other = make(lease=1.0), make(lease=1.0)
    task_id = (await store.create("", None)).id
    await asyncio.sleep(1.1)
    assert (await other.get("", task_id)).is_lapsed and await other.take(task_id) is None
    assert await store.renew([task_id]) == {}
    assert not (await other.get("", task_id)).is_lapsed and await other.take(task_id) is None


CORRUPT: Final = ("x", "{", "[1]", "1e300", "-1e300", b"\xff\x00", "")
"""What another program wrote into a field."""
FIELDS: Final = (
    *("created", "updated", "ttl", "status", "message", "questions", "outcome", "lease", "scopes"),
    *("work", "size", "move", "holder", "claimed", "answer:a"),
)


@pytest.mark.parametrize("field", [*FIELDS, ""])
async def test_a_corrupt_value_costs_only_its_task(server: RedisServer, make: Make, field: str) -> None:
    store, other = make(lease=0.05), make(lease=0.05)
    done = Success(result={"content": []})
    tasks = [await store.create("ada", None) for _ in range(3)]
    for task in tasks:
        await store.record(task.id, {})
    await store.move("ada", tasks[1].id, Status.COMPLETED if field == "outcome" else Status.WORKING, outcome=None)
    bad, key = tasks[1].id, f"shop:task:{tasks[1].id}"
    async with server.client() as redis:
        for value in CORRUPT:
            if field:
                await redis.hset(key, field, value)
            else:
                await redis.set(key, value)
            for attempt in (
                store.get("ada", bad),
                other.take(bad),
                store.answer(bad, {"a": 1}),
                store.move("ada", bad, Status.COMPLETED, outcome=done),
                store.move("ada", bad, Status.INPUT_REQUIRED),
            ):
                with suppress(UnknownTask, InvalidTransition):
                    await attempt
            renewed = await store.renew([task.id for task in tasks])
            assert renewed.keys() <= {bad}
            records, _ = await store.page("ada", None)
            assert {record.id for record in records} >= {tasks[0].id, tasks[2].id}
            await store.create("ada", None)
    for task in (tasks[0], tasks[2]):
        await store.move("ada", task.id, Status.COMPLETED, outcome=done)
        assert await store.wait("ada", task.id) == done


async def test_refused_tasks_cost_little(server: RedisServer, make: Make) -> None:
    store = make(max_tasks=100)
    tasks = [await store.create("ada", 1_500 if number == 50 else None) for number in range(100)]
    async with server.client() as redis:

        async def commands() -> int:
            return sum(each["calls"] for each in (await redis.info("commandstats")).values())

        with pytest.raises(TooManyTasks):
            await store.create("ada", None)
        before = await commands()
        for _ in range(100):
            with pytest.raises(TooManyTasks):
                await store.create("ada", None)
        assert await commands() - before < 2_000, "all tasks are looked at no more often than once a second"
    await asyncio.sleep(1.5)
    assert (await store.create("ada", None)).id not in {task.id for task in tasks}, "one has expired"


async def test_a_slow_redis_delays_calls_and_loses_nothing(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "TIMEOUT", 2.0)
    notes = tmp_path / "notes"
    async with slowed(server.port) as slow, two(f"redis://127.0.0.1:{slow.port}", notes) as (first, second, _):
        slow.delay = 0.1
        handle = await start_task(first, TOOLS_CALL, call("again", "slow"))
        slow.delay = 5.0
        with pytest.raises(PeerError, match=UNREACHABLE):
            await ClientMixin(second.__caller__).get_task(task_id=handle.id)
        slow.delay = 0.0
        answers: Any = {"elicitation-1": {"action": "accept", "content": {"loaves": 2}}}
        await ClientMixin(second.__caller__).update_task(task_id=handle.id, input_responses=answers)
        notes.with_suffix(".go").touch()
        assert text_of(await resume_task(second, handle.id)).startswith("slow: loaves=")


async def test_tasks_that_are_flushed_are_stopped_and_new_ones_begin(server: RedisServer, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with two(server.url, notes) as (first, second, _):
        handle = await start_task(first, TOOLS_CALL, call("once", "rye"))
        answers: Any = {"elicitation-1": {"action": "accept", "content": {"loaves": 2}}}
        await ClientMixin(second.__caller__).update_task(task_id=handle.id, input_responses=answers)
        await until(notes.exists)
        async with server.client() as redis:
            await redis.flushall()
        for client in (first, second):
            with pytest.raises(PeerError, match="no such task"):
                await ClientMixin(client.__caller__).get_task(task_id=handle.id)
        await until(lambda: "rye stopped" in notes.read_text())
        notes.with_suffix(".go").touch()
        handle = await start_task(second, TOOLS_CALL, call("once", "wheat"))
        assert text_of(await resume_task(second, handle.id)).startswith("wheat: loaves=")
