"""File descriptors made ready for an event loop, without changing what other processes see of them.

O_NONBLOCK belongs to the open file description, which a terminal or an inherited pipe shares with other processes. So
it is set only on a description of our own: a pipe that we made, or one reopened through /proc. Sockets are asked per
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
"""How much is read at a time."""

Buffer = bytes | memoryview


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One direction of a stream.

    Attributes:
        fd: what an event loop can watch, if `pollable`.
        pollable: whether `read` and `write` raise BlockingIOError instead of blocking; if not, they need a thread.
        read: return some bytes, none at the end.
        write: take some of the bytes, return how many.
        close: give the descriptor back.
    """

    fd: int
    pollable: bool
    read: Callable[[], bytes]
    write: Callable[[Buffer], int]
    close: Callable[[], None]


def of_pipe(fd: int, close: Callable[[], None]) -> Descriptor:
    """Return our own end of a pipe that this process has just made."""
    pollable = sys.platform != "win32"
    if pollable:
        os.set_blocking(fd, False)
    return _of_fd(fd, pollable=pollable, close=close)


def adopt(fd: int, *, writing: bool) -> Descriptor:
    """Return a descriptor that somebody else has made, such as standard input; it now belongs to the result.

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
    os.set_blocking(fd, False)  # without /proc: as others do it with pipes, but put back at the end
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
    """Return the same pipe or terminal with a description of its own; None where there is no /proc or no permission."""
    flags = (os.O_WRONLY if writing else os.O_RDONLY) | os.O_NONBLOCK | os.O_NOCTTY
    try:
        return os.open(f"/proc/self/fd/{fd}", flags)
    except OSError:
        return None


def _close_blocking(fd: int) -> None:
    with suppress(OSError):
        os.set_blocking(fd, True)
    os.close(fd)
