"""Ends a serving process within a given time, whatever its handlers do."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from mcp_runtime.errors import printable

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """Ends the process with status 1 if it is still running some time after shutdown has begun.

    A handler may swallow its cancellation, and a blocked thread cannot be stopped.

    Args:
        seconds: how long it may keep running.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: threading.Timer | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the timer; safe to call again. What still runs in the event loop is named when it fires."""
        if self._timer is None:
            self._loop = loop
            self._timer = threading.Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()

    def over(self) -> None:
        """Stop the timer: everything has ended normally."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        text = f"the server was killed: {self._seconds:g} s after shutdown began, still running: {self._busy()}\
"
        # Not through `sys.stderr`, whose lock may be held by what blocks.
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        os._exit(1)

    def _busy(self) -> str:
        names: list[str] = []
        with suppress(RuntimeError):  # there is no event loop any more, or its tasks are changing
            names += [] if self._loop is None else [task.get_name() for task in asyncio.all_tasks(self._loop)]
        names += [thread.name for thread in threading.enumerate() if not thread.daemon]
        return printable(", ".join(names))[:1000]


@contextmanager
def on_signals(
    loop: asyncio.AbstractEventLoop, stop: Callable[[], object], first: Callable[[], None]
) -> Generator[None]:
    """Call a function in the event loop when this process receives SIGINT or SIGTERM.

    Args:
        loop: runs `stop`; a handler may block it.
        stop: ends what runs.
        first: called at once.
    """

    def heard(number: int, frame: object) -> None:
        first()
        loop.call_soon_threadsafe(stop)

    before: dict[signal.Signals, signal.Handlers | Callable[..., object] | int | None] = {}
    with suppress(ValueError, RuntimeError):  # not the main thread
        for number in SIGNALS:
            handler = signal.getsignal(number)
            # A signal that another thread receives, or that arrives just before the loop waits, does not interrupt its
            # wait. So the loop watches for signals too.
            with suppress(NotImplementedError):  # on Windows
                loop.add_signal_handler(number, lambda: None)
            signal.signal(number, heard)
            before[number] = handler
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
