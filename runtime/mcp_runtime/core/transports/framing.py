"""Newline framing: bytes in, whole messages out; no I/O (specification: transports, stdio)."""

from dataclasses import dataclass, field

from mcp_runtime.core.json.text import ENDS, envelope_of

# JSON's white space except the line feed: it may surround a message without being part of it (RFC 8259, section 2).
_AROUND = b" \t\r"


@dataclass(frozen=True, slots=True)
class TooLong:
    """Represents a message over the size limit, which was skipped up to its line feed.

    Attributes:
        limit: the maximum size in bytes.
        start: its first bytes.
        end: its last bytes; empty if the first ones contain its id, or cannot belong to a message.
    """

    limit: int
    start: bytes = field(default=b"", compare=False)
    end: bytes = field(default=b"", compare=False)

    def __str__(self) -> str:
        return f"a message of more than {self.limit} bytes was skipped (the limit is max_message_bytes)"


class LineFramer:
    r"""Splits a stream of bytes into lines, however the bytes arrive.

    Lines end with ``\n`` or ``\r\n``; empty ones are ignored. A line that exceeds the limit is not kept: the rest is
    skipped, and it is reported as `TooLong`, at once unless its id may come at its end. Each byte is examined once, and
    a line is stored at most twice for the moment in which it is completed.

    Args:
        max_bytes: the maximum length of a line, without its end.

    Raises:
        ValueError: `max_bytes` is less than 1.
    """

    def __init__(self, max_bytes: int) -> None:
        if max_bytes < 1:
            raise ValueError(f"max_bytes: must be at least 1, not {max_bytes}")
        self._max_bytes = max_bytes
        self._kept = bytearray()
        self._skipping = False
        self._start = self._end = b""

    @property
    def unfinished(self) -> bool:
        """Whether the stream is in the middle of a line."""
        return self._skipping or bool(self._kept.strip(_AROUND))

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Return the lines that these bytes complete, in order.

        Args:
            data: the next bytes of the stream.
        """
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
        if self._skipping:
            if self._start:
                self._end = (self._end + part[-ENDS:])[-ENDS:]
            return
        if not part:
            return
        # The carriage return of a line end does not count, wherever the bytes were split.
        if len(self._kept) + len(part) > self._max_bytes + part.endswith(b"\r"):
            self._skip(part, found)
            return
        self._kept += part

    def _skip(self, part: bytes, found: list[bytes | TooLong]) -> None:
        """Skip a line from here on, and keep what may contain its id."""
        kept, self._kept = self._kept, bytearray()
        more = max(0, ENDS - len(kept))
        start = bytes(kept[:ENDS]) + part[:more]
        self._skipping = True
        if not start.startswith(b"{") or envelope_of(start) is not None:
            found.append(TooLong(self._max_bytes, start))
            return
        self._start, self._end = start, (bytes(kept[max(ENDS, len(kept) - ENDS) :]) + part[more:])[-ENDS:]

    def _complete(self, found: list[bytes | TooLong]) -> None:
        if self._skipping:
            self._skipping = False
            if self._start:
                found.append(TooLong(self._max_bytes, self._start, self._end))
                self._start = self._end = b""
            return
        line = bytes(self._kept)
        self._kept = bytearray()  # a new one: clear() would keep a long line's memory
        if text := line.strip(_AROUND):
            found.append(text)
