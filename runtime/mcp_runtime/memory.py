"""A transport within one process, for tests and for embedding: messages are delivered immediately."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Final

from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport, TransportError

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers
    from mcp_runtime.core.handshake.client import Peer

MAX_WAITING: Final = 1000
"""How many messages may be queued at a paused end before `drain` waits for it."""
MAX_WAITING_BYTES: Final = 1 << 20
"""How many bytes may be queued at a paused end before `drain` waits for it."""


class MemoryTransport(Transport):
    """One end of a pair; see `memory_pair`."""

    has_authorization = False

    def __init__(self) -> None:
        self._other: MemoryTransport
        self._sendable: asyncio.Event | None = None  # only while the other end has too much
        self._receiver: Receiver | None = None
        self._waiting: deque[bytes] | None = None  # only while needed: an empty one takes 700 bytes
        self._held = 0  # queued bytes
        self._is_paused = False
        self._is_delivering = False
        self._is_closed = False

    async def start(self, receiver: Receiver) -> None:
        """Deliver what has arrived so far, and what arrives from now on.

        Args:
            receiver: receives the messages.
        """
        self._receiver = receiver
        self._deliver()

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Pass a message to the other end, which receives it now unless it is paused or busy with another one.

        Args:
            message: a JSON text.
            about: what it is; ignored.
        """
        if self._is_closed:
            return
        other = self._other
        receiver = other._receiver
        if other._waiting is None and receiver is not None and not other._is_delivering and not other._is_paused:
            other._is_delivering = True
            try:
                receiver.message_received(message, other)
            finally:
                other._is_delivering = False
            other._deliver()  # what it was sent in the meantime
            return
        other._waiting = other._waiting or deque()
        other._waiting.append(message)
        other._held += len(message)
        if self._sendable is None and other._is_full():
            self._sendable = asyncio.Event()

    async def drain(self) -> None:
        """Wait until the other end, if it is paused, has received most of what was sent."""
        if self._sendable is not None:
            await self._sendable.wait()

    def pause_reading(self) -> None:
        """Queue incoming messages until `resume_reading`."""
        self._is_paused = True

    def resume_reading(self) -> None:
        """Deliver the queued messages."""
        self._is_paused = False
        self._deliver()

    async def close(self) -> None:
        """End both ends."""
        self._other._lose(None)
        self._lose(None)

    def _deliver(self) -> None:
        receiver = self._receiver
        if receiver is None or self._is_delivering or self._waiting is None:
            return
        self._is_delivering = True
        try:
            while self._waiting and not self._is_paused:
                message = self._waiting.popleft()
                self._held -= len(message)
                receiver.message_received(message, self)
        finally:
            self._is_delivering = False
            self._waiting = self._waiting or None
        if not self._is_full():
            self._other._let_send()

    def _is_full(self) -> bool:
        return self._held > MAX_WAITING_BYTES or (self._waiting is not None and len(self._waiting) > MAX_WAITING)

    def _let_send(self) -> None:
        if self._sendable is not None:
            self._sendable.set()
            self._sendable = None

    def _lose(self, reason: TransportError | None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._let_send()
        if self._receiver is not None:
            self._is_paused = False
            self._deliver()
            self._receiver.connection_lost(reason)

    @classmethod
    def pair(cls) -> "tuple[MemoryTransport, MemoryTransport]":
        """Return two connected ends."""
        one, other = cls(), cls()
        one._other, other._other = other, one
        return one, other


def memory_pair() -> tuple[MemoryTransport, MemoryTransport]:
    """Return the two ends of a connection within this process."""
    return MemoryTransport.pair()


@asynccontextmanager
async def connect_memory(*servers: "ServerHandlers") -> AsyncGenerator["Peer"]:
    """Connect to a server within this process, for as long as the context lasts.

    Args:
        servers: one instance of a generated `Server` per revision; the client's choice decides which one answers.

    Raises:
        ValueError: there is no server, or two servers have the same revision.
        LifespanError: a lifespan of the servers failed.
    """
    from mcp_runtime.core.handshake.client import Peer
    from mcp_runtime.core.handshake.server import start_server
    from mcp_runtime.core.server import lifespans

    here, there = memory_pair()
    async with lifespans(servers), aclosing(await start_server(there, *servers)), aclosing(Peer(here)) as peer:
        yield peer
