"""Asks the user at the terminal, not on standard input: that may belong to the protocol."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress

Ask = Callable[[str, str], Awaitable[str | None]]
"""Shows a text, asks a question, returns the answer; None if there is no terminal, or nobody is using it."""


def printable(text: str, limit: int = 4000) -> str:
    """Return a peer's text, safe to print: nothing in it moves the cursor, changes colours or hides text."""
    shown = "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text[:limit])
    return shown if len(text) <= limit else f"{shown}\n... and {len(text) - limit} more characters"


async def ask(text: str, question: str, path: str = "/dev/tty") -> str | None:
    """Show a text and ask a question at the terminal; cancelling the task removes the question."""
    try:
        terminal = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        os.write(terminal, f"\n{printable(text)}\n{question} ".encode())
        return await _line(terminal)
    finally:
        os.close(terminal)


async def _line(terminal: int) -> str | None:
    loop, line = asyncio.get_running_loop(), b""
    ready = asyncio.Event()
    loop.add_reader(terminal, ready.set)
    try:
        while not line.endswith(b"\n"):
            await ready.wait()
            ready.clear()
            with suppress(BlockingIOError):
                more = os.read(terminal, 1024)
                if not more:
                    return None
                line += more
    except OSError:
        return None
    finally:
        loop.remove_reader(terminal)
    return line.decode(errors="replace").strip()
