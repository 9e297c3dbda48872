"""End work that computes for too long."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


class TimeIsUp(Exception):
    """The work did not end in time."""


@contextmanager
def limited_time(seconds: float) -> Generator[None]:
    """Raise `TimeIsUp` where the process has computed for so many seconds.

    It works where signals do: on POSIX, in the main thread; elsewhere the work may take as long as it takes.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    # The timer of the process's own computing, so that nobody else's timer is replaced.
    before = signal.signal(signal.SIGVTALRM, expire)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
