"""What the soak tests of both HTTP transports have in common."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2

from mcp_runtime.core.handshake.client import Peer
from support.http import served
from support.stdio_peers import eventually

CONCURRENT = 64


@asynccontextmanager
async def healthy(
    app: Any, package: Any, reach: Callable[[str], AbstractAsyncContextManager[Peer]]
) -> AsyncGenerator[str]:
    """Serve an endpoint; at the end it still answers a new client, and leaves no session.

    Args:
        app: the endpoint.
        package: the generated package of a revision that it speaks.
        reach: connects to its URL.
    """
    async with served(app) as url:
        yield url
        async with reach(url) as peer:
            await (await package.Client.open(peer)).ping()
    await eventually(lambda: len(app.sessions) == 0)


async def echo_all(client: Any, requests: int) -> None:
    """Make concurrent calls; each gets its own answer."""
    numbers = iter(range(requests))

    async def work() -> int:
        done = 0
        for number in numbers:
            result = await client.call_tool(name="echo", arguments={"text": str(number)})
            assert [content.text for content in result.content] == [str(number)]
            done += 1
        return done

    assert sum(await asyncio.gather(*(work() for _ in range(CONCURRENT)))) == requests


class Hasty(httpx2.AsyncBaseTransport):
    """Sends each request on a connection of its own; only the status and the headers of a response are read.

    With thousands of requests, the pool of connections of httpx2 takes nine tenths of the CPU time of a test.

    Args:
        most: how many connections are open at once.
    """

    def __init__(self, most: int = 300) -> None:
        self._free = asyncio.Semaphore(most)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        async with self._free:
            reader, writer = await connect(str(request.url))
            try:
                headers = b"".join(b"%s: %s\r\n" % pair for pair in request.headers.raw if pair[0] != b"Connection")
                line = b"%s %s HTTP/1.1\r\n" % (request.method.encode(), request.url.raw_path)
                writer.write(line + headers + b"Connection: close\r\n\r\n" + await request.aread())
                status, *lines = (await reader.read()).partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
            finally:
                writer.close()
        found = [(name, value) for name, _, value in (line.partition(": ") for line in lines)]
        return httpx2.Response(int(status.split()[1]), headers=[pair for pair in found if pair[0] not in _OF_BODIES])


_OF_BODIES = ("content-length", "transfer-encoding")


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the host of a URL."""
    parts = urlsplit(url)
    return await asyncio.open_connection(parts.hostname, parts.port)


async def cut(url: str, text: bytes, length: int, patience: float) -> None:
    """Send the beginning of a request, wait a little, and disconnect."""
    reader, writer = await connect(url)
    writer.write(text[:length])
    with suppress(OSError, TimeoutError):
        await writer.drain()
        async with asyncio.timeout(patience / 20):
            await reader.read(100)
    writer.transport.abort()
