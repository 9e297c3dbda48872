"""Task storage: the interface, and what the stores share."""

import json
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Protocol, TypedDict, TypeVar, Unpack, runtime_checkable

from pydantic_core import to_json

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import weight
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.extensions.tasks.states import TRANSITIONS, Failure, Outcome, Status, Success, TaskRecord

T = TypeVar("T")

DEFAULT_LEASE: Final = 10.0
INTERVAL: Final = 0.25
"""Seconds after which a process sees what another one wrote."""
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


class StoreUnavailable(TaskError):
    """The store cannot be reached; it is unknown whether it did what was asked."""


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


class TaskStore(Protocol):
    """Stores tasks. An owner sees only its own tasks: an owner is a connection, or the peer behind several of them.

    All methods raise `UnknownTask` for a task that the owner does not have (any more).
    """

    async def create(
        self, owner: str, ttl: int | None, *, peer: str | None = None, scopes: frozenset[str] = frozenset()
    ) -> TaskRecord:
        """Create a task that this process runs.

        Args:
            owner: the owner of the task.
            ttl: milliseconds for which the owner wants the task to be kept; None for no preference.
            peer: which of the clients without a name asks for it; none of them gets more than half of the tasks.
            scopes: what whoever asks for the task must have been granted: `TaskRecord.scopes`.

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
    """Stores tasks of several processes. The process that creates or takes a task has its lease, and renews it.

    Attributes:
        interval: seconds between two calls of `renew`.
    """

    interval: float

    async def renew(self, task_ids: Collection[str]) -> Mapping[str, Mapping[str, Any] | None]:
        """Renew the leases of tasks that this process runs.

        Returns:
            What other processes received, by task: answers as JSON values by the keys of their questions, perhaps
            more than once; None if the task was cancelled, has expired, or was taken by another process.

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


class StoreLimits(TypedDict, total=False):
    """The limits of a store, all of them optional.

    Attributes:
        ttl: seconds for which a task is kept by default, 3600.0; None for no limit.
        max_ttl: the maximum number of seconds for which a task is kept, 86400.0.
        poll_interval: seconds that peers are asked to wait between polls, 1.0.
        max_tasks: how many tasks each owner may have, including finished ones that are still kept, 1000.
        page_size: how many tasks a page of a list contains, 100.
        max_bytes: approximate limit in bytes for the results of each owner's tasks, 256 MiB.
    """

    ttl: float | None
    max_ttl: float
    poll_interval: float
    max_tasks: int
    page_size: int
    max_bytes: int


class LimitedStore:
    """Base class of stores: their limits.

    Raises:
        ValueError: a number is negative, or the page size is 0.
    """

    def __init__(
        self,
        *,
        ttl: float | None = 3600.0,
        max_ttl: float = 86_400.0,
        poll_interval: float = 1.0,
        max_tasks: int = 1000,
        page_size: int = 100,
        max_bytes: int = 256 << 20,
    ) -> None:
        if min(ttl or 0, max_ttl, poll_interval, max_tasks) < 0 or page_size < 1:
            raise ValueError("times and task limits must not be negative, and a page must hold at least one task")
        self._ttl = None if ttl is None else round(ttl * 1000)
        self._max_ttl, self._poll_interval = round(max_ttl * 1000), round(poll_interval * 1000)
        self._max_tasks, self._page_size, self._max_bytes = max_tasks, page_size, max_bytes

    def _kept(self, ttl: int | None) -> int | None:
        """Return the milliseconds for which a task is kept, if its owner wants a number of them."""
        return self._ttl if ttl is None else min(ttl, self._max_ttl)


class LeasedStore(LimitedStore):
    """Base class of stores that processes share: their leases.

    Args:
        lease: seconds after which a process that has not renewed the lease of a task counts as ended.
        limits: see `StoreLimits`.

    Raises:
        ValueError: a number is negative, or the page size or the lease is 0.

    Attributes:
        interval: seconds between two renewals.
        place: where the tasks are, in messages of the log.
    """

    place: str | Path = "the store"

    def __init__(self, lease: float, **limits: Unpack[StoreLimits]) -> None:
        refuse_unknown(limits, StoreLimits.__optional_keys__)
        super().__init__(**limits)
        if lease <= 0:
            raise ValueError("a lease must last longer than 0 seconds")
        self.interval = min(INTERVAL, lease / 4)
        self._lease, self._holder, self._renewed = lease, sources.token_hex(16), 0.0

    def _number(self, cursor: str | None) -> int:
        """Return the number of the task before a page.

        Raises:
            UnknownCursor: the cursor is not such a number.
        """
        if cursor is not None and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 16):
            raise UnknownCursor("invalid cursor")
        return int(cursor or 0)

    def _read(self, task_id: str, read: Callable[[], T]) -> T:
        """Return what was stored of a task.

        Raises:
            UnknownTask: it cannot be read.
        """
        try:
            return read()
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, OSError) as error:
            log.error("the task %r in %s cannot be read: %s", task_id, self.place, error)
            raise unknown() from None

    def _is_due(self) -> bool:
        """Return whether leases are to be renewed: a few times per lease."""
        return sources.now() > self._renewed + self._lease / 4


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


def spelled(outcome: Outcome) -> str:
    """Return an outcome as JSON."""
    if isinstance(outcome, Success):
        return json.dumps({"result": dict(outcome.result)})
    return json.dumps({"code": outcome.code, "message": outcome.message, "data": outcome.data})


def outcome_of(text: str | bytes) -> Outcome:
    """Return an outcome that was written by `spelled`."""
    ended: dict[str, Any] = json.loads(text)
    return Success(**ended) if "result" in ended else Failure(**ended)


def unknown() -> UnknownTask:
    """Return the error for a task that is unknown, foreign or has expired."""
    return UnknownTask("no such task; it may have expired")


def too_many(tasks: int) -> TooManyTasks:
    """Return the error for one task too many."""
    return TooManyTasks(f"the limit of {tasks} tasks is reached; wait until some have expired")


def too_large() -> ResultTooLarge:
    """Return the error for a result that does not fit."""
    return ResultTooLarge("the results of the tasks take too much memory; wait until some have expired")
