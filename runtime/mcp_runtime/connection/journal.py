"""What one connection may say about its peer: so many lines at once, then so many per second, then how many more."""

import asyncio
from typing import Final

from mcp_runtime.connection.throttle import TokenBucket

BURST: Final = 50
"""How many lines may come at once."""
RATE: Final = 10.0
"""How many lines per second may come after that."""


class Journal:
    """Decides which lines of one connection are written, so that a peer cannot fill the disk.

    Args:
        loop: tells the time.
    """

    __slots__ = ("_bucket", "_left_out", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._bucket = TokenBucket(RATE, BURST, loop.time())
        self._left_out = 0

    def admits(self) -> bool:
        """Whether one more line may be written now; it is counted otherwise."""
        if self._bucket.delay(self._loop.time()):
            self._left_out += 1
            return False
        self._bucket.take()
        return True

    def left_out(self) -> str:
        """Return the line that stands for those that were left out since it was asked last, empty if none were."""
        count, self._left_out = self._left_out, 0
        return f"{count:,} more messages about this connection were left out" if count else ""
