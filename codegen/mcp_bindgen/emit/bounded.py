"""Limit the CPU time of a piece of work."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(Exception):
    """The work did not end in time."""


@contextmanager
def limited_time(seconds: float) -> Generator[None]:
    """Raise `TimeIsUp` once the process has used so many seconds of CPU time.

    It needs signals: POSIX, and the main thread. Elsewhere there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    # The virtual timer (CPU time), so that a real-time timer of other code is not replaced.
    before = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
