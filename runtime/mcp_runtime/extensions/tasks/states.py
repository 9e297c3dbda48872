"""The states of a task and the transitions between them (2025-11-25, basic/utilities/tasks)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias


class Status(StrEnum):
    """The state of a task."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether the state is final."""
        return not TRANSITIONS[self]


_ENDS: Final = frozenset((Status.COMPLETED, Status.FAILED, Status.CANCELLED))

TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.WORKING: _ENDS | {Status.INPUT_REQUIRED},
    Status.INPUT_REQUIRED: _ENDS | {Status.WORKING},
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}
"""Maps each state to those that may follow it. Every task begins as `Status.WORKING`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The result of the request that became a task.

    Args:
        result: the result, keyed by wire names.
    """

    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The JSON-RPC error with which the request that became a task ended.

    Args:
        code: the error code.
        message: the error message.
        data: further information, any JSON value, or None.
    """

    code: int
    message: str
    data: Any = None


Outcome: TypeAlias = Success | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """A snapshot of a task.

    Attributes:
        id: its id, chosen by the side that runs it.
        created_at: when it was created, in UTC.
        updated_at: when its state last changed, in UTC.
        ttl: milliseconds for which it is kept, from its creation; None for no limit.
        poll_interval: milliseconds to wait between polls; None for no preference.
        status: its state.
        message: a description of the state; may be empty.
        scopes: those that its call needed, and that whoever asks for it needs too.
        questions: the requests that it waits for, as JSON values by their keys (2026-07-28).
        is_lapsed: whether the process that ran it has stopped renewing its lease.
    """

    id: str
    created_at: datetime
    updated_at: datetime
    ttl: int | None
    poll_interval: int | None = None
    status: Status = Status.WORKING
    message: str = ""
    scopes: frozenset[str] = frozenset()
    questions: Mapping[str, Any] = field(default_factory=dict[str, Any])
    is_lapsed: bool = False

    def wire(self) -> dict[str, Any]:
        """Return the task keyed by wire names, as in every message that contains one."""
        spelled: dict[str, Any] = {
            "taskId": self.id,
            "status": self.status.value,
            "createdAt": timestamp(self.created_at),
            "lastUpdatedAt": timestamp(self.updated_at),
            "ttl": self.ttl,
        }
        if self.message:
            spelled["statusMessage"] = self.message
        if self.poll_interval is not None:
            spelled["pollInterval"] = self.poll_interval
        return spelled


def timestamp(moment: datetime) -> str:
    """Format a time in UTC as ISO 8601 (RFC 3339, section 5)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
