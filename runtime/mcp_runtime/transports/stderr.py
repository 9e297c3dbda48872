"""A child process's standard error: lines for a callback, and the last ones for an error message."""

import asyncio
from collections import deque
from collections.abc import Callable

from mcp_runtime.printable import printable
from mcp_runtime.transports.descriptors import Descriptor
from mcp_runtime.transports.reader import byte_reader

StderrCallback = Callable[[str], None]
"""Called with each line, without its end. The text is the child's own: escape it before showing it."""

_LINE = 64 * 1024  # bytes; a longer line is split
_TAIL_LINES = 8
_TAIL_WIDTH = 300


class StderrReader:
    """Reads a child's standard error, so that the child never blocks on it.

    Args:
        descriptor: the descriptor to read; closed by the reader.
        callback: called with each line.
    """

    def __init__(self, descriptor: Descriptor, callback: StderrCallback) -> None:
        self._callback = callback
        self._loop = asyncio.get_running_loop()
        self._rest = b""
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._bytes = byte_reader(descriptor, self._arrived, self._ended)
        self._bytes.resume()

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines, bounded and printable."""
        lines = (printable(line[: _TAIL_WIDTH + 1].rstrip()) for line in self._tail)
        return tuple(line if len(line) <= _TAIL_WIDTH else line[:_TAIL_WIDTH] + "..." for line in lines)

    def read_rest(self) -> None:
        """Read what is already available as the rest."""
        self._bytes.read_rest()

    def close(self) -> None:
        """Stop for good; an incomplete line is passed on."""
        self._bytes.close()
        self._ended(None)

    def _arrived(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._tell(line)
        while len(self._rest) >= _LINE:
            part, self._rest = self._rest[:_LINE], self._rest[_LINE:]
            self._tell(part)

    def _ended(self, _: OSError | None) -> None:
        rest, self._rest = self._rest, b""
        if rest:
            self._tell(rest)

    def _tell(self, raw: bytes) -> None:
        line = raw.removesuffix(b"\r").decode("utf-8", "replace")
        if line.strip():
            self._tail.append(line[: 4 * _TAIL_WIDTH])
        try:
            self._callback(line)
        except Exception as error:
            self._loop.call_exception_handler({"message": "the stderr callback failed", "exception": error})
