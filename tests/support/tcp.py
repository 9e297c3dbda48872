"""MCP over TCP, one message per line: the worked example of a custom transport (docs/transports.md)."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final, cast

from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport, TransportError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.server import serve
from mcp_runtime.core.stub import ServerHandlers
from mcp_runtime.core.transports.reader import LineFramer, TooLong

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
GRACE: Final = 2.0
"""Seconds that `close` gives the peer to read what is queued."""


class TcpTransport(asyncio.Protocol, Transport):
    """One end of a TCP connection; it is both a transport of MCP and a protocol of asyncio.

    Args:
        address: host and port to connect to; None for a connection that was accepted.
        on_accepted: called when a connection is accepted, before anything is read from it.
        max_message_bytes: longer messages are skipped.
        grace: how many seconds `close` waits for the peer.
    """

    has_authorization = False

    def __init__(
        self,
        address: tuple[str, int] | None = None,
        *,
        on_accepted: "Callable[[TcpTransport], None] | None" = None,
        max_message_bytes: int = MAX_MESSAGE_BYTES,
        grace: float = GRACE,
    ) -> None:
        self._address = address
        self._on_accepted = on_accepted
        self._framer = LineFramer(max_message_bytes)
        self._grace = grace
        self._pipe: asyncio.Transport | None = None
        self._receiver: Receiver | None = None
        self._waiting: deque[bytes | TooLong] = deque()
        self._is_paused = True
        self._is_over = False
        self._lost = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # Called by the runtime.

    async def start(self, receiver: Receiver) -> None:
        """Connect, unless already connected, and deliver messages from now on."""
        self._receiver = receiver
        if self._address is not None:
            host, port = self._address
            try:
                await asyncio.get_running_loop().create_connection(lambda: self, host, port)
            except OSError as error:
                raise TransportError(f"{host}:{port} cannot be reached: {error.strerror or error}") from error
        self.resume_reading()
        if self._lost.is_set():
            self._end(None)

    @property
    def can_still_send(self) -> bool:
        """Whether a peer that has stopped sending can still receive its responses."""
        return self._pipe is not None and not self._pipe.is_closing()

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        """Queue a message; asyncio writes as much as it can at once and keeps the rest."""
        if self._pipe is not None and not self._pipe.is_closing():
            self._pipe.write(message + b"\n")

    async def drain(self) -> None:
        """Wait until asyncio has little left to write."""
        await self._writable.wait()

    def pause_reading(self) -> None:
        """Stop reading; the network's buffers fill up, so that the peer has to wait."""
        self._is_paused = True
        if self._pipe is not None:
            self._pipe.pause_reading()

    def resume_reading(self) -> None:
        """Deliver the messages already read, then resume reading."""
        self._is_paused = False
        self._deliver()
        if self._pipe is not None and not self._is_paused:
            self._pipe.resume_reading()

    async def close(self) -> None:
        """Write the queued messages, if the peer reads them within some seconds, and disconnect."""
        if self._pipe is None:
            return
        self._pipe.close()
        try:
            async with asyncio.timeout(self._grace):
                await self._lost.wait()
        except TimeoutError:
            self._pipe.abort()
            await self._lost.wait()

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection, and report that it was accepted."""
        self._pipe = cast("asyncio.Transport", transport)
        if self._on_accepted is not None:
            self._on_accepted(self)

    def data_received(self, data: bytes) -> None:
        """Split bytes into messages; before `start` and while reading is paused, only one block is read.

        Pausing in `connection_made` has no effect on Python 3.11.2: asyncio starts reading after it.
        """
        self._waiting += self._framer.feed(data)
        self._deliver()
        if self._is_paused and self._pipe is not None:
            self._pipe.pause_reading()

    def eof_received(self) -> bool:
        """Report that the peer sends no more; our end stays open until `close`, since it may still want responses."""
        self._end(None)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Release waiting tasks, and report the end unless that has been done."""
        self._lost.set()
        self._writable.set()
        self._end(exc)

    def pause_writing(self) -> None:
        """Make `drain` wait: asyncio has more to write than its high-water mark."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let `drain` continue."""
        self._writable.set()

    def _end(self, error: Exception | None) -> None:
        """Report the end once, after all messages before it, and say whether the last message was incomplete."""
        if self._receiver is None or self._is_over:
            return
        self._is_over, self._is_paused = True, False
        self._deliver()
        reason = f"the TCP connection broke: {error}" if error else ""
        if not reason and self._framer.unfinished:
            reason = "the TCP connection ended in the middle of a message"
        self._receiver.connection_lost(TransportError(reason) if reason else None)

    def _deliver(self) -> None:
        """Deliver messages one by one, since any of them may make the receiver pause reading."""
        while self._receiver is not None and self._waiting and not self._is_paused:
            line = self._waiting.popleft()
            if isinstance(line, TooLong):
                self._receiver.message_refused(str(line), self)
            else:
                self._receiver.message_received(line, self)


@asynccontextmanager
async def connect_tcp(host: str, port: int) -> AsyncGenerator[Peer]:
    """Connect to a server over TCP while the context is open."""
    peer = Peer(TcpTransport((host, port)))
    try:
        yield peer
    finally:
        await peer.aclose()


@asynccontextmanager
async def serve_tcp(
    *servers: ServerHandlers, host: str = "127.0.0.1", port: int = 0, max_message_bytes: int = MAX_MESSAGE_BYTES
) -> AsyncGenerator[int]:
    """Serve every connection while the context is open; yields the port."""
    conversations: set[asyncio.Task[str]] = set()

    def accepted(transport: TcpTransport) -> None:
        task = asyncio.create_task(serve(transport, *servers))
        conversations.add(task)
        task.add_done_callback(conversations.discard)

    def accept() -> TcpTransport:
        return TcpTransport(on_accepted=accepted, max_message_bytes=max_message_bytes)

    listener = await asyncio.get_running_loop().create_server(accept, host, port)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for task in conversations:
            task.cancel()
        await asyncio.gather(*conversations, return_exceptions=True)
