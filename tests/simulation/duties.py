"""What must happen in a world, by when, and what is known of each call and each connection.

The runtime takes no virtual time for its own work, so whatever it must do is due at once.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from simulation.gates import Gate
from simulation.model import CALL, FORBIDDEN, RECEIVED, SENT, SESSION, Lifecycle

EPSILON: Final = 0.03
"""Seconds by which anything may be late: timeouts are checked every few milliseconds."""
LINGER: Final = 1.0
"""Seconds in which requests may still be answered after the client has closed its end."""
WRITE_LINGER: Final = 0.5
"""Seconds for the end of the input to arrive after writing has failed."""
LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
PREFIX: Final = "io.modelcontextprotocol/"
LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

Event = tuple[float, str, str, Any]


class Machine:
    """One thing in a state of its lifecycle."""

    def __init__(self, duties: "Duties", table: Lifecycle, name: str) -> None:
        self.state = table.start
        self._duties, self._table, self._name = duties, table, name

    def step(self, event: str) -> str:
        """Take an event; return the new state."""
        following = self._table.rows[self.state][event]
        self._duties.seen.add((self._table.name, self.state, event))
        if following == FORBIDDEN:
            self._duties.fault(f"{self._name}: {event} in state {self.state} ({self._table.name})")
        else:
            self.state = following
        return self.state


class Call:
    """What is known of one call: its plan, its request and its handler."""

    def __init__(self, duties: "Duties", one: "Connection", plan: dict[str, Any]) -> None:
        self.one, self.plan = one, plan
        self.tag: str = plan["tag"]
        self.side = Machine(duties, CALL, self.tag)
        self.sent = Machine(duties, SENT, self.tag)
        self.received = Machine(duties, RECEIVED, self.tag)
        self.questions: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        """The questions of the last result that asked (2026-07-28), by key."""
        self.request_state: Any = None
        self.id: Any = None
        self.token: Any = None
        self.deadline = self.latest = float("inf")
        self.gate: Gate | None = None
        self.reported: float | None = None
        self.told: list[Any] = []
        self.answer: dict[str, Any] = {}
        self.is_running = self.is_cancelled = self.is_late = self.has_resisted = False


class Connection:
    """What is known of one connection."""

    def __init__(self, duties: "Duties", number: int) -> None:
        self.number = number
        self.client = Machine(duties, SESSION, f"client {number}")
        self.server = Machine(duties, SESSION, f"server {number}")
        self.revision = ""
        self.calls: list[Call] = []
        self.questions: list[Any] = []
        self.requests: dict[Any, Machine] = {}
        self.names: dict[Any, str] = {}
        self.by_id: dict[Any, Call] = {}
        self.by_token: dict[Any, Call] = {}
        self.by_question: dict[Any, Any] = {}
        self.queue: list[Call] = []
        self.running = 0
        self.heavy: Call | None = None
        """The large call that leaves no room for another one."""
        self.logs: Gate | None = None
        self.held: dict[str, int] = {}
        self.echoes: dict[str, Any] = {}
        self.ended: dict[str, float] = {}
        self.grace = 0
        self.is_cut = self.is_lingering = self.is_unread = False
        self.ends = self.breaks = float("inf")
        self.handed: dict[str, deque[Any]] = {"client": deque(), "server": deque()}
        self.on_its_way: dict[str, deque[Any]] = {"client": deque(), "server": deque()}

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN


class Duties:
    """What is due in one world.

    Attributes:
        seen: the tables' states and events that occurred.
    """

    def __init__(self, world: dict[str, Any], history: Sequence[Event], stalled: Sequence[tuple[float, float]]) -> None:
        self._world, self._history, self._stalled = world, history, stalled
        self._faults: list[str] = []
        self._due: dict[tuple[object, ...], float] = {}
        self._at_any_time: set[tuple[object, ...]] = set()
        self._now = 0.0
        self.seen: set[tuple[str, str, str]] = set()
        self._connections: list[Connection] = [Connection(self, number) for number in range(world["clients"])]
        self._calls: dict[str, Call] = {}
        for plan in world["calls"]:
            call = self._calls[plan["tag"]] = Call(self, self._connections[int(plan["client"])], plan)
            call.one.calls.append(call)

    def fault(self, text: str) -> None:
        """Record what is wrong."""
        self._faults.append(f"{self._now:.3f} {text}")

    def _must(self, *key: object, at: float | None = None, by: bool = False) -> None:
        """Expect something at a time, by default now; with `by`, or earlier."""
        self._due[key] = self._now if at is None else at
        (self._at_any_time.add if by else self._at_any_time.discard)(key)

    def _did(self, *key: object) -> None:
        at = self._due.pop(key, None)
        if at is None:
            self.fault(f"not due: {' '.join(map(str, key))}")
        elif self._now < at - EPSILON and key not in self._at_any_time:
            self.fault(f"too early: {' '.join(map(str, key))}, due at {at:.3f}")

    def _excuse(self, *key: object) -> None:
        self._due.pop(key, None)

    def _overdue(self) -> None:
        for key, at in list(self._due.items()):
            if self._now > at + EPSILON + self._slack(at):
                del self._due[key]
                self.fault(f"overdue: {' '.join(map(str, key))}, since {at:.3f}")

    def _slack(self, since: float) -> float:
        return sum(seconds for at, seconds in self._stalled if at + seconds >= since and at <= self._now)


def is_away(away: list[float] | None, now: float) -> bool:
    """Whether a store fails at a time."""
    return away is not None and away[0] <= now < sum(away)


def params_of(message: Any) -> dict[str, Any]:
    """Return the params of a message; empty if it has none."""
    found: dict[str, Any] = message.get("params") or {}
    return found


def meta_of(params: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata in params; empty if there are none."""
    found: dict[str, Any] = params.get("_meta") or {}
    return found
