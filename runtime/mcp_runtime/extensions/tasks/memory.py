"""Task storage in memory."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Unpack

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.extensions.tasks.states import Outcome, Status, TaskRecord
from mcp_runtime.extensions.tasks.store import (
    NOTHING,
    LimitedStore,
    StoreLimits,
    UnknownCursor,
    check_transition,
    size_of,
    too_large,
    too_many,
    unknown,
)

_DIGITS: Final = frozenset("0123456789abcdef")


@dataclass(slots=True)
class _Entry:
    number: int
    record: TaskRecord
    peer: str | None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Outcome | None = None
    size: int = 0
    timer: asyncio.TimerHandle | None = None


class MemoryTaskStore(LimitedStore):
    """Stores tasks in the memory of this process; it implements `TaskStore`.

    Ids are random (128 bits), so they cannot be guessed.

    Args:
        clock: returns the current time in UTC.
        limits: see `StoreLimits`.

    Raises:
        ValueError: a number is negative, or the page size is 0.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime] = lambda: datetime.fromtimestamp(sources.wall(), UTC),
        **limits: Unpack[StoreLimits],
    ) -> None:
        refuse_unknown(limits, StoreLimits.__optional_keys__)
        super().__init__(**limits)
        self._clock = clock
        self._owners: dict[str, dict[str, _Entry]] = {}
        self._pools: dict[str, Pool] = {}
        self._issued = 0

    async def create(
        self, owner: str, ttl: int | None, *, peer: str | None = None, scopes: frozenset[str] = frozenset()
    ) -> TaskRecord:
        """Create a task; see `TaskStore.create`."""
        tasks = self._owners.setdefault(owner, {})
        pool = self._pools.setdefault(owner, Pool(self._max_tasks))
        if not pool.take(peer):
            raise too_many(pool.used)
        kept, now = self._kept(ttl), self._clock()
        task_id = sources.token_hex(16)
        pause = self._poll_interval
        record = TaskRecord(id=task_id, created_at=now, updated_at=now, ttl=kept, poll_interval=pause, scopes=scopes)
        self._issued += 1
        entry = _Entry(self._issued, record, peer)
        tasks[task_id] = entry
        if kept is not None:
            entry.timer = asyncio.get_running_loop().call_later(kept / 1000, self._drop, owner, task_id)
        return record

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return the current state of a task; see `TaskStore.get`."""
        return self._entry(owner, task_id).record

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
        entry = self._entry(owner, task_id)
        check_transition(entry.record.status, status)
        size = size_of(outcome)
        if size and size + sum(other.size for other in self._owners[owner].values()) > self._max_bytes:
            raise too_large()
        entry.size = size
        now = self._clock()
        entry.record = replace(entry.record, status=status, message=message, questions=questions, updated_at=now)
        if status.is_terminal:
            entry.outcome = outcome
            entry.ended.set()
        return entry.record

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return the outcome of a task; see `TaskStore.wait`."""
        entry = self._entry(owner, task_id)
        await entry.ended.wait()
        if entry.outcome is None:
            raise unknown()
        return entry.outcome

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks; see `TaskStore.page`."""
        after = 0 if cursor is None else self._number(cursor)
        entries = [entry for entry in self._owners.get(owner, {}).values() if entry.number > after]
        page = entries[: self._page_size]
        following = f"{page[-1].number:x}" if len(entries) > len(page) else None
        return [entry.record for entry in page], following

    def forget(self, owner: str) -> None:
        """Delete all tasks of an owner; see `TaskStore.forget`."""
        for task_id in tuple(self._owners.get(owner, ())):
            self._drop(owner, task_id)

    def _entry(self, owner: str, task_id: str) -> _Entry:
        entry = self._owners.get(owner, {}).get(task_id)
        if entry is None:
            raise unknown()
        return entry

    def _number(self, cursor: str) -> int:
        # Accept only cursors in our own format, not everything that Python reads as a number.
        number = int(cursor, 16) if 0 < len(cursor) <= 16 and set(cursor) <= _DIGITS else 0
        if not 0 < number <= self._issued or cursor != f"{number:x}":
            raise UnknownCursor("invalid cursor")
        return number

    def _drop(self, owner: str, task_id: str) -> None:
        tasks = self._owners[owner]
        entry = tasks.pop(task_id)
        self._pools[owner].add(entry.peer, -1)
        if entry.timer is not None:
            entry.timer.cancel()
        # Callers waiting for the outcome learn that there will be none.
        entry.ended.set()
        if not tasks:
            del self._owners[owner], self._pools[owner]
