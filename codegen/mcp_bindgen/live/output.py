"""The output of a server that a command talks to: its lines on standard error, and messages that break the protocol."""

import asyncio
import logging
import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

MAX_LINES: Final = 12
"""How many lines are shown when it fails: of its standard error, and on what was wrong with its messages."""
_UNTRACED: Final = re.compile(r"max_message_bytes|this one was dropped")
"""How errors read about messages that no trace receives, or about those that the client did not handle."""


class ServerOutput:
    """A server's output to show if it fails: its last lines on standard error, and protocol violations.

    Attributes:
        lines: its last lines, and what broke the protocol among them.
        complaints: what broke the protocol, the first of it.
        has_answered: whether it sent a message.
        limit: the timeout of the conversation.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.complaints: list[str] = []
        self.has_answered = False
        self.limit = asyncio.Timeout(None)

    def listen(self, line: str) -> None:
        """Take a line."""
        self.lines.append(line.rstrip())
        del self.lines[:-MAX_LINES]

    def complain(self, text: str, quoted: str = "") -> None:
        """Take what was wrong with a message, once, with the message to quote if it cannot be read."""
        if text in self.complaints or len(self.complaints) >= 2 * MAX_LINES:
            return
        for line in (text, f"    {quoted}") if quoted else (text,):
            self.listen(line)
            self.complaints.append(line)

    def lines_without(self, reason: str) -> list[str]:
        """Return the last lines but those on one violation, which an error names already."""
        return [line for line in self.lines if line not in self.complaints or reason not in line]

    @contextmanager
    def paused(self) -> Generator[None]:
        """Stop the clock of the conversation while a person answers."""
        loop, end = asyncio.get_running_loop(), self.limit.when()
        begun = loop.time()
        self.limit.reschedule(None)
        try:
            yield
        finally:
            self.limit.reschedule(None if end is None else end + loop.time() - begun)


@contextmanager
def logged_to(output: ServerOutput) -> Generator[None]:
    """Collect what the runtime logs about the server, instead of printing it, but for what is judged anyway."""

    class Collecting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not hasattr(record, "error") or _UNTRACED.search(record.getMessage()):
                output.complain(record.getMessage())

    log, collecting = logging.getLogger("mcp_runtime"), Collecting(logging.WARNING)
    was_passed_on, log.propagate = log.propagate, False
    log.addHandler(collecting)
    try:
        yield
    finally:
        log.removeHandler(collecting)
        log.propagate = was_passed_on
