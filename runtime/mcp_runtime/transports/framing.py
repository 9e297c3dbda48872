"""Newline framing: bytes in, whole messages out; no I/O (specification: transports, stdio)."""

from dataclasses import dataclass

# JSON's own white space but the line feed: what may stand around a message without being part of it (RFC 8259,
# section 2).
_AROUND = b" \t\r"


@dataclass(frozen=True, slots=True)
class TooLong:
    """Stands where a message was that is over the size limit: it was skipped up to its line feed."""

    limit: int

    def __str__(self) -> str:
        return f"a message of more than {self.limit} bytes was skipped (the limit is max_message_bytes)"


class LineFramer:
    r"""Cuts a stream of bytes into lines, however the bytes arrive.

    Lines end with ``\n`` or ``\r\n``; empty ones are left out. A line that becomes longer than the limit is not kept:
    it is told at once as `TooLong`, and its rest is skipped. Each byte is looked at once, and a line is held at most
    twice for the moment in which it is completed.

    Args:
        max_bytes: how long a line may be, its end not counted.
    """

    __slots__ = ("_kept", "_max_bytes", "_skipping")

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 1:
            raise ValueError(f"a message needs at least one byte, not {max_bytes}")
        self._max_bytes = max_bytes
        self._kept = bytearray()
        self._skipping = False

    @property
    def unfinished(self) -> bool:
        """Whether the stream stands in the middle of a line."""
        return self._skipping or bool(self._kept.strip(_AROUND))

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that these bytes complete, in order."""
        found: list[bytes | TooLong] = []
        if self._kept or self._skipping:
            end = data.find(b"\n")
            if end < 0:
                self._keep(data, found)
                return found
            self._keep(data[:end], found)
            self._complete(found)
            data = data[end + 1 :]
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(data) <= self._max_bytes:
            found += [text for line in lines if (text := line.strip(_AROUND))]
        else:
            for line in lines:
                self._keep(line, found)
                self._complete(found)
        self._keep(rest, found)
        return found

    def _keep(self, part: bytes, found: list[bytes | TooLong]) -> None:
        if self._skipping or not part:
            return
        # The carriage return of a line's end does not count, wherever the bytes were cut.
        if len(self._kept) + len(part) > self._max_bytes + part.endswith(b"\r"):
            self._kept = bytearray()
            self._skipping = True
            found.append(TooLong(self._max_bytes))
            return
        self._kept += part

    def _complete(self, found: list[bytes | TooLong]) -> None:
        if self._skipping:
            self._skipping = False
            return
        line = bytes(self._kept)
        self._kept = bytearray()  # a new one: clear() would keep a long line's memory
        if text := line.strip(_AROUND):
            found.append(text)
