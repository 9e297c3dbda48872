"""Stored events of HTTP streams, which a client that lost its connection gets again."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from mcp_runtime.core import sources
from mcp_runtime.core.connection.background import bounded
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.protocol.jsonrpc import Fault, parse
from mcp_runtime.core.transports.http.statuses import Case, Refusal

TIMEOUT: Final = 2.0
"""Seconds that a store operation may take."""
PAUSE: Final = 1.0
"""Seconds after a failure during which the store is not used."""
MAX_WAITING: Final = 64 << 20
"""How many bytes of messages may wait to be written."""
MAX_LOST: Final = 20_000
"""How many sessions with lost events are remembered; the oldest are dropped beyond that."""


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
        clock: Callable[[], float] = sources.now,
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
        return sum(len(session.order) for session in self._sessions.values())

    async def append(self, events: Sequence[Event]) -> None:
        """Store messages, and drop the oldest ones beyond the limits; see `EventStore.append`."""
        for event in events:
            self.append_now(*event)

    def append_now(self, session: str, stream: int, number: int, message: bytes) -> None:
        """Store one message without a coroutine, since nothing is waited for; see `Event`.

        Args:
            session: the id of the session.
            stream: the number of the stream in the session.
            number: the number of the message in the stream.
            message: the message as JSON.
        """
        now, held = self._clock(), self._sessions.get(session)
        if held is None:
            held = self._sessions[session] = _Session()
        held.streams.setdefault(stream, {})[number] = message
        held.order.append((stream, number))
        held.size += len(message)
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
        return [entry for entry in kept.items() if entry[0] > number] if number >= next(iter(kept)) - 1 else None

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
            held = self._sessions.get(session)
            if held is not None and held.order and held.order[0] == (stream, number):
                self._bytes -= held.drop_oldest()


class _Session:
    """The streams of one session, and the order in which their messages arrived."""

    def __init__(self) -> None:
        self.streams: dict[int, dict[int, bytes]] = {}  # by number, the oldest first
        self.order: deque[tuple[int, int]] = deque()
        self.size = 0

    def drop_oldest(self) -> int:
        """Drop the oldest message; return its size."""
        stream, number = self.order.popleft()
        kept = self.streams[stream]
        size = len(kept.pop(number))
        if not kept:
            del self.streams[stream]
        self.size -= size
        return size


class EventLog:
    """Writes events to a store in batches, and reads them back.

    If the store fails, the events sent in the meantime are lost: their streams cannot be resumed, nor can older ones of
    the same session. The messages themselves have been sent.

    Args:
        store: stores the events.
        timeout: seconds that an operation may take.
        pause: seconds after a failure during which the store is not used.
    """

    def __init__(self, store: EventStore, *, timeout: float | None = None, pause: float | None = None) -> None:
        self._store = store
        # A task, a timer and a batch for each stream would cost more than storing its events. Subclasses may wait.
        self._append_now = store.append_now if type(store) is MemoryEventStore else None
        self._timeout = TIMEOUT if timeout is None else timeout
        self._pause = PAUSE if pause is None else pause
        self._waiting = _Batch()
        self._leaving = self._waiting
        self._writer: asyncio.Task[None] | None = None
        self._resting_until = 0.0
        self._is_failing = False
        self._lost: dict[str, int] = {}

    def append(self, session: str, stream: int, number: int, message: bytes) -> None:
        """Store one message, asynchronously unless the store is in memory."""
        if self._append_now is not None:
            self._append_now(session, stream, number, message)
            return
        waiting, event = self._waiting, Event(session, stream, number, message)
        if self._resting_until and sources.now() < self._resting_until:
            self._lose(event)
            return
        if waiting.size + len(message) > MAX_WAITING and waiting.events:
            self._fail(f"more than {MAX_WAITING:,} bytes wait to be written", waiting.events)
            waiting.events.clear()
            waiting.size = 0
        waiting.events.append(event)
        waiting.size += len(message)
        self._begin_to_write()

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        """Return the later messages of a stream, including all appended before this call.

        None if some of them are no longer stored.

        Raises:
            Refusal: the store fails (503).
        """
        try:
            found = await bounded(self._read(session, stream, number), self._timeout)
        except Exception as error:
            self._fail(_described(error), ())
            raise Refusal(Case.STORE) from None
        # The store cannot tell that the end of a stream is missing. An open stream knows its end itself.
        if found is None or (stream and self._lost.get(session, -1) >= stream):
            return None
        return found if _is_complete(found, number) else None

    async def forget(self, session: str) -> None:
        """Delete a session that has ended: asynchronously, and as far as the store can."""
        self._lost.pop(session, None)
        self._waiting.ended.append(session)
        self._begin_to_write()

    def _begin_to_write(self) -> None:
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting.events or self._waiting.ended:
            batch = self._leaving = self._waiting
            self._waiting = _Batch()
            try:
                await bounded(self._store_batch(batch), self._timeout)
            except Exception as error:
                self._fail(_described(error), batch.events)
            else:
                self._succeed()
            finally:
                batch.written.set()

    async def _store_batch(self, batch: "_Batch") -> None:
        if batch.events:
            await self._store.append(batch.events)
        for session in batch.ended:
            await self._store.forget(session)

    async def _read(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        await self._written()
        return await self._store.after(session, stream, number)

    async def _written(self) -> None:
        """Wait until everything that was appended before is written, or lost."""
        if self._writer is not None and not self._writer.done():
            await (self._waiting if self._waiting.events else self._leaving).written.wait()

    def _fail(self, reason: str, events: Sequence[Event]) -> None:
        for event in events:
            self._lose(event)
        self._resting_until = sources.now() + self._pause
        if not self._is_failing:
            self._is_failing = True
            text = "the event store fails; answers are still sent, but streams cannot be resumed until it works: %s"
            log.error(text, clipped(reason))

    def _succeed(self) -> None:
        self._resting_until = 0.0
        if self._is_failing:
            self._is_failing = False
            log.warning("the event store works again")

    def _lose(self, event: Event) -> None:
        self._lost[event.session] = max(event.stream, self._lost.get(event.session, -1))
        if len(self._lost) > MAX_LOST:
            del self._lost[next(iter(self._lost))]


class _Batch:
    """Events that are written together.

    Attributes:
        events: the events.
        size: the total size of their messages in bytes.
        ended: the sessions that ended after them.
        written: whether the batch was written, or lost.
    """

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.size = 0
        self.ended: list[str] = []
        self.written = asyncio.Event()


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _is_complete(found: Sequence[tuple[int, bytes]], after: int) -> bool:
    """Whether messages follow a number without a gap, and each is bytes: a store is trusted no more than a peer."""
    for expected, (number, message) in enumerate(found, after + 1):
        try:
            parse(message)
        except Fault as error:
            log.error("the event store returned something that is not a message: %s", clipped(error.reason))
            return False
        if number != expected or b"\n" in message or b"\r" in message:
            return False
    return True
