"""The end of a process that serves: within a stated time, whatever its handlers do."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from mcp_runtime.printable import printable

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Ending:
    """Ends the process, with status 1, if it goes on for too long after its end has begun.

    A handler may swallow its cancellation, and nothing can end a thread that blocks.

    Args:
        seconds: how long it may go on.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: threading.Timer | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let the time run; harmless when called again. What still runs in the event loop is named at the end."""
        if self._timer is None:
            self._loop = loop
            self._timer = threading.Timer(self._seconds, self._end)
            self._timer.daemon = True
            self._timer.start()

    def over(self) -> None:
        """Learn that all has ended in good order."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        text = (
            f"the server was ended: {self._seconds:g} s after its end had begun, these were running: {self._busy()}\n"
        )
        # Not by `sys.stderr`, whose lock may be held by what blocks.
        with suppress(OSError):
            os.write(2, text.encode("utf-8", "backslashreplace"))
        os._exit(1)

    def _busy(self) -> str:
        names: list[str] = []
        with suppress(RuntimeError):  # there is no event loop any more, or the tasks change meanwhile
            names += [] if self._loop is None else [task.get_name() for task in asyncio.all_tasks(self._loop)]
        names += [thread.name for thread in threading.enumerate() if not thread.daemon]
        return printable(", ".join(names))[:1000]


@contextmanager
def on_signals(
    loop: asyncio.AbstractEventLoop, stop: Callable[[], object], first: Callable[[], None]
) -> Generator[None]:
    """Call a function in the event loop when this process is told to end by SIGINT or SIGTERM.

    Args:
        loop: runs `stop`; a handler may block it.
        stop: ends what runs.
        first: is called at once.
    """

    def heard(number: int, frame: object) -> None:
        first()
        loop.call_soon_threadsafe(stop)

    before: dict[signal.Signals, signal.Handlers | Callable[..., object] | int | None] = {}
    with suppress(ValueError):  # not the main thread
        for number in SIGNALS:
            before[number] = signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
