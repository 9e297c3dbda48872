"""What a task is, and how it moves from one state to the next (2025-11-25, basic/utilities/tasks)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, TypeAlias


class Status(StrEnum):
    """Where a task stands."""

    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether a task stays as it is for good."""
        return not TRANSITIONS[self]


_ENDS: Final = frozenset((Status.COMPLETED, Status.FAILED, Status.CANCELLED))

TRANSITIONS: Final[Mapping[Status, frozenset[Status]]] = {
    Status.WORKING: _ENDS | {Status.INPUT_REQUIRED},
    Status.INPUT_REQUIRED: _ENDS | {Status.WORKING},
    Status.COMPLETED: frozenset(),
    Status.FAILED: frozenset(),
    Status.CANCELLED: frozenset(),
}
"""State -> the states that may follow it. Every task begins as `Status.WORKING`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Success:
    """The result of the request that a task was made of, by wire names."""

    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The JSON-RPC error that the request that a task was made of ended with."""

    code: int
    message: str
    data: Any = None


Outcome: TypeAlias = Success | Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRecord:
    """A task at one moment.

    Attributes:
        id: names it; made up by the side that runs it.
        created_at: when it began, in UTC.
        updated_at: when its state last changed, in UTC.
        ttl: milliseconds for which it is kept, from its beginning; None for ever.
        poll_interval: milliseconds that whoever asks for its state should wait in between; None for no wish.
        status: where it stands.
        message: more on that in words, empty if there is no more to say.
    """

    id: str
    created_at: datetime
    updated_at: datetime
    ttl: int | None
    poll_interval: int | None = None
    status: Status = Status.WORKING
    message: str = ""

    def wire(self) -> dict[str, Any]:
        """Return the task by wire names, as every message that speaks of one spells it."""
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
    """Spell a moment in UTC as ISO 8601 wants it (RFC 3339, section 5)."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
