"""Prepares file descriptors for an event loop, and writes lines to them."""

import asyncio
import os
import socket
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue

READ_BYTES = 64 * 1024
"""How many bytes are read at a time."""

Buffer = bytes | memoryview


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One direction of a stream.

    Attributes:
        fd: the descriptor for the event loop to watch, if `pollable`.
        pollable: whether `read` and `write` raise BlockingIOError instead of blocking; if not, they need a thread.
        read: returns some bytes, none at the end.
        write: writes some of the bytes, and returns how many.
        close: releases the descriptor.
    """

    fd: int
    pollable: bool
    read: Callable[[], bytes]
    write: Callable[[Buffer], int]
    close: Callable[[], None]


def of_pipe(fd: int, close: Callable[[], None]) -> Descriptor:
    """Return our end of a pipe that this process has just created."""
    pollable = sys.platform != "win32"
    if pollable:
        os.set_blocking(fd, False)
    return _of_fd(fd, pollable=pollable, close=close)


def adopt(fd: int, *, writing: bool) -> Descriptor:
    """Return a descriptor that was created elsewhere, such as standard input; the result takes ownership.

    Raises:
        OSError: it is not open.
    """
    if sys.platform == "win32":
        return _of_fd(fd, pollable=False)
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return _of_socket(fd)
    is_pipe = stat.S_ISFIFO(mode)
    if not is_pipe and not os.isatty(fd):
        return _of_fd(fd, pollable=False)
    own = _reopened(fd, writing=writing)
    if own is not None:
        os.close(fd)
        return _of_fd(own, pollable=True)
    if not is_pipe or not os.get_blocking(fd):
        return _of_fd(fd, pollable=is_pipe)
    os.set_blocking(fd, False)  # without /proc: as other programs do it with pipes, but restored at the end
    return _of_fd(fd, pollable=True, close=partial(_close_blocking, fd))


def _of_fd(fd: int, *, pollable: bool, close: Callable[[], None] | None = None) -> Descriptor:
    return Descriptor(
        fd=fd,
        pollable=pollable,
        read=partial(os.read, fd, READ_BYTES),
        write=partial(os.write, fd),
        close=close or partial(os.close, fd),
    )


def _of_socket(fd: int) -> Descriptor:
    end = socket.socket(fileno=fd)
    now = socket.MSG_DONTWAIT
    return Descriptor(
        fd=fd,
        pollable=True,
        read=partial(end.recv, READ_BYTES, now),
        write=lambda data: end.send(data, now),
        close=end.close,
    )


def _reopened(fd: int, *, writing: bool) -> int | None:
    """Return the same pipe or terminal with its own description; None without /proc or permission."""
    flags = (os.O_WRONLY if writing else os.O_RDONLY) | os.O_NONBLOCK | os.O_NOCTTY
    try:
        return os.open(f"/proc/self/fd/{fd}", flags)
    except OSError:
        return None


def _close_blocking(fd: int) -> None:
    with suppress(OSError):
        os.set_blocking(fd, True)
    os.close(fd)


HIGH_WATER = 256 * 1024
"""`drain` waits while more bytes than this are queued ..."""
LOW_WATER = 64 * 1024
"""... until no more than this are."""

_BATCH = 64 * 1024  # what a pipe of the usual size holds; longer messages are not copied to join them with others
_TURN = 1024 * 1024  # after so many bytes other callbacks run


class LineWriter:
    """Queues messages and writes them as lines, when the event loop reports that the descriptor has room.

    Args:
        descriptor: the descriptor to write; closed by the writer.
        on_broken: called once if the other end no longer reads, or writing fails.
    """

    _piece: Buffer = b""
    _watching = False

    def __init__(self, descriptor: Descriptor, on_broken: Callable[[OSError], None]) -> None:
        self._descriptor = descriptor
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._size = 0
        self._busy = False
        self._hurry = False
        self._finishing = False
        self._waiters: deque[asyncio.Future[None]] = deque()
        self.closed = False

    def send(self, message: bytes) -> None:
        """Queue a message; it is dropped after `finish` and `close`.

        Raises:
            ValueError: the message contains a line feed, which would split it in two.
        """
        if b"\n" in message:
            raise ValueError("a stdio message is one line: it cannot contain a line feed")
        if self._finishing:
            return
        self._queue.append(message)
        self._size += len(message) + 1
        if not self._busy:
            self._busy = True
            if self._hurry:
                self._hurry = False
                self._flush()
            else:
                self._loop.call_soon(self._flush)

    def hurry(self) -> None:
        """Write the next message at once: a peer that sent one alone waits for the answer; there is nothing to join."""
        self._hurry = True

    async def drain(self) -> None:
        """Wait until few bytes are queued, or nothing will be written any more."""
        if self._size > HIGH_WATER and not self.closed:
            await self._wait()

    def finish(self) -> None:
        """Write what is queued, then close."""
        self._finishing = True
        if not self._busy and not self.closed:
            self.close()

    async def wait_closed(self) -> None:
        """Wait until the writer is closed."""
        while not self.closed:
            await self._wait()

    def close(self) -> None:
        """Close at once and drop what is queued; safe to call again."""
        if self.closed:
            return
        self.closed = self._finishing = True
        self._queue.clear()
        self._size = 0
        self._close_descriptor()
        self._wake()

    async def _wait(self) -> None:
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            with suppress(ValueError):
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _take(self) -> Buffer:
        """Return the next bytes to write: many short messages, or one long one."""
        queue = self._queue
        if self._size <= _BATCH:
            queue.append(b"")
            joined = b"\n".join(queue)
            queue.clear()
            return joined
        if len(queue[0]) > _BATCH:
            message = queue[0]
            queue[0] = b""  # its line feed goes out with what follows
            return message
        batch: list[bytes] = []
        room = _BATCH
        while queue and room >= len(queue[0]):
            batch.append(queue.popleft())
            room -= len(batch[-1])
        batch.append(b"")
        return b"\n".join(batch)

    def _written(self, count: int) -> None:
        self._size -= count
        if self._waiters and self._size <= LOW_WATER and not self._finishing:
            self._wake()

    def _emptied(self) -> None:
        self._busy = False
        if self._finishing:
            self.close()

    def _break(self, error: OSError) -> None:
        self.close()
        self._on_broken(error)

    def _flush(self) -> None:
        if self.closed:
            return
        turn = _TURN
        while turn > 0:
            piece = self._piece
            if not piece:
                if not self._queue:
                    self._watch(False)
                    self._emptied()
                    return
                piece = self._take()
            try:
                count = self._descriptor.write(piece)
            except BlockingIOError:
                self._piece = piece
                break
            except OSError as error:
                self._break(error)
                return
            self._piece = memoryview(piece)[count:] if count < len(piece) else b""
            self._written(count)
            turn -= count
        self._watch(True)

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._watching:
            self._loop.add_writer(self._descriptor.fd, self._flush)
        elif self._watching and not wanted:
            self._loop.remove_writer(self._descriptor.fd)
        self._watching = wanted

    def _close_descriptor(self) -> None:
        self._watch(False)
        self._piece = b""
        self._descriptor.close()


class ThreadLineWriter(LineWriter):
    """Writes in a thread, which is needed for regular files, and for everything on Windows."""

    _pieces: SimpleQueue[Buffer | None] | None = None

    def _flush(self) -> None:
        if self.closed:
            return
        if not self._queue:
            self._emptied()
            return
        if self._pieces is None:
            self._pieces = SimpleQueue()
            # A daemon: a thread in a blocking write cannot be stopped, and the program must be able to exit.
            threading.Thread(target=self._run, args=(self._pieces,), name="mcp-stdio-writer", daemon=True).start()
        self._pieces.put(self._take())

    def _run(self, pieces: SimpleQueue[Buffer | None]) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            while (piece := pieces.get()) is not None:
                left = memoryview(piece)
                try:
                    while left:
                        left = left[self._descriptor.write(left) :]
                except OSError as error:
                    self._loop.call_soon_threadsafe(self._break, error)
                else:
                    self._loop.call_soon_threadsafe(self._piece_written, len(piece))
        self._descriptor.close()

    def _piece_written(self, count: int) -> None:
        if not self.closed:
            self._written(count)
            self._flush()

    def _close_descriptor(self) -> None:
        if self._pieces is None:
            self._descriptor.close()
        else:
            self._pieces.put(None)  # the thread may be inside a write: it closes


def line_writer(descriptor: Descriptor, on_broken: Callable[[OSError], None]) -> LineWriter:
    """Return the suitable kind of writer."""
    return (LineWriter if descriptor.pollable else ThreadLineWriter)(descriptor, on_broken)
