"""Task storage: the interface, and a store in memory."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final, Protocol, runtime_checkable

from pydantic_core import to_json

from mcp_runtime import sources
from mcp_runtime.connection.calls import Pool, weight
from mcp_runtime.errors import McpError
from mcp_runtime.extensions.tasks.states import TRANSITIONS, Outcome, Status, Success, TaskRecord

DEFAULT_TTL: Final = 3600.0
DEFAULT_MAX_TTL: Final = 86_400.0
DEFAULT_POLL_INTERVAL: Final = 1.0
DEFAULT_MAX_TASKS: Final = 1000
DEFAULT_PAGE_SIZE: Final = 100
DEFAULT_MAX_BYTES: Final = 256 << 20
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class TaskError(McpError):
    """Base class of a store's errors; the text is sent to the peer."""


class UnknownTask(TaskError):
    """The owner does not have this task, or no longer has it."""


class UnknownCursor(TaskError):
    """The cursor was not issued by this store."""


class TooManyTasks(TaskError):
    """The owner has reached the limit of tasks."""


class ResultTooLarge(TaskError):
    """The results of the owner's tasks exceed the size limit."""


class InvalidTransition(TaskError):
    """A task cannot move from its current state to the requested one.

    Args:
        current: the state of the task.
        wanted: the requested state.
    """

    def __init__(self, current: Status, wanted: Status) -> None:
        super().__init__(f"a task that is {current.value!r} cannot become {wanted.value!r}")
        self.current = current
        self.wanted = wanted

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.current, self.wanted))


class TaskStore(Protocol):
    """Stores tasks. An owner sees only its own tasks: an owner is a connection, or the peer behind several of them.

    All methods raise `UnknownTask` for a task that the owner does not have (any more).
    """

    async def create(self, owner: str, ttl: int | None, *, peer: str | None = None) -> TaskRecord:
        """Create a task.

        Args:
            owner: the owner of the task.
            ttl: milliseconds for which the owner wants the task to be kept; None for no preference.
            peer: which of the clients without a name asks for it; none of them gets more than half of the tasks.

        Raises:
            TooManyTasks: the owner or the peer has reached the limit of tasks.
        """
        ...

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return the current state of a task.

        Args:
            owner: the owner of the task.
            task_id: the id of the task.
        """
        ...

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
        """Move a task to another state, or change the description of its state, atomically.

        Args:
            owner: the owner of the task.
            task_id: the id of the task.
            status: the new state.
            message: a description of the state.
            outcome: the outcome of the request; given with every final state.
            questions: the requests that it waits for, as JSON values by their keys.

        Raises:
            InvalidTransition: the new state cannot follow the current one.
            ResultTooLarge: the outcome cannot be stored; the task is unchanged.
        """
        ...

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return the outcome of a task, once its state is final.

        Args:
            owner: the owner of the task.
            task_id: the id of the task.
        """
        ...

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks, oldest first, and the cursor of the next ones; None at the end.

        Args:
            owner: the owner of the tasks.
            cursor: where to begin; None for the first tasks.

        Raises:
            UnknownCursor: the cursor was not issued by this store.
        """
        ...

    def forget(self, owner: str) -> None:
        """Delete all tasks of an owner that will not come back; must not block.

        Args:
            owner: the owner of the tasks.
        """
        ...


@runtime_checkable
class SharedTaskStore(TaskStore, Protocol):
    """Stores tasks of several processes. The process that runs a task renews its lease; a lease that lapsed is taken.

    Attributes:
        interval: seconds between two calls of `renew`.
    """

    interval: float

    async def renew(self, task_ids: Collection[str]) -> Mapping[str, Mapping[str, Any] | None]:
        """Renew the leases of tasks that this process runs.

        Returns:
            What other processes received since the last call, by task: answers as JSON values by the keys of their
            questions; None if the task was cancelled, has expired, or was taken by another process.

        Args:
            task_ids: the ids of the tasks.
        """
        ...

    async def answer(self, task_id: str, answers: Mapping[str, Any]) -> None:
        """Leave answers for the process that runs a task.

        Args:
            task_id: the id of the task.
            answers: JSON values by the keys of their questions.
        """
        ...

    async def record(self, task_id: str, work: Mapping[str, Any]) -> None:
        """Store what is needed to run a task again, in place of what was stored before.

        Args:
            task_id: the id of the task.
            work: a JSON object.
        """
        ...

    async def take(self, task_id: str) -> Mapping[str, Any] | None:
        """Take a task whose lease has lapsed.

        Returns:
            What was stored to run it again, empty if nothing; None if its lease has not lapsed (any more).

        Args:
            task_id: the id of the task.
        """
        ...


@dataclass(slots=True)
class _Entry:
    number: int
    record: TaskRecord
    peer: str | None
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Outcome | None = None
    size: int = 0
    timer: asyncio.TimerHandle | None = None


class MemoryTaskStore:
    """Stores tasks in the memory of this process; it implements `TaskStore`.

    Ids are random (128 bits), so they cannot be guessed.

    Args:
        ttl: seconds for which a task is kept by default; None for no limit.
        max_ttl: the maximum number of seconds for which a task is kept.
        poll_interval: seconds that peers are asked to wait between polls.
        max_tasks: how many tasks each owner may have, including finished ones that are still kept.
        page_size: how many tasks a page of a list contains.
        max_bytes: approximate limit in bytes for the results of each owner's tasks.
        clock: returns the current time in UTC.

    Raises:
        ValueError: a number is negative, or the page size is 0.
    """

    def __init__(
        self,
        *,
        ttl: float | None = DEFAULT_TTL,
        max_ttl: float = DEFAULT_MAX_TTL,
        poll_interval: float = DEFAULT_POLL_INTERVAL,
        max_tasks: int = DEFAULT_MAX_TASKS,
        page_size: int = DEFAULT_PAGE_SIZE,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        if min(ttl or 0, max_ttl, poll_interval, max_tasks) < 0 or page_size < 1:
            raise ValueError("times and task limits must not be negative, and a page must hold at least one task")
        self._ttl = None if ttl is None else round(ttl * 1000)
        self._max_ttl = round(max_ttl * 1000)
        self._poll_interval = round(poll_interval * 1000)
        self._max_tasks = max_tasks
        self._page_size = page_size
        self._max_bytes = max_bytes
        self._clock = clock
        self._owners: dict[str, dict[str, _Entry]] = {}
        self._pools: dict[str, Pool] = {}
        self._issued = 0

    async def create(self, owner: str, ttl: int | None, *, peer: str | None = None) -> TaskRecord:
        """Create a task; see `TaskStore.create`."""
        tasks = self._owners.setdefault(owner, {})
        pool = self._pools.setdefault(owner, Pool(self._max_tasks))
        if not pool.take(peer):
            raise too_many(pool.used)
        kept = self._ttl if ttl is None else min(ttl, self._max_ttl)
        now = self._clock()
        task_id = sources.token_hex(16)
        record = TaskRecord(id=task_id, created_at=now, updated_at=now, ttl=kept, poll_interval=self._poll_interval)
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


def check_transition(current: Status, status: Status) -> None:
    """Check that a task may move to a state, which may be its current one.

    Raises:
        InvalidTransition: it may not.
    """
    if status not in TRANSITIONS[current] and (status is not current or current.is_terminal):
        raise InvalidTransition(current, status)


def size_of(outcome: Outcome | None) -> int:
    """Return the approximate memory of an outcome in bytes."""
    held = outcome.result if isinstance(outcome, Success) else outcome.data if outcome is not None else None
    return 0 if held is None else weight(to_json(held))


_DIGITS: Final = frozenset("0123456789abcdef")


def unknown() -> UnknownTask:
    """Return the error for a task that is unknown, foreign or has expired."""
    return UnknownTask("no such task; it may have expired")


def too_many(tasks: int) -> TooManyTasks:
    """Return the error for one task too many."""
    return TooManyTasks(f"the limit of {tasks} tasks is reached; wait until some have expired")


def too_large() -> ResultTooLarge:
    """Return the error for a result that does not fit."""
    return ResultTooLarge("the results of the tasks take too much memory; wait until some have expired")
