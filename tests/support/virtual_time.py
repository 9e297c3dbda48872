"""A clock for tests in memory: whenever the event loop has nothing to do, its time jumps to the next timer.

Sleeps and timeouts take no time, end in the right order, and never end before pending work is done, however busy the
machine is. It suits only tests without processes, sockets and threads of their own, since nothing waits for
those; it waits for the threads of the runtime.
"""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.connection.background import THREADS

LATENESS = 1e-6
"""Seconds by which timers are late, as with a real clock: a sleep never ends too early because of rounding."""
PATIENCE = 500
"""For how many hundredths of a second the clock stands still while the runtime works in a thread."""


def use_virtual_time(loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the clock of an event loop for the rest of the test."""
    selector: Any = vars(loop)["_selector"]
    wait_for_events, now = selector.select, loop.time()

    def select(timeout: float | None = None) -> Any:
        nonlocal now
        if timeout is None:
            return wait_for_events(None)
        events = wait_for_events(0)
        for _ in range(PATIENCE):
            if events or not THREADS.is_busy:
                break
            events = wait_for_events(0.01)
        if not events:
            now += timeout + LATENESS
        return events

    monkeypatch.setattr(selector, "select", select)
    monkeypatch.setattr(loop, "time", lambda: now)
