"""Resource limits of an HTTP server, and stored events, which a client that lost its connection gets again."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """Resource limits for clients; each has its own HTTP status.

    Attributes:
        max_message_bytes: the maximum size of a body in bytes, compressed and decompressed (413); 4 MiB.
        max_header_bytes: the maximum total size of a request's headers in bytes (431).
        body_timeout: seconds in which a body must arrive (408).
        write_timeout: seconds in which a client must read a piece of a response before the response is cut.
        max_sessions: the maximum number of sessions (503).
        session_idle: seconds without a request or a stream after which a session ends; its id then gets 404.
        max_requests: the maximum number of open POSTs, except those that listen (503).
        max_session_requests: the maximum number of open POSTs per session (429).
        max_streams: the maximum number of open GETs and of POSTs that listen (503).
        max_unread: how many bytes may be queued on a stream that the client does not read before it is cut.
        max_unread_total: how many bytes may wait for clients to read them, in total; beyond that, an answer of more
            than 64 KiB is replaced by an error (503), and a stream with more than that queued is cut.
        stream_after: seconds without an answer after which a POST is answered with a stream.
        keepalive: seconds without an event after which a comment is sent on a stream.
        retry: seconds after which a client is asked to resume a closed stream.
    """

    max_message_bytes: int = 4 << 20
    max_header_bytes: int = 32 << 10
    body_timeout: float = 30.0
    write_timeout: float = 60.0
    max_sessions: int = 10_000
    session_idle: float = 1800.0
    max_requests: int = 2_000
    max_session_requests: int = 200
    max_streams: int = 10_000
    max_unread: int = 4 << 20
    max_unread_total: int = 256 << 20
    stream_after: float = 1.0
    keepalive: float = 15.0
    retry: float = 1.0


class Event(NamedTuple):
    """A message that was sent on a stream of a session.

    Attributes:
        session: the id of the session.
        stream: the number of the stream in the session.
        number: the number of the message in the stream, from 1 without gaps.
        message: the message as JSON.
    """

    session: str
    stream: int
    number: int
    message: bytes


class EventStore(Protocol):
    """Stores the messages of streams, so that clients can resume them. Calls come from the event loop's thread.

    A store may be slow, and it may raise: messages are sent without waiting for it. Streams whose messages it did not
    store cannot be resumed; everything else continues.
    """

    async def append(self, events: Sequence[Event]) -> None:
        """Store messages.

        Args:
            events: the messages, in order.
        """
        ...

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        """Return all later messages of a stream, with their numbers; None if some are no longer stored.

        Args:
            session: the id of the session.
            stream: the number of the stream in the session.
            number: the number of the last message that the client received.
        """
        ...

    async def forget(self, session: str) -> None:
        """Delete the messages of a session that has ended.

        Args:
            session: the id of the session.
        """
        ...


class _Kept:
    """The messages of one stream; `gone` is the number of the last one that was dropped."""

    __slots__ = ("gone", "messages")

    def __init__(self, gone: int) -> None:
        self.gone = gone
        self.messages: deque[tuple[int, bytes]] = deque()


class MemoryEventStore:
    """Stores the newest events in memory; it implements `EventStore`.

    Args:
        max_events: how many events are stored in total.
        max_bytes: how many bytes of messages are stored in total.
        max_session_bytes: how many bytes of messages are stored per session.
        max_age: seconds for which an event is stored.
        clock: returns the current time in seconds.
    """

    def __init__(
        self,
        *,
        max_events: int = 100_000,
        max_bytes: int = 64 << 20,
        max_session_bytes: int = 4 << 20,
        max_age: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._max_session_bytes = max_session_bytes
        self._max_age = max_age
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._order: deque[tuple[float, str, int, int]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        """How many events are stored."""
        return sum(len(kept.messages) for session in self._sessions.values() for kept in session.streams.values())

    async def append(self, events: Sequence[Event]) -> None:
        """Store messages, and drop the oldest ones beyond the limits; see `EventStore.append`."""
        self.append_now(events)

    def append_now(self, events: Sequence[Event]) -> None:
        """Do the same without a coroutine, since nothing is waited for.

        Args:
            events: the messages, in order.
        """
        now = self._clock()
        for session, stream, number, message in events:
            held = self._sessions.get(session)
            if held is None:
                held = self._sessions[session] = _Session()
            held.append(stream, number, message)
            self._bytes += len(message)
            self._order.append((now, session, stream, number))
            while held.size > self._max_session_bytes:
                self._bytes -= held.drop_oldest()
        self._drop(now)

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        """Return the later messages of a stream; see `EventStore.after`."""
        self._drop(self._clock())
        held = self._sessions.get(session)
        kept = held.streams.get(stream) if held else None
        if kept is None:
            return None
        return [entry for entry in kept.messages if entry[0] > number] if number >= kept.gone else None

    async def forget(self, session: str) -> None:
        """Delete the messages of a session; see `EventStore.forget`."""
        if (held := self._sessions.pop(session, None)) is not None:
            self._bytes -= held.size

    def _drop(self, now: float) -> None:
        order = self._order
        while order and (
            len(order) > self._max_events or self._bytes > self._max_bytes or now - order[0][0] > self._max_age
        ):
            _, session, stream, number = order.popleft()
            if (held := self._sessions.get(session)) is not None:
                self._bytes -= held.drop(stream, number)


class _Session:
    """The streams of one session, and the order in which their messages arrived."""

    __slots__ = ("order", "size", "streams")

    def __init__(self) -> None:
        self.streams: dict[int, _Kept] = {}
        self.order: deque[tuple[int, int]] = deque()
        self.size = 0

    def append(self, stream: int, number: int, message: bytes) -> None:
        kept = self.streams.get(stream)
        if kept is None:
            kept = self.streams[stream] = _Kept(number - 1)
        kept.messages.append((number, message))
        self.order.append((stream, number))
        self.size += len(message)

    def drop_oldest(self) -> int:
        """Drop the oldest message; return its size."""
        return self.drop(*self.order.popleft())

    def drop(self, stream: int, number: int) -> int:
        """Drop a message, the oldest of its stream, unless that was done before; return its size."""
        kept = self.streams.get(stream)
        if kept is None or kept.messages[0][0] != number:
            return 0
        if self.order and self.order[0] == (stream, number):
            self.order.popleft()
        _, message = kept.messages.popleft()
        kept.gone = number
        if not kept.messages:
            del self.streams[stream]
        self.size -= len(message)
        return len(message)
