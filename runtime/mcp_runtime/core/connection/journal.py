"""What is logged about a peer, which must not fill the disk."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from mcp_runtime.core import sources
from mcp_runtime.core.connection.timers import TokenBucket
from mcp_runtime.core.errors import MAX_TEXT, clipped

BURST: Final = 50
"""How many lines may be written at once about a connection."""
RATE: Final = 10.0
"""How many lines per second may be written about it after that."""
ENDPOINT_BURST: Final = 200
"""How many lines may be written at once about all connections of an endpoint."""
ENDPOINT_RATE: Final = 20.0
"""How many lines per second may be written about them after that."""


class Journal:
    """Decides which log lines are written, so that a peer cannot fill the disk.

    Args:
        clock: returns the current time in seconds.
        endpoint: limits the lines about all connections of an endpoint, since a peer may open one after another; None
            if there is only one.
        about: what the lines are about.
        burst: how many lines may be written at once.
        rate: how many lines per second may be written after that.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        endpoint: "Journal | None" = None,
        *,
        about: str = "this connection",
        burst: int = BURST,
        rate: float = RATE,
    ) -> None:
        self._clock = clock
        self._endpoint = endpoint
        self._about = about
        self._bucket = TokenBucket(rate, burst, clock())
        self._left_out = 0

    def admits(self) -> bool:
        """Whether another line may be written now; otherwise it is counted."""
        if self._bucket.delay(self._clock()):
            self._left_out += 1
            return False
        if self._endpoint is not None and not self._endpoint.admits():
            return False
        self._bucket.tokens -= 1
        return True

    def left_out(self) -> str:
        """Return a line about the lines omitted since the last call; empty if there were none."""
        count, self._left_out = self._left_out, 0
        return f"{count:,} more messages about {self._about} were omitted" if count else ""

    def all_left_out(self) -> list[str]:
        """Return what `left_out` returns for this journal and that of the endpoint, unless it is empty."""
        journals = (self,) if self._endpoint is None else (self, self._endpoint)
        return [text for journal in journals if (text := journal.left_out())]


def endpoint_journal() -> Journal:
    """Return a journal for all connections of an endpoint."""
    return Journal(sources.now, about="connections of this endpoint", burst=ENDPOINT_BURST, rate=ENDPOINT_RATE)


log: Final = logging.getLogger("mcp_runtime")

WAIT: Final = 0.2
"""Seconds in which more lines of a banner may follow."""


class PrintedText:
    """What a peer printed, shown once when its next message arrives; later text is logged at debug level.

    Args:
        loop: used to wait for the rest of a banner that no message follows.
        show: called with the text to show.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, show: Callable[[str], None]) -> None:
        self._show = show
        self._lines: list[str] | None = []
        self._room = MAX_TEXT
        self._timer = loop.call_later(WAIT, self.end)

    @staticmethod
    def is_text(message: bytes) -> bool:
        """Whether a line is text rather than a malformed message: many loggers write ``[info]``, or JSON."""
        return message[:1] not in (b"{", b"[") or (b'"jsonrpc"' not in message and b'"id"' not in message)

    def add(self, text: bytes) -> None:
        """Add a line of text."""
        line = text[:MAX_TEXT].decode("utf-8", "replace")
        if self._lines is None:
            log.debug("the peer printed more text: %s", clipped(line))
        elif self._room >= 0:
            self._room -= len(line)
            self._lines.append(line)

    def end(self) -> None:
        """Show what was printed so far, unless it was shown before."""
        self._timer.cancel()
        lines, self._lines = self._lines, None
        if lines:
            self._show(f"the peer printed text that is not a message; print to stderr: {clipped(' | '.join(lines))}")
