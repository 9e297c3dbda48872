"""Tasks in a SQLite file."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as legacy
from mcp_runtime.core import sources
from mcp_runtime.core.sources import Sources
from mcp_runtime.extensions.tasks import MemoryTaskStore, SqliteTaskStore, Status, Success, UnknownTask, run_as_task
from mcp_runtime.extensions.tasks.store import StoreUnavailable, TaskError
from mcp_runtime.memory import connect_memory
from support.shared_tasks import Make, ServerLaws, StoreLaws
from support.tasking import Worker, call


class TestStore(StoreLaws):
    @pytest.fixture
    def make(self, tmp_path: Path) -> Generator[Make]:
        stores: list[SqliteTaskStore] = []

        def make(**more: float) -> SqliteTaskStore:
            stores.append(SqliteTaskStore(tmp_path / "tasks.db", **more))  # type: ignore[arg-type]
            return stores[-1]

        yield make
        for store in stores:
            store.close()


class TestServers(ServerLaws):
    @pytest.fixture
    def place(self, tmp_path: Path) -> str:
        return str(tmp_path / "tasks.db")


DONE = Success(result={"content": []})


@pytest.fixture
def store(tmp_path: Path) -> Generator[SqliteTaskStore]:
    made = SqliteTaskStore(tmp_path / "tasks.db", lease=60)
    yield made
    made.close()


async def test_only_its_user_can_read_a_new_file(store: SqliteTaskStore, tmp_path: Path) -> None:
    await store.create("ada", None)
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["tasks.db", "tasks.db-shm", "tasks.db-wal"]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


@pytest.mark.parametrize("jump", [600.0, 3000.0, -600.0, -1e8])
async def test_a_task_survives_that_the_clock_is_set(
    store: SqliteTaskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    """All leases lapse then, but a process that lives renews its own before another one takes the task."""
    passed = jumped = 0.0
    clocks = Sources(now=lambda: passed + 1000, wall=lambda: 1e9 + passed + jumped)
    monkeypatch.setattr(sources, "in_use", clocks)
    task = await store.create("ada", None)
    await store.record(task.id, {"call": {}})
    with closing(SqliteTaskStore(tmp_path / "tasks.db", lease=60)) as other:
        jumped = jump
        for _ in range(20):
            passed += 10
            assert await other.take(task.id) is None
            assert await store.renew([task.id]) == {}
            assert not (await other.get("ada", task.id)).is_lapsed
        jumped = 0.0
        passed += 61
        assert await other.take(task.id) is None
        passed += 31
        assert await other.take(task.id) == {"call": {}}
        assert await store.renew([task.id]) == {task.id: None}


@pytest.mark.parametrize("number", [10_000, 10_001])
async def test_tasks_that_are_to_be_taken_are_remembered_up_to_10_000(
    store: SqliteTaskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The oldest is forgotten then, and taken half a lease later than the others."""
    passed = 0.0
    monkeypatch.setattr(sources, "in_use", Sources(now=lambda: passed, wall=lambda: 1e9 + passed))
    first = await store.create("ada", None)
    await store.record(first.id, {"call": {}})
    with closing(sqlite3.connect(tmp_path / "tasks.db")) as file, file:
        names = [name for _, name, *_ in file.execute("pragma table_info(tasks)") if name not in ("id", "number")]
        copied = f"insert into tasks (id, {', '.join(names)}) select ?, {', '.join(names)} from tasks where id = ?"
        file.executemany(copied, [(f"copy-{each}", first.id) for each in range(number - 1)])
    with closing(SqliteTaskStore(tmp_path / "tasks.db", lease=60)) as other:
        passed = 61
        ids = [first.id, *(f"copy-{each}" for each in range(number - 1))]
        assert not any(await asyncio.gather(*map(other.take, ids)))
        passed += 31
        last, oldest = await other.take(ids[-1]), await other.take(first.id)
    assert last == {"call": {}}
    assert oldest == (last if number == 10_000 else None)


@pytest.mark.parametrize("failures", [1, 6, 12])
@pytest.mark.usefixtures("virtual_time")
async def test_a_store_that_comes_back_is_written_to_within_five_seconds(failures: int) -> None:
    """However long it was away."""
    times = list[float]()

    class Away(MemoryTaskStore):
        async def move(self, owner: str, task_id: str, status: Status, **more: Any) -> Any:
            times.append(asyncio.get_running_loop().time())
            if len(times) <= failures:
                raise StoreUnavailable
            return await super().move(owner, task_id, status, **more)

    async with connect_memory(Worker(Away(poll_interval=0.01))) as peer:
        client = await legacy.Client.open(peer)
        await run_as_task(client, legacy.methods.TOOLS_CALL, call())
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) == failures
    for number, gap in enumerate(gaps):
        most = min(0.1 * 2**number, 5)
        assert most / 2 <= gap <= most * 1.01, gaps


async def test_a_locked_file_fails_all_waiting_calls_together(
    store: SqliteTaskStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One after the other, these calls would wait for minutes."""
    task = await store.create("ada", None)
    monkeypatch.setattr("mcp_runtime.extensions.tasks.sqlite.BUSY", 0.5)
    with closing(sqlite3.connect(tmp_path / "tasks.db", isolation_level=None)) as other:
        other.execute("begin immediate")
        async with asyncio.timeout(60):
            found = await asyncio.gather(*(store.get("ada", task.id) for _ in range(300)), return_exceptions=True)
        assert {type(error) for error in found} == {StoreUnavailable}
        assert "the store of tasks was locked by another program for 0.5 s" in str(found[0])
        other.execute("rollback")
    assert (await store.get("ada", task.id)).id == task.id
    assert [record.message for record in caplog.records].count(
        f"tasks cannot be stored in {tmp_path}/tasks.db now: database is locked"
    ) == 1


@pytest.mark.parametrize("wrong", ["folder", "missing folder", "other content"])
async def test_a_file_that_cannot_be_used(wrong: str, tmp_path: Path) -> None:
    path = tmp_path / "missing" / "tasks.db" if wrong == "missing folder" else tmp_path / "tasks.db"
    if wrong == "folder":
        path.mkdir()
    elif wrong == "other content":
        path.write_text("not a database, " * 100)
    with closing(SqliteTaskStore(path)) as store:
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="cannot be read or written now"):
                await store.create("ada", None)


FULL = """
import asyncio, resource, signal, sys
from mcp_bindings import v2025_11_25 as legacy
from mcp_runtime.core import sources
from mcp_runtime.core.sources import Sources
from mcp_runtime.extensions.tasks import SqliteTaskStore, Status, Success
from mcp_runtime.extensions.tasks.store import StoreUnavailable

async def main():
    store = SqliteTaskStore(sys.argv[1])
    task = await store.create("ada", None)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, -1))
    outcome = Success(result={"text": "x" * 500_000})
    try:
        await store.move("ada", task.id, Status.COMPLETED, outcome=outcome)
    except StoreUnavailable as error:
        print(error)
    print((await store.get("ada", task.id)).status.value)
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    print((await store.move("ada", task.id, Status.COMPLETED, outcome=outcome)).status.value)
    store.close()

asyncio.run(main())
"""


def test_a_full_disk_undoes_what_was_begun(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "tasks.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    unavailable = "the store of tasks cannot be read or written now; try again later"
    assert done.stdout.splitlines() == [unavailable, "working", "completed"], done.stderr


CORRUPT = [
    (column, value)
    for column in ("created", "updated", "ttl", "status", "message", "questions", "scopes", "lease", "outcome", "work")
    for value in ("x", "{", 1e300, -1e300, b"\xff\x00")
]


@pytest.mark.parametrize(("column", "value"), CORRUPT, ids=str)
async def test_a_corrupt_row_costs_only_its_task(
    column: str, value: Any, store: SqliteTaskStore, tmp_path: Path
) -> None:
    tasks = [await store.create("ada", None) for _ in range(3)]
    for task in tasks:
        await store.record(task.id, {})
        await store.move("ada", task.id, Status.COMPLETED, outcome=DONE)
    with closing(sqlite3.connect(tmp_path / "tasks.db")) as other:
        other.execute(f"update tasks set {column} = ? where id = ?", (value, tasks[1].id))
        other.commit()
    for asked in (
        store.get("ada", tasks[1].id),
        store.wait("ada", tasks[1].id),
        store.take(tasks[1].id),
        store.answer(tasks[1].id, {"a": 1}),
        store.renew([task.id for task in tasks]),
    ):
        try:
            await asked
        except TaskError as error:
            assert isinstance(error, UnknownTask)
    records, _ = await store.page("ada", None)
    assert {record.id for record in records} >= {tasks[0].id, tasks[2].id}
    assert await store.wait("ada", tasks[2].id) == DONE
