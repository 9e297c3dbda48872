"""Where tasks are kept: the interface, and a store in memory."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from pydantic_core import to_json

from mcp_runtime.connection.load import weight
from mcp_runtime.errors import McpError
from mcp_runtime.features.tasks.states import TRANSITIONS, Outcome, Status, Success, TaskRecord

DEFAULT_TTL: Final = 3600.0
DEFAULT_MAX_TTL: Final = 86_400.0
DEFAULT_POLL_INTERVAL: Final = 1.0
DEFAULT_MAX_TASKS: Final = 1000
DEFAULT_PAGE_SIZE: Final = 100
DEFAULT_MAX_BYTES: Final = 256 << 20


class TaskError(McpError):
    """The base of what a store refuses; the text is for the peer."""


class UnknownTask(TaskError):
    """The owner has no such task, or has it no longer."""


class UnknownCursor(TaskError):
    """No page was handed out with this cursor."""


class TooManyTasks(TaskError):
    """The owner has as many tasks as it may have."""


class ResultTooLarge(TaskError):
    """The results of the owner's tasks take as many bytes as they may."""


class InvalidTransition(TaskError):
    """A task in this state cannot come to that one.

    Args:
        current: where the task stands.
        wanted: where it should have gone.
    """

    def __init__(self, current: Status, wanted: Status) -> None:
        super().__init__(f"a task that is {current.value!r} cannot become {wanted.value!r}")
        self.current = current
        self.wanted = wanted

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.current, self.wanted))


class TaskStore(Protocol):
    """Keeps tasks. An owner sees only its own: a connection, or who is behind several of them.

    All methods raise `UnknownTask` for a task that the owner does not have (any more).
    """

    async def create(self, owner: str, ttl: int | None) -> TaskRecord:
        """Begin a task.

        Args:
            owner: who asked for it.
            ttl: for how many milliseconds the owner would like it to be kept; None if it has no wish.

        Raises:
            TooManyTasks: the owner has too many of them.
        """
        ...

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return a task as it is now."""
        ...

    async def move(
        self, owner: str, task_id: str, status: Status, *, message: str = "", outcome: Outcome | None = None
    ) -> TaskRecord:
        """Bring a task to another state, in one step that nobody can come in between.

        Args:
            owner: whose task it is.
            task_id: the task.
            status: the state to come to.
            message: more on that in words.
            outcome: what the request came to; comes with every terminal state.

        Raises:
            InvalidTransition: that state cannot follow the present one.
            ResultTooLarge: the outcome cannot be kept; the task is where it was.
        """
        ...

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return what a task came to, once its state is terminal."""
        ...

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks, the oldest first, and the cursor of those that follow; None at the end.

        Raises:
            UnknownCursor: no page begins there.
        """
        ...

    def forget(self, owner: str) -> None:
        """Drop all tasks of an owner who will not come back; must not block."""
        ...


@dataclass(slots=True)
class _Entry:
    number: int
    record: TaskRecord
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    outcome: Outcome | None = None
    size: int = 0
    timer: asyncio.TimerHandle | None = None


class MemoryTaskStore:
    """Keeps tasks in this process, which forgets them when it ends; it implements `TaskStore`.

    Ids are random (128 bits), so that they cannot be guessed.

    Args:
        ttl: seconds for which a task is kept if whoever asked for it did not say; None for ever.
        max_ttl: seconds for which a task is kept at most, whatever was asked for.
        poll_interval: seconds that whoever asks for the state of a task is told to wait in between.
        max_tasks: how many tasks each owner may have, those that ended but are still kept included.
        page_size: how many tasks a page of a list holds.
        max_bytes: about how many bytes of memory the results of each owner's tasks may take.
        clock: returns the time in UTC.

    Raises:
        ValueError: a number is negative, or a page would be empty.
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
            raise ValueError("times and numbers of tasks are not negative, and a page holds at least one")
        self._ttl = None if ttl is None else round(ttl * 1000)
        self._max_ttl = round(max_ttl * 1000)
        self._poll_interval = round(poll_interval * 1000)
        self._max_tasks = max_tasks
        self._page_size = page_size
        self._max_bytes = max_bytes
        self._clock = clock
        self._owners: dict[str, dict[str, _Entry]] = {}
        self._issued = 0

    async def create(self, owner: str, ttl: int | None) -> TaskRecord:
        """Begin a task; see `TaskStore.create`."""
        tasks = self._owners.setdefault(owner, {})
        if len(tasks) >= self._max_tasks:
            raise TooManyTasks(
                f"there are {len(tasks)} tasks already, which is the limit; wait until some have expired"
            )
        kept = self._ttl if ttl is None else min(ttl, self._max_ttl)
        now = self._clock()
        task_id = secrets.token_hex(16)
        record = TaskRecord(id=task_id, created_at=now, updated_at=now, ttl=kept, poll_interval=self._poll_interval)
        self._issued += 1
        entry = _Entry(self._issued, record)
        tasks[task_id] = entry
        if kept is not None:
            entry.timer = asyncio.get_running_loop().call_later(kept / 1000, self._drop, owner, task_id)
        return record

    async def get(self, owner: str, task_id: str) -> TaskRecord:
        """Return a task as it is now; see `TaskStore.get`."""
        return self._entry(owner, task_id).record

    async def move(
        self, owner: str, task_id: str, status: Status, *, message: str = "", outcome: Outcome | None = None
    ) -> TaskRecord:
        """Bring a task to another state; see `TaskStore.move`."""
        entry = self._entry(owner, task_id)
        current = entry.record.status
        if status not in TRANSITIONS[current]:
            raise InvalidTransition(current, status)
        size = _size(outcome)
        if size and size + sum(other.size for other in self._owners[owner].values()) > self._max_bytes:
            raise ResultTooLarge("the results of the tasks take too much memory; wait until some have expired")
        entry.size = size
        entry.record = replace(entry.record, status=status, message=message, updated_at=self._clock())
        if status.is_terminal:
            entry.outcome = outcome
            entry.ended.set()
        return entry.record

    async def wait(self, owner: str, task_id: str) -> Outcome:
        """Return what a task came to; see `TaskStore.wait`."""
        entry = self._entry(owner, task_id)
        await entry.ended.wait()
        if entry.outcome is None:
            raise _unknown()
        return entry.outcome

    async def page(self, owner: str, cursor: str | None) -> tuple[list[TaskRecord], str | None]:
        """Return some of an owner's tasks; see `TaskStore.page`."""
        after = 0 if cursor is None else self._number(cursor)
        entries = [entry for entry in self._owners.get(owner, {}).values() if entry.number > after]
        page = entries[: self._page_size]
        following = f"{page[-1].number:x}" if len(entries) > len(page) else None
        return [entry.record for entry in page], following

    def forget(self, owner: str) -> None:
        """Drop all tasks of an owner; see `TaskStore.forget`."""
        for task_id in tuple(self._owners.get(owner, ())):
            self._drop(owner, task_id)

    def _entry(self, owner: str, task_id: str) -> _Entry:
        entry = self._owners.get(owner, {}).get(task_id)
        if entry is None:
            raise _unknown()
        return entry

    def _number(self, cursor: str) -> int:
        # Only what was spelled here is read, not all that Python takes for a number.
        number = int(cursor, 16) if 0 < len(cursor) <= 16 and set(cursor) <= _DIGITS else 0
        if not 0 < number <= self._issued or cursor != f"{number:x}":
            raise UnknownCursor("no page begins at this cursor")
        return number

    def _drop(self, owner: str, task_id: str) -> None:
        tasks = self._owners[owner]
        entry = tasks.pop(task_id)
        if entry.timer is not None:
            entry.timer.cancel()
        # Whoever waits for the outcome learns that there will be none.
        entry.ended.set()
        if not tasks:
            del self._owners[owner]


def _size(outcome: Outcome | None) -> int:
    held = outcome.result if isinstance(outcome, Success) else outcome.data if outcome is not None else None
    return 0 if held is None else weight(to_json(held))


_DIGITS: Final = frozenset("0123456789abcdef")


def _unknown() -> UnknownTask:
    return UnknownTask("there is no such task; it may have expired")
