"""Streams between simulated processes: bytes arrive late, in pieces, or not at all."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import count, pairwise
from typing import Any, Final, NamedTuple, cast
from unittest.mock import patch

from mcp_runtime.core.connection.transport import ANSWER_SENT, Channel, Outcome, Receiver, Sent, TransportError
from mcp_runtime.core.transports.pipes import Descriptor
from mcp_runtime.core.transports.stdio import StdioServerTransport
from simulation.loop import Loop

FIRST: Final = 1_000
"""The first number of a descriptor that exists only in a simulation."""


_SHARED: Final = (
    "Binding",
    "Method",
    "Server",
    "Settings",
    "Options",
    "Bridge",
    "Meta",
    "Worlds",
    "Person",
    "Requesters",
)
"""How the classes are called whose objects connections share."""


class Event(NamedTuple):
    """One thing that happened.

    Attributes:
        at: when, in virtual seconds.
        who: where: ``client 0``, ``server 0``.
        what: what happened; the oracle has the list.
        data: the message, or what else is known of it; JSON.
    """

    at: float
    who: str
    what: str
    data: Any = None


class History(list[Event]):
    """Everything that happened in a world, in order."""

    def __init__(self, loop: Loop) -> None:
        super().__init__()
        self.loop = loop
        self.has_echo = False

    def note(self, who: str, what: str, data: Any = None) -> None:
        """Record that something happens now."""
        self.append(Event(round(self.loop.time(), 6), who, what, data))


class Watched(StdioServerTransport):
    """The real transport of stdio on simulated descriptors, which records what it is given to send.

    Args:
        history: records it.
        who: the end.
        source: the descriptor to read.
        target: the descriptor to write.
    """

    def __init__(self, history: History, who: str, source: Descriptor, target: Descriptor) -> None:
        super().__init__(stdin=source.fd, stdout=target.fd)
        self._history, self._who = history, who

    async def start(self, receiver: Receiver) -> None:
        """Start, and record each message before it is processed."""
        await super().start(_Noting(receiver, self._history, self._who))

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Record a message, and send it."""
        self._history.note(self._who, "sends", parsed(message))
        super().send(message, about)
        if self._history.has_echo and self._who.startswith("server"):
            super().send(message, about)


class _Noting(Receiver):
    """Records what a transport delivers."""

    def __init__(self, receiver: Receiver, history: History, who: str) -> None:
        self._receiver, self._history, self._who = receiver, history, who

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        self._history.note(self._who, "received", parsed(message))
        return self._receiver.message_received(message, channel, value)

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        self._history.note(self._who, "refuses", reason)
        return self._receiver.message_refused(reason, channel, start, end)

    def connection_lost(self, reason: TransportError | None) -> None:
        self._history.note(self._who, "is lost", None if reason is None else str(reason))
        self._receiver.connection_lost(reason)


def parsed(line: bytes) -> Any:
    """Return a message; the text of what is not JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return line.decode("utf-8", "replace")


class Weather(NamedTuple):
    """How a network behaves.

    Attributes:
        delay: the longest time in seconds that bytes are on their way.
        pieces: how many pieces arrive of what was written at once, at most.
        capacity: how many bytes may be on their way or unread before the writer must wait.
        cut: when the connection ends, in seconds; None for never.
    """

    delay: float = 0.0
    pieces: int = 1
    capacity: int = 1 << 16
    cut: float | None = None


class Pipe:
    """One direction of a stream: the write end of one process, and the read end of another.

    Args:
        net: its loop, and the history of what the two processes write and read.
        weather: how it behaves.
        writer: the process that writes.
        reader: the process that reads.
    """

    def __init__(self, net: "Net", weather: Weather, writer: str, reader: str) -> None:
        loop = net.loop
        self._loop, self._weather, self._note = loop, weather, net.history.note
        self._writer, self._reader = writer, reader
        self._line = b""
        self._arrived: deque[bytes] = deque()
        self._on_its_way = self._unread = 0
        self.moved = 0
        self._last = 0.0
        self._is_ended = self._is_cut = self._writes = self._reads = self._refused = False
        self._read_fd, self._write_fd = next(net.numbers), next(net.numbers)
        loop.add_descriptor(self._read_fd, lambda: bool(self._arrived) or self._is_ended)
        loop.add_descriptor(self._write_fd, lambda: (self._room > 0 and not self._refused) or not self._has_reader)

    @property
    def _room(self) -> int:
        return self._weather.capacity - self._on_its_way - self._unread

    @property
    def _has_reader(self) -> bool:
        return self._reads and not self._is_cut

    @property
    def is_open(self) -> bool:
        """Whether one of the ends was never closed."""
        return self._reads or self._writes

    def reader(self) -> Descriptor:
        """Return the end to read."""
        self._reads = True
        return Descriptor(fd=self._read_fd, pollable=True, read=self.read, write=_no, close=self.close_reader)

    def writer(self) -> Descriptor:
        """Return the end to write."""
        self._writes = True
        return Descriptor(fd=self._write_fd, pollable=True, read=_no, write=self.write, close=self.close_writer)

    def write(self, data: bytes | memoryview) -> int:
        """Write some of the bytes; return how many."""
        if not self._has_reader:
            self._note(self._writer, "cannot write")
            raise BrokenPipeError(32, "Broken pipe")
        # A pipe may have room and still take nothing of a short message, until something is read.
        is_short = 0 < self._room < len(data) and self._room < self._weather.capacity
        if self._room <= 0 or (is_short and self._loop.random.random() < 0.5):
            self._refused = True
            raise BlockingIOError
        taken = bytes(data[: self._room])
        *lines, self._line = (self._line + taken).split(b"\n")
        for line in filter(bytes.strip, lines):
            self._note(self._writer, "sent", parsed(line))
        self._send(taken)
        return len(taken)

    def read(self) -> bytes:
        """Return some bytes; none at the end."""
        if not self._arrived:
            if self._is_ended:
                self._note(self._reader, "reads the end")
                return b""
            raise BlockingIOError
        data = self._arrived.popleft()
        self._refused = False
        self._unread -= len(data)
        return data

    def close_writer(self) -> None:
        """Close the end to write: the reader gets the rest, and then the end."""
        if self._writes:
            self._writes = False
            self._after_the_last(self._end)

    def close_reader(self) -> None:
        """Close the end to read: the writer fails from now on."""
        self._reads = self._refused = False
        self._arrived.clear()

    def cut(self) -> None:
        """End at once: what is on its way is lost."""
        self._is_cut = self._is_ended = True

    def _send(self, data: bytes) -> None:
        most, chance = self._weather.pieces, self._loop.random
        cuts = sorted(chance.randrange(len(data)) for _ in range(chance.randrange(most)))
        for start, end in pairwise((0, *cuts, len(data))):
            if piece := data[start:end]:
                self._on_its_way += len(piece)
                self._after_the_last(partial(self._deliver, piece))

    def _after_the_last(self, event: Callable[[], None]) -> None:
        delay = self._loop.random.uniform(0, self._weather.delay) if self._weather.delay else 0.0
        self._last = max(self._last + 1e-9, self._loop.time() + delay)
        self._loop.arrive(self._last, event)

    def _deliver(self, piece: bytes) -> None:
        self._on_its_way -= len(piece)
        self.moved += len(piece)
        if self._has_reader and not self._is_ended:
            self._unread += len(piece)
            self._arrived.append(piece)

    def _end(self) -> None:
        self._is_ended = True


def _no(*_: Any) -> Any:
    raise OSError(9, "Bad file descriptor")


class Stream:
    """A connection of two processes by two pipes, as stdio has them."""

    def __init__(self, net: "Net", number: int, weather: Weather) -> None:
        client, server = f"client {number}", f"server {number}"
        self.there, self.back = Pipe(net, weather, client, server), Pipe(net, weather, server, client)
        self.client = net.adopt(client, self.back.reader(), self.there.writer())
        self.server = net.adopt(server, self.there.reader(), self.back.writer())
        if weather.cut is not None:
            net.loop.arrive(weather.cut, self.cut)
        self._history, self._number, self._delay = net.history, number, weather.delay

    def cut(self) -> None:
        """End both directions at once."""
        self._history.note(f"net {self._number}", "cut")
        self.there.cut()
        self.back.cut()

    async def rest(self) -> None:
        """Wait until nothing has arrived for so long that nothing is on its way: a slow stream holds little."""
        moved = -1
        while moved != (moved := self.there.moved + self.back.moved):
            await asyncio.sleep(2 * self._delay)


class Net:
    """All streams of a world.

    Args:
        history: records what passes.
    """

    def __init__(self, history: History) -> None:
        self.history = history
        self.loop = history.loop
        self.numbers = count(FIRST)
        self._descriptors: dict[tuple[int, int], tuple[Descriptor, Descriptor]] = {}

    def adopt(self, who: str, source: Descriptor, target: Descriptor) -> Watched:
        """Return the transport for two descriptors; it is symmetric, so both ends of a stream use it."""
        self._descriptors[source.fd, target.fd] = source, target
        return Watched(self.history, who, source, target)

    @contextmanager
    def open(self) -> Generator[None]:
        """Let transports find the simulated descriptors, and draw no secret of the process."""
        take_over = patch("mcp_runtime.core.transports.stdio._take_over", self._take_over)
        # It is drawn once per process, and would be part of the trace.
        with take_over, patch("mcp_runtime.core.asking.suspended._secret", _no_secret):
            yield

    def _take_over(self, stdin: int, stdout: int) -> tuple[Descriptor, Descriptor]:
        return self._descriptors[stdin, stdout]


def held(*roots: object) -> dict[str, int]:
    """Return how many things the runtime's objects hold, by class and attribute, beginning with some objects."""
    sizes: dict[str, int] = {}
    waiting, seen = [*roots], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, type):
            continue
        seen.add(id(one))
        if isinstance(one, dict | set | deque | list):
            each: Any = cast("Any", one)
            waiting += [*each, *each.values()] if isinstance(one, dict) else each
        elif any(kind.__module__.startswith("mcp_runtime") for kind in type(one).__mro__) and not type(
            one
        ).__name__.endswith(_SHARED):
            slots = [name for kind in type(one).__mro__ for name in vars(kind).get("__slots__", ())]
            for name in (*slots, *getattr(one, "__dict__", ())):
                value = None if name == "_history" else getattr(one, name, None)
                if name == "used" and value:
                    sizes[f"{type(one).__name__}.used"] = value
                if isinstance(value, dict | set | deque | list):
                    place = f"{type(one).__name__}.{name}"
                    sizes[place] = sizes.get(place, 0) + len(cast("Any", value))
                waiting.append(cast("object", value))
    return {place: size for place, size in sorted(sizes.items()) if size}


def _no_secret(process: int) -> bytes:
    return bytes(32)
