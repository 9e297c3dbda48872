"""A client over HTTP whose own parts fail, or that closes early."""

import asyncio
import socket
import struct
from collections.abc import Generator
from typing import Any

import httpx2
import pytest

from mcp_bindings import v2025_11_25
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.transports.http import asgi_app, connect_http, connect_sse
from support.http import served
from support.http_server import chatty
from support.stdio_peers import eventually

NEWEST = "2025-11-25"


async def test_a_request_that_fails_in_an_unexpected_way_fails_its_call() -> None:
    class Broken(httpx2.Auth):
        def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
            if request.url.host == "localhost":
                raise LookupError("no password")
            yield request

    async with connect_http("http://localhost/mcp", auth=Broken()) as peer:
        with pytest.raises(ConnectionClosed, match="LookupError: no password"):
            await v2025_11_25.Client.open(peer)


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{"]
)
async def test_a_connection_that_is_reset_says_so(answer: bytes) -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        await asyncio.sleep(0.05)  # so that what was written arrives
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with connect_http(f"http://127.0.0.1:{port}/mcp") as peer:
            with pytest.raises(ConnectionClosed, match=r"/mcp: the connection broke .*; check the URL, and that"):
                await v2025_11_25.Client.open(peer)


async def test_a_notification_that_fails_in_an_unexpected_way_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(httpx2.Auth):
        requires_request_body = True

        def auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
            if b"notifications/cancelled" in request.content:
                raise LookupError("no password")
            yield request

    async with served(asgi_app(server := chatty(NEWEST))) as url, connect_http(f"{url}/mcp", auth=Broken()) as peer:
        client: Any = await v2025_11_25.Client.open(peer)
        waiting = asyncio.create_task(client.call_tool(name="wait"))
        await server.begun.wait()
        waiting.cancel()
        await eventually(lambda: "a message was not delivered" in caplog.text)
        assert "the request could not be sent: LookupError: no password" in caplog.text
        assert (await client.call_tool(name="echo", arguments={"text": "on"})).content[0].text == "on"


async def test_a_connection_that_closes_before_it_sends_a_request_ends_quietly(
    recwarn: pytest.WarningsRecorder,
) -> None:
    async with served(asgi_app(chatty(NEWEST))) as url, connect_http(f"{url}/mcp") as peer:
        await (await v2025_11_25.Client.open(peer)).ping()
        peer.transport.send(b'{"jsonrpc":"2.0","id":9,"method":"ping"}')
        await peer.transport.close()
    assert not [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)]


@pytest.mark.parametrize("connect", [connect_http, connect_sse])
async def test_an_error_before_a_client_is_opened_is_the_error_that_is_seen(connect: Any) -> None:
    with pytest.raises(LookupError, match="no such setting"):
        async with connect("http://localhost/mcp"):
            raise LookupError("no such setting")
