"""A TCP proxy that cuts connections when a test says so."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit


class Proxy:
    """A running proxy.

    Attributes:
        url: where it listens.
        accepted: how many connections it has accepted.
        is_refusing: whether new connections are closed at once.
        cut_after: how many bytes from the server a connection carries before it is cut; None for no limit.
    """

    def __init__(self) -> None:
        self.url = ""
        self.accepted = 0
        self.is_refusing = False
        self.cut_after: int | None = None
        self._target = ("", 0)
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def lead_to(self, url: str) -> None:
        """Connect clients to another server from now on."""
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 0)

    def cut(self) -> None:
        """Cut all connections now."""
        for writer in tuple(self._open):
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect a client to the server."""
        self.accepted += 1
        if self.is_refusing:
            writer.transport.abort()
            return
        try:
            from_server, to_server = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, to_server}
        await asyncio.gather(self._forward(reader, to_server, None), self._forward(from_server, writer, self.cut_after))
        self._open -= {writer, to_server}

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int | None) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data if limit is None else data[:limit])
                await writer.drain()
                if limit is not None and (limit := limit - len(data)) <= 0:
                    self.cut()
                    return
        with suppress(OSError, RuntimeError):
            writer.close()


@asynccontextmanager
async def cutting(url: str) -> AsyncGenerator[Proxy]:
    """Run a proxy in front of a server."""
    proxy = Proxy()
    proxy.lead_to(url)
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
