"""Prepares file descriptors for an event loop without affecting other processes that share them.

O_NONBLOCK belongs to the open file description, which a terminal or an inherited pipe shares with other processes. So
it is set only on our own descriptions: a pipe that we created, or one reopened through /proc. Sockets are asked per
call instead, and the rest gets a thread.
"""

import os
import socket
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

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
