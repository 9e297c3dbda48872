"""Limits the log lines about one connection: a burst, then a rate, then a count of the rest."""

import asyncio
from typing import Final

from mcp_runtime.connection.throttle import TokenBucket

BURST: Final = 50
"""How many lines may be written at once."""
RATE: Final = 10.0
"""How many lines per second may be written after that."""


class Journal:
    """Decides which log lines about one connection are written, so that a peer cannot fill the disk.

    Args:
        loop: the event loop, used as the clock.
    """

    __slots__ = ("_bucket", "_left_out", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._bucket = TokenBucket(RATE, BURST, loop.time())
        self._left_out = 0

    def admits(self) -> bool:
        """Whether another line may be written now; otherwise it is counted."""
        if self._bucket.delay(self._loop.time()):
            self._left_out += 1
            return False
        self._bucket.take()
        return True

    def left_out(self) -> str:
        """Return a line about the lines omitted since the last call; empty if there were none."""
        count, self._left_out = self._left_out, 0
        return f"{count:,} more messages about this connection were omitted" if count else ""
