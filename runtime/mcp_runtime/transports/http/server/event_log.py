"""Writes events to an event store that may be slow, full or unavailable, without delaying streams."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Final

from mcp_runtime.connection.background import bounded
from mcp_runtime.errors import clipped
from mcp_runtime.protocol.jsonrpc import Fault, parse
from mcp_runtime.transports.http.events import Event, EventStore, MemoryEventStore
from mcp_runtime.transports.http.server.checks import not_now

log: Final = logging.getLogger("mcp_runtime")

TIMEOUT: Final = 2.0
"""Seconds that a store operation may take."""
PAUSE: Final = 1.0
"""Seconds after a failure during which the store is not used."""
MAX_WAITING: Final = 64 << 20
"""How many bytes of messages may wait to be written."""
MAX_LOST: Final = 20_000
"""How many sessions with lost events are remembered; the oldest are dropped beyond that."""


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
        waiting, event = self._waiting, Event(session, stream, number, message)
        if self._append_now is not None:
            self._append_now((event,))
            return
        if self._resting_until and time.monotonic() < self._resting_until:
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
            raise not_now("stored events cannot be read now; try again later", 1) from None
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
        self._resting_until = time.monotonic() + self._pause
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

    __slots__ = ("ended", "events", "size", "written")

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
