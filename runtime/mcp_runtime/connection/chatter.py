"""Text that a server prints between its messages: a banner, or output of a library."""

import asyncio
from collections.abc import Callable
from typing import Final

from mcp_runtime.connection.link import log
from mcp_runtime.protocol.text import MAX_TEXT, clipped

WAIT: Final = 0.2
"""Seconds in which more lines of a banner may follow."""


class Chatter:
    """What a peer printed, shown once when its next message arrives; later text is logged at debug level.

    Args:
        loop: used to wait for the rest of a banner that no message follows.
        show: called with the text to show.
    """

    __slots__ = ("_lines", "_room", "_show", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, show: Callable[[str], None]) -> None:
        self._show = show
        self._lines: list[str] | None = []
        self._room = MAX_TEXT
        self._timer = loop.call_later(WAIT, self.end)

    @staticmethod
    def is_text(message: bytes) -> bool:
        """Whether a line is text rather than a malformed message: many loggers write ``[info]``, or JSON."""
        return message[:1] not in (b"{", b"[") or (b'"jsonrpc"' not in message and b'"id"' not in message)

    def heard(self, text: bytes) -> None:
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
            self._show(f"the peer printed text that is not a message: {clipped(' | '.join(lines))}")
