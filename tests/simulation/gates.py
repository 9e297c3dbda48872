"""What a limited rate lets through, computed apart from the runtime."""

from collections.abc import Callable
from typing import Any, Final

EPSILON: Final = 0.03
COINCIDENCE: Final = 5e-5
"""Seconds by which the runtime's timers may lag behind, so that another item comes just in time."""


class Gate:
    """Predicts what is sent of a sequence of items, and when: a burst of one second's worth, then the last at a rate.

    Args:
        rate: how many items per second; None for no limit.
        now: when the first item comes.
    """

    def __init__(self, rate: float | None, now: float) -> None:
        self._rate = rate
        self._burst = self._tokens = max(1.0, rate or 0)
        self._at = self._put_at = now
        self._waiting: tuple[float, Any, int] | None = None
        self._due: list[tuple[float, Any]] = []

    def put(self, now: float, item: Any, rank: int = 0) -> None:
        """Take an item."""
        self._pass(now)
        if self._rate is None:
            self._due.append((now, item))
            return
        self._refill(now)
        if self._waiting is None and self._tokens > 1 - 1e-4:
            self._tokens -= 1
            self._due.append((now, item))
        elif self._waiting is None:
            self._waiting = now + (1 - self._tokens) / self._rate, item, rank
            self._put_at = now
        elif rank >= self._waiting[2]:
            self._waiting = self._waiting[0], item, rank

    def flush(self, now: float) -> None:
        """Let what waits pass now."""
        if self._waiting is not None:
            self._due.append((now, self._waiting[1]))
            self._waiting = None

    def took(self, now: float, item: Any, slack: Callable[[float], float]) -> bool:
        """Whether an item may be sent now."""
        self._pass(now)
        if not self._due:
            return False
        at, due = self._due.pop(0)
        if self._waiting is not None and item == self._waiting[1] != due and self._put_at - at < COINCIDENCE:
            due, self._waiting = item, None
        return bool(due == item and at <= now + EPSILON and now <= at + EPSILON + slack(at))

    def owes(self, now: float) -> bool:
        """Whether an item should have been sent by now."""
        self._pass(now)
        return bool(self._due)

    def _pass(self, now: float) -> None:
        if self._waiting is not None and self._waiting[0] <= now + 2e-6:
            at, item, _ = self._waiting
            self._waiting = None
            self._refill(at)
            self._tokens -= 1
            self._due.append((at, item))

    def _refill(self, now: float) -> None:
        self._tokens = min(self._burst, self._tokens + max(0.0, now - self._at) * (self._rate or 0))
        self._at = max(self._at, now)
