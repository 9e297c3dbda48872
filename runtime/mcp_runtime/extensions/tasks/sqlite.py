"""Task storage in a SQLite file, which several processes may share."""

import asyncio
import json
import os
import sqlite3
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, Unpack

from mcp_runtime.core import sources
from mcp_runtime.core.connection.timers import log
from mcp_runtime.extensions.tasks.states import Outcome, Status, TaskRecord
from mcp_runtime.extensions.tasks.store import (
    DEFAULT_LEASE,
    NOTHING,
    LeasedStore,
    StoreLimits,
    StoreUnavailable,
    TaskError,
    UnknownTask,
    check_transition,
    outcome_of,
    size_of,
    spelled,
    too_large,
    too_many,
    unknown,
)

T = TypeVar("T")

BUSY: Final = 5.0
"""Seconds that a call waits for the lock of another process, and for the calls before it."""
MAX_CLAIMS: Final = 10_000
"""How many tasks are remembered whose lease has lapsed."""

_SCHEMA: Final = """
create table if not exists tasks (
    number integer primary key autoincrement, id text unique not null, owner text not null, peer text,
    created real not null, updated real not null, ttl integer, expires real, status text not null,
    message text not null, questions text not null, scopes text not null, size integer not null default 0,
    holder text, lease real, answers text not null default '{}', work text not null default '{}', outcome text
);
create index if not exists tasks_of_owners on tasks (owner, number);
create index if not exists sizes_of_owners on tasks (owner, size);
create index if not exists tasks_expire on tasks (expires);
"""
"""Outcomes come last: SQLite reads a row up to the column that it needs."""
_COLUMNS: Final = "id, created, updated, ttl, status, message, questions, scopes, lease"
_KEPT: Final = "(expires is null or expires >= ?)"
_UNFINISHED: Final = "status in ('working', 'input_required')"


class SqliteTaskStore(LeasedStore):
    """Stores tasks in a SQLite file; it implements `SharedTaskStore`.

    A task survives the process that ran it. All access is in one thread. A process or several may use the file, on
    one machine; a power failure may lose what was written last. A new file can be read by its user only. While another
    process locks the file for more than 5 seconds, or it cannot be read or written, calls raise `StoreUnavailable`; a
    row that cannot be read counts as unknown.

    Args:
        path: the file, created if it does not exist.
        lease: seconds after which a process that has not renewed the lease of a task counts as ended;
            the same in all processes.
        limits: see `StoreLimits`.

    Raises:
        ValueError: a number is negative, or the page size or the lease is 0.
    """

    def __init__(self, path: str | Path, *, lease: float = DEFAULT_LEASE, **limits: Unpack[StoreLimits]) -> None:
        super().__init__(lease, **limits)
        self.place = path
        self._thread = ThreadPoolExecutor(1, "mcp-tasks")
        self._file: sqlite3.Connection | None = None
        self._failed = False
        self._claims: dict[str, tuple[float, float]] = {}

    async def create(
        self, owner: str, ttl: int | None, *, peer: str | None = None, scopes: frozenset[str] = frozenset()
    ) -> TaskRecord:
        """Create a task; see `TaskStore.create`."""
        kept = self._kept(ttl)

        def create(file: sqlite3.Connection) -> TaskRecord:
            now, task_id = sources.wall(), sources.token_hex(16)
            file.execute("delete from tasks where expires < ?", (now,))
            counts = file.execute("select count(*), sum(peer = ?) from tasks where owner = ?", (peer, owner)).fetchone()
            if counts[0] >= self._max_tasks or (counts[1] or 0) >= (self._max_tasks + 1) // 2:
                raise too_many(counts[0])
            expires = None if kept is None else now + kept / 1000
            lease = self._holder, now + self._lease
            values = (task_id, owner, peer, now, now, kept, expires, Status.WORKING.value, " ".join(scopes), *lease)
            into = "id, owner, peer, created, updated, ttl, expires, status, scopes, holder, lease, message, questions"
            file.execute(f"insert into tasks ({into}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '{{}}')", values)
            return self._find(file, owner, task_id)

        return await self._run(create)

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return the current state of a task; see `TaskStore.get`."""
        return await self._run(lambda file: self._find(file, owner, task_id))

    async def move(
        self,
        owner: str,
        task_id: str,
        status: Status,
        *,
        message: str = "",
        outcome: Outcome | None = None,
        questions: Mapping[str, Any] = NOTHING,
    ) -> TaskRecord:
        """Move a task to another state; see `TaskStore.move`."""
        size = size_of(outcome)
        ended = None if outcome is None else spelled(outcome)
        asked = json.dumps(dict(questions))

        def move(file: sqlite3.Connection) -> TaskRecord:
            check_transition(self._find(file, owner, task_id).status, status)
            used = file.execute("select sum(size) from tasks where owner = ?", (owner,)).fetchone()[0] if size else 0
            if used + size > self._max_bytes:
                raise too_large()
            put = "status = ?, message = ?, questions = ?, outcome = ?, size = ?, updated = ?"
            values = (status.value, message, asked, ended, size, sources.wall(), task_id)
            file.execute(f"update tasks set {put} where id = ?", values)
            return self._find(file, owner, task_id)

        return await self._run(move)

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return the outcome of a task; see `TaskStore.wait`."""

        def outcome(file: sqlite3.Connection) -> str | None:
            self._find(file, owner, task_id)
            found: str | None = file.execute("select outcome from tasks where id = ?", (task_id,)).fetchone()[0]
            return found

        while (found := await self._run(outcome)) is None:
            await asyncio.sleep(self.interval)
        return self._read(task_id, lambda: outcome_of(found))

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks; see `TaskStore.page`."""
        start = self._number(cursor)

        def page(file: sqlite3.Connection) -> list[tuple[Any, ...]]:
            where = f"owner = ? and number > ? and {_KEPT}"
            query = f"select {_COLUMNS}, number from tasks where {where} order by number limit ?"
            return file.execute(query, (owner, start, sources.wall(), self._page_size + 1)).fetchall()

        rows = await self._run(page)
        shown, records = rows[: self._page_size], list[TaskRecord]()
        for row in shown:
            with suppress(UnknownTask):
                records.append(self._record(row[:-1]))
        return records, str(shown[-1][-1]) if len(rows) > len(shown) else None

    def forget(self, owner: str) -> None:
        """Delete all tasks of an owner; see `TaskStore.forget`."""
        delete = "delete from tasks where owner = ?"
        self._thread.submit(self._locked, lambda file: file.execute(delete, (owner,)), sources.now() + BUSY)

    async def renew(self, task_ids: Collection[str]) -> Mapping[str, Mapping[str, Any] | None]:
        """Renew the leases of tasks, and return what other processes received; see `SharedTaskStore.renew`."""
        is_due = self._is_due()

        def renew(file: sqlite3.Connection) -> dict[str, Mapping[str, Any] | None]:
            now, found = sources.wall(), dict[str, Mapping[str, Any] | None]()
            for task_id in task_ids:
                query = f"select holder, answers from tasks where id = ? and {_UNFINISHED} and {_KEPT}"
                holder, answers = file.execute(query, (task_id, now)).fetchone() or ("", "{}")
                if holder != self._holder:
                    found[task_id] = None
                    continue
                if is_due:
                    file.execute("update tasks set lease = ? where id = ?", (now + self._lease, task_id))
                if answers != "{}":
                    with suppress(UnknownTask):
                        found[task_id] = self._read(task_id, partial(json.loads, answers))
                    file.execute("update tasks set answers = '{}' where id = ?", (task_id,))
            self._renewed = sources.now() if is_due else self._renewed
            return found

        return await self._run(renew)

    async def answer(self, task_id: str, answers: Mapping[str, Any]) -> None:
        """Leave answers for the process that runs a task; see `SharedTaskStore.answer`."""

        def answer(file: sqlite3.Connection) -> None:
            row = file.execute("select answers from tasks where id = ?", (task_id,)).fetchone()
            if row is not None:
                both = json.dumps({**self._read(task_id, lambda: json.loads(row[0])), **answers})
                file.execute("update tasks set answers = ? where id = ?", (both, task_id))

        await self._run(answer)

    async def record(self, task_id: str, work: Mapping[str, Any]) -> None:
        """Store what is needed to run a task again; see `SharedTaskStore.record`."""
        put = "update tasks set work = ? where id = ?"
        await self._run(lambda file: file.execute(put, (json.dumps(work), task_id)))

    async def take(self, task_id: str) -> Mapping[str, Any] | None:
        """Take a task whose lease has lapsed, and was not renewed in half a lease; see `SharedTaskStore.take`.

        When the clock is set, all leases lapse: processes that live get that time to renew theirs.
        """

        def take(file: sqlite3.Connection) -> Mapping[str, Any] | None:
            query = f"select lease, work from tasks where id = ? and {_UNFINISHED}"
            lease, work = file.execute(query, (task_id,)).fetchone() or (None, "{}")
            if lease is None or not self._has_lapsed(lease):
                self._claims.pop(task_id, None)
                return None
            known, since = self._claims.get(task_id, (None, 0.0))
            if known != lease:
                self._claims[task_id] = lease, sources.now()
                if len(self._claims) > MAX_CLAIMS:
                    del self._claims[next(iter(self._claims))]
            if known != lease or sources.now() < since + self._lease / 2:
                return None
            del self._claims[task_id]
            held = self._holder, sources.wall() + self._lease
            file.execute("update tasks set holder = ?, lease = ? where id = ?", (*held, task_id))
            found: Mapping[str, Any] = self._read(task_id, lambda: json.loads(work))
            return found

        return await self._run(take)

    def _has_lapsed(self, lease: float) -> bool:
        """Whether a lease ended before now, or ends so late that the clock was set back since."""
        return not 0 <= lease - sources.wall() <= 2 * self._lease

    def close(self) -> None:
        """Close the file, once what was begun is written."""
        self._thread.submit(self._close)
        self._thread.shutdown()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()

    async def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        until = sources.now() + BUSY
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._locked, work, until)

    def _locked(self, work: Callable[[sqlite3.Connection], T], until: float) -> T:
        """Run work in a transaction that no other process interrupts.

        Raises:
            StoreUnavailable: the file is locked until then, or cannot be read or written.
        """
        try:
            file = self._file = self._file or self._opened()
            file.execute(f"pragma busy_timeout = {max(0, round((until - sources.now()) * 1000))}")
            file.execute("begin immediate")
            try:
                found = work(file)
            except TaskError:
                file.execute("commit")
                raise
            file.execute("commit")
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error
        self._failed = False
        return found

    def _opened(self) -> sqlite3.Connection:
        if str(self.place) != ":memory:":
            # Tasks contain what tools returned. SQLite gives its other files the mode of this one.
            os.close(os.open(self.place, os.O_RDWR | os.O_CREAT, 0o600))
        file = sqlite3.connect(self.place, timeout=BUSY, isolation_level=None)
        try:
            file.execute("pragma journal_mode = wal")
            file.execute("pragma synchronous = normal")
            file.executescript(_SCHEMA)
        except sqlite3.Error:
            file.close()
            raise
        return file

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        """Return the error for the client, after logging the cause once; what was begun is undone."""
        file, self._file = self._file, None  # to be opened again, since it may have been replaced
        if file is not None:
            with suppress(sqlite3.Error):
                file.close()
        if not self._failed:
            log.error("tasks cannot be stored in %s now: %s", self.place, error)
        self._failed = True
        is_locked = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        if is_locked:
            return StoreUnavailable(f"the store of tasks was locked by another program for {BUSY:g} s; try again later")
        return StoreUnavailable("the store of tasks cannot be read or written now; try again later")

    def _find(self, file: sqlite3.Connection, owner: str, task_id: str) -> TaskRecord:
        where = f"id = ? and owner = ? and {_KEPT}"
        row = file.execute(f"select {_COLUMNS} from tasks where {where}", (task_id, owner, sources.wall())).fetchone()
        if row is None:
            raise unknown()
        return self._record(row)

    def _record(self, row: tuple[Any, ...]) -> TaskRecord:
        return self._read(row[0], lambda: self._decoded(row))

    def _decoded(self, row: tuple[Any, ...]) -> TaskRecord:
        task_id, created, updated, ttl, status, message, questions, scopes, lease = row
        return TaskRecord(
            id=task_id,
            created_at=datetime.fromtimestamp(created, UTC),
            updated_at=datetime.fromtimestamp(updated, UTC),
            ttl=None if ttl is None else int(ttl),
            poll_interval=self._poll_interval,
            status=Status(status),
            message=message,
            scopes=frozenset(scopes.split()),
            questions=json.loads(questions),
            is_lapsed=lease is not None and self._has_lapsed(lease) and not Status(status).is_terminal,
        )
