"""Relay bytes from one descriptor to another, and pass a copy to the validator, in order.

It uses threads with plain reads and writes: a blocked write only delays its own direction, and only bytes that are not
yet validated are kept.
"""

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, TypeVar

S = TypeVar("S")

READ_BYTES: Final = 1 << 16
MAX_AHEAD: Final = 8 << 20
"""How many bytes may have been passed on, and not be judged yet, before both directions wait."""


class Copies(Generic[S]):
    """The bytes of both directions in the order in which they were read; empty bytes are the end of one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[tuple[S, bytes]] = deque()
        self._size = 0
        self._is_closed = False

    def add(self, sender: S, data: bytes) -> None:
        """Add bytes before they are passed on, so that an answer to them comes after them; waits for room."""
        with self._changed:
            while self._size >= MAX_AHEAD:
                self._changed.wait()
            self._waiting.append((sender, data))
            self._size += len(data)

    def wake(self) -> None:
        """Have the bytes judged; called when they have left, so that they do not wait for that."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Let `take` return what is left, and then nothing."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def take(self) -> list[tuple[S, bytes]]:
        """Wait for bytes; returns all that there are, none after the end."""
        with self._changed:
            while not (self._waiting or self._is_closed):
                self._changed.wait()
            taken = list(self._waiting)
            self._waiting.clear()
            self._size = 0
            self._changed.notify_all()
            return taken


class Pump(threading.Thread, Generic[S]):
    """Passes one direction on until its source ends or its target is gone, and closes the target then.

    Args:
        sender: whose bytes they are.
        source: the descriptor to read.
        target: the descriptor to write.
        copies: gets a copy.
        ended: called at the end, in the thread, with whether the target was gone.
    """

    def __init__(self, sender: S, source: int, target: int, copies: Copies[S], ended: Callable[[bool], None]) -> None:
        # A daemon: a blocked read cannot be interrupted, and the program must be able to exit.
        super().__init__(name=f"mcp-proxy-{sender}", daemon=True)
        self._sender = sender
        self._source = source
        self._target = target
        self._copies = copies
        self._ended = ended

    def run(self) -> None:
        """Pass on."""
        is_lost = False
        while not is_lost and (data := _read(self._source)):
            self._copies.add(self._sender, data)
            is_lost = not _write(self._target, data)
            self._copies.wake()
        self._copies.add(self._sender, b"")
        self._copies.wake()
        with suppress(OSError):
            os.close(self._target)
        self._ended(is_lost)


def _read(source: int) -> bytes:
    """Return some bytes, none at the end."""
    while True:
        try:
            return os.read(source, READ_BYTES)
        except BlockingIOError:
            select.select([source], [], [])
        except OSError:
            return b""


def _write(target: int, data: bytes) -> bool:
    """Write all bytes; returns whether the other end took them."""
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(target, left) :]
        except BlockingIOError:
            select.select([], [target], [])
        except OSError:
            return False
    return True
