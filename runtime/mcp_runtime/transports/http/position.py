"""How far a stream of events has been read, and when a client comes back to it."""

from typing import Final

import httpx2

RETRY: Final = 1.0
"""Seconds before a stream is asked for again, unless the server says something else."""
MIN_RETRY: Final = 0.05
MAX_RETRY: Final = 60.0


class Position:
    """How far a stream has been read, and when to come back to it."""

    __slots__ = ("id", "retry")

    def __init__(self) -> None:
        self.id = ""
        self.retry: float | None = None

    def note(self, event: httpx2.ServerSentEvent) -> None:
        """Learn from an event."""
        self.id = event.id or self.id
        if event.retry is not None and event.retry >= 0:
            self.retry = event.retry / 1000

    def wait(self, failures: int) -> float:
        """Return the seconds to wait, longer after each failure in a row."""
        asked = RETRY if self.retry is None else self.retry
        return max(asked, MIN_RETRY, min(RETRY * 2**failures, MAX_RETRY) if failures else 0)
