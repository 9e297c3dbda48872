"""Reads messages from a descriptor: bytes, the lines in them, and the receiver of those (transports, stdio)."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_runtime.core.connection.transport import Channel, Receiver
from mcp_runtime.core.json.text import ENDS, envelope_of
from mcp_runtime.core.transports.pipes import READ_BYTES, Descriptor

_READS = 8  # maximum number of full reads in a row before other callbacks run
_TURN = 0.02  # and no further one after so many seconds: a read of short lines may take long to deliver

OnData = Callable[[bytes], None]
OnEnd = Callable[[OSError | None], None]


class ByteReader:
    """Reads a descriptor until its end, when the event loop reports available data; starts paused.

    Args:
        descriptor: the descriptor to read; closed by the reader.
        on_data: called with some bytes.
        on_end: called once at the end, with the error if there was one. Not called after `close`.
    """

    _last = False

    def __init__(self, descriptor: Descriptor, on_data: OnData, on_end: OnEnd) -> None:
        self._descriptor = descriptor
        self._on_data = on_data
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._paused = True
        self._ended = False
        self._closed = False

    def pause(self) -> None:
        """Stop reading."""
        if not self._paused:
            self._paused = True
            self._loop.remove_reader(self._descriptor.fd)

    def resume(self) -> None:
        """Resume reading."""
        if self._paused and not self._closed and not self._ended:
            self._paused = False
            self._loop.add_reader(self._descriptor.fd, self._readable)
            if self._last:
                self._loop.call_soon(self._readable)

    def read_rest(self) -> None:
        """Read what is already available as the rest: the writer is gone, though others may hold the other end open."""
        self._last = True
        self._loop.call_soon(self._readable)

    def close(self) -> None:
        """Stop for good; safe to call again."""
        if not self._closed:
            self.pause()
            self._closed = True
            self._descriptor.close()

    def _end(self, error: OSError | None) -> None:
        if not self._ended and not self._closed:
            self.pause()
            self._ended = True
            self._on_end(error)

    def _readable(self) -> None:
        until = self._loop.time() + _TURN
        for number in range(_READS):
            if self._paused or self._closed:
                return
            if number and self._loop.time() > until:
                break
            try:
                data = self._descriptor.read()
            except BlockingIOError:
                if self._last:
                    self._end(None)
                return
            except OSError as error:
                self._end(error)
                return
            if not data:
                self._end(None)
                return
            self._on_data(data)
            if len(data) < READ_BYTES and not self._last:
                return
        if self._last:
            self._loop.call_soon(self._readable)


class ThreadByteReader(ByteReader):
    """Reads in a thread, which is needed for regular files, and for everything on Windows."""

    def __init__(self, descriptor: Descriptor, on_data: OnData, on_end: OnEnd) -> None:
        super().__init__(descriptor, on_data, on_end)
        self._may_read = threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._reading = False

    def pause(self) -> None:
        """Stop reading; data that is being read still arrives."""
        self._paused = True

    def resume(self) -> None:
        """Resume reading."""
        if not self._paused or self._closed or self._ended:
            return
        self._paused = False
        if self._thread is None:
            # A daemon: a thread in a blocking read cannot be stopped, and the program must be able to exit.
            self._thread = threading.Thread(target=self._run, name="mcp-stdio-reader", daemon=True)
            self._thread.start()
        self._read_on()

    def read_rest(self) -> None:
        """Do nothing: without a way to check for more data, only the end of the stream counts."""

    def close(self) -> None:
        """Stop for good."""
        if self._closed:
            return
        self._closed = True
        if self._thread is None:
            self._descriptor.close()
        else:
            self._may_read.release()  # the thread may be inside a read: it closes

    def _read_on(self) -> None:
        if not self._reading:
            self._reading = True
            self._may_read.release()

    def _run(self) -> None:
        with suppress(RuntimeError):  # the event loop is closed
            while self._may_read.acquire() and not self._closed:
                try:
                    data, error = self._descriptor.read(), None
                except OSError as failure:
                    data, error = b"", failure
                self._loop.call_soon_threadsafe(self._arrived, data, error)
        self._descriptor.close()

    def _arrived(self, data: bytes, error: OSError | None) -> None:
        self._reading = False
        if self._closed:
            return
        if not data:
            self._end(error)
            return
        self._on_data(data)
        if not self._paused:
            self._read_on()


def byte_reader(descriptor: Descriptor, on_data: OnData, on_end: OnEnd) -> ByteReader:
    """Return the suitable kind of reader."""
    return (ByteReader if descriptor.pollable else ThreadByteReader)(descriptor, on_data, on_end)


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


class LineReader:
    """Delivers the lines of a descriptor to a receiver.

    Args:
        descriptor: the descriptor to read; closed by the reader.
        receiver: receives the messages.
        channel: the channel of the messages.
        max_message_bytes: the maximum size of a message in bytes.
        on_alone: called before a message that arrived alone is delivered.
        on_end: called once after the last message, with the error if there was one.
    """

    def __init__(
        self,
        descriptor: Descriptor,
        receiver: Receiver,
        channel: Channel,
        *,
        max_message_bytes: int,
        on_alone: Callable[[], None],
        on_end: OnEnd,
    ) -> None:
        self._on_alone = on_alone
        self._bytes = byte_reader(descriptor, self._arrived, on_end)
        self._receiver = receiver
        self._channel = channel
        self._framer = LineFramer(max_message_bytes)
        self._loop = asyncio.get_running_loop()
        self._paused = False
        self._held: list[bytes | TooLong] = []
        self._discarding = False
        self._bytes.resume()

    @property
    def unfinished(self) -> bool:
        """Whether the stream is in the middle of a message."""
        return self._framer.unfinished

    def pause(self) -> None:
        """Stop delivering, at once."""
        if not self._discarding:
            self._paused = True
            self._bytes.pause()

    def resume(self) -> None:
        """Resume delivery, starting with what was held back; not before the next turn of the event loop."""
        if self._paused:
            self._paused = False
            self._loop.call_soon(self._resume)

    def read_the_rest(self) -> None:
        """Keep reading, so that the other end is not blocked; if delivery is paused, nothing more is delivered."""
        if self._paused:
            self._discarding = True
            self._paused = False
            self._held = []
            self._bytes.resume()

    def read_rest(self) -> None:
        """Read what is already available as the rest."""
        self._bytes.read_rest()

    def close(self) -> None:
        """Stop for good."""
        self._discarding = True
        self._held = []
        self._bytes.close()

    def _arrived(self, data: bytes) -> None:
        if not self._discarding:
            lines = self._framer.feed(data)
            if len(lines) == 1:
                self._on_alone()
            self._deliver(lines)

    def _resume(self) -> None:
        held, self._held = self._held, []
        self._deliver(held)
        if not self._paused:
            self._bytes.resume()

    def _deliver(self, lines: Iterable[bytes | TooLong]) -> None:
        if self._paused or self._held:
            self._held.extend(lines)
            return
        left = iter(lines)
        for line in left:
            try:
                if isinstance(line, bytes):
                    self._receiver.message_received(line, self._channel)
                else:
                    self._receiver.message_refused(str(line), self._channel, line.start, line.end)
            except Exception as error:  # one bad message must not affect the ones behind it
                self._loop.call_exception_handler({"message": "the receiver of messages failed", "exception": error})
            if self._stopped():
                break
        if not self._discarding:
            self._held.extend(left)

    def _stopped(self) -> bool:
        return self._paused or self._discarding
