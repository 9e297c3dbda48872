"""How far a stream of events was read, and when to resume it."""

from typing import Final

import httpx2

RETRY: Final = 1.0
"""Seconds before a stream is requested again, unless the server sets another delay."""
MIN_RETRY: Final = 0.05
MAX_RETRY: Final = 60.0
MAX_DOUBLINGS: Final = 16
"""A server may be away for so long that doubling on would exceed every number."""
LONGEST_RETRY: Final = 86_400_000
"""The longest delay in milliseconds that a server can ask for: a day."""


class Position:
    """How far a stream was read, and when to resume it."""

    __slots__ = ("id", "retry")

    def __init__(self) -> None:
        self.id = ""
        self.retry: float | None = None

    def note(self, event: httpx2.ServerSentEvent) -> None:
        """Process an event."""
        self.id = event.id or self.id
        if event.retry is not None and event.retry >= 0:
            self.retry = min(event.retry, LONGEST_RETRY) / 1000

    def wait(self, failures: int) -> float:
        """Return the seconds to wait, longer after each of the first consecutive failures."""
        asked = RETRY if self.retry is None else self.retry
        return max(asked, MIN_RETRY, min(RETRY * 2 ** min(failures, MAX_DOUBLINGS), MAX_RETRY) if failures else 0)
