"""Clients over HTTP that read slowly or not at all."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from support.http import BOTH, RawClient
from support.http_modern import ModernClient, headers_for

MB = 1 << 20


@asynccontextmanager
async def unread(client: RawClient, message: Any) -> AsyncGenerator[asyncio.StreamReader]:
    """Post a message over a connection with small buffers, so that most of the response waits to be read."""
    url = urlsplit(str(client.http.base_url))
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    await asyncio.get_running_loop().sock_connect(sock, (url.hostname, url.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=4096)
    body = json.dumps(message).encode()
    session = headers_for(message) if isinstance(client, ModernClient) else client.session
    headers = {**BOTH, **session, "host": "localhost", "content-type": "application/json"}
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST /mcp HTTP/1.1\r\n{head}content-length: {len(body)}\r\n\r\n".encode() + body)
    try:
        yield reader
    finally:
        writer.transport.abort()


async def read_all(reader: asyncio.StreamReader) -> int:
    """Read until the connection or the response ends; returns the number of bytes."""
    size, end = 0, b""
    async with asyncio.timeout(30):
        with suppress(ConnectionError):
            while end != b"\r\n0\r\n\r\n" and (data := await reader.read(MB)):
                size, end = size + len(data), (end + data)[-7:]
    return size
