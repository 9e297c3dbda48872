"""Load and failures over HTTP+SSE: nothing is lost or left behind, and the server still works afterwards."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import httpx2
import pytest

from mcp_bindings import v2024_11_05 as v
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import HttpLimits, connect_sse
from mcp_runtime.web_server import sse_app
from soak import over_http
from soak.over_http import CONCURRENT, connect, cut, echo_all
from soak.scale import SEED, scaled
from support.cutting import cutting
from support.http import call, request
from support.http_server import chatty
from support.sse import SseClient, sse_stream
from support.stdio_peers import descriptors, eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(300, 3600)), pytest.mark.usefixtures("nothing_left")]

REVISION = "2024-11-05"


def reach(url: str) -> AbstractAsyncContextManager[Peer]:
    return connect_sse(f"{url}/sse")


@asynccontextmanager
async def healthy(app: Any) -> AsyncGenerator[str]:
    """Serve an endpoint; at the end no session is left, and it still answers a new client."""
    async with over_http.healthy(app, v, reach) as url:
        yield url
        await eventually(lambda: not app.sessions)


async def test_no_request_is_lost_or_answered_with_the_answer_of_another() -> None:
    async with healthy(sse_app(chatty(REVISION))) as url, reach(url) as peer:
        await echo_all(await v.Client.open(peer), scaled(3_000, 100_000))


async def test_streams_that_are_cut_leave_nothing() -> None:
    """Clients lose their streams in the middle of calls: every call ends, and both sides are as before."""
    app = sse_app(chatty(REVISION))
    async with healthy(app) as url, cutting(url) as proxy:
        tasks, open_before = len(asyncio.all_tasks()), descriptors()

        async def unlucky() -> None:
            async with reach(proxy.url) as peer:
                client = await v.Client.open(peer, options=ClientOptions(timeout=60))
                with pytest.raises(ConnectionClosed):
                    await asyncio.gather(*(client.call_tool(name="wait") for _ in range(3)))

        for _ in range(scaled(10, 200)):
            unfortunate = asyncio.gather(*(unlucky() for _ in range(10)))
            await eventually(lambda: sum(s.connection.open_requests for s in app.sessions.values()) == 30)
            proxy.cut()
            await unfortunate
            await eventually(lambda: not app.sessions)
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
        await eventually(lambda: descriptors().items() <= open_before.items())


async def test_requests_cut_at_any_byte_do_no_harm() -> None:
    chance, cuts = random.Random(SEED), scaled(1_000, 50_000)
    app = sse_app(chatty(REVISION))
    async with (
        healthy(app) as url,
        httpx2.AsyncClient(base_url=url, timeout=60) as http,
        sse_stream(http) as client,
    ):
        await client.shake_hands(REVISION)
        tasks = len(asyncio.all_tasks())
        texts = [
            b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n",
            *(post(client, text) for text in (b"{}", b"x" * 3000)),
        ]
        for begin in range(0, cuts, CONCURRENT):
            chosen = [chance.choice(texts) for _ in range(CONCURRENT)]
            await asyncio.gather(*(cut(url, text, chance.randrange(len(text) + 1), chance.random()) for text in chosen))
            assert (await client.post(request("ping", id_=f"well-{begin}"))).status_code == 202
            while (await client.stream.message()).get("id") != f"well-{begin}":
                pass
        await eventually(lambda: len(app.sessions) == 1 and len(asyncio.all_tasks()) <= tasks)


async def test_clients_that_do_not_read_hold_up_no_other() -> None:
    limits = HttpLimits(write_timeout=0.5, max_unread=1_000_000, max_unread_total=8_000_000)
    app = sse_app(chatty(REVISION), limits=limits)
    async with (
        healthy(app) as url,
        httpx2.AsyncClient(base_url=url, timeout=60) as http,
        sse_stream(http) as well,
    ):
        await well.shake_hands(REVISION)
        deaf = [await deaf_client(url) for _ in range(scaled(10, 100))]
        answers = asyncio.gather(*(flood(http, endpoint) for endpoint, _ in deaf))
        for number in range(50):
            assert (await well.ask(request("ping", id_=number)))["id"] == number
        assert {status for statuses in await answers for status in statuses} <= {202, 404, 429, 503}
        await eventually(lambda: len(app.sessions) == 1)
        for _, writer in deaf:
            writer.transport.abort()


async def test_cancelled_calls_leave_nothing_at_the_client() -> None:
    async with healthy(sse_app(server := chatty(REVISION))) as url, reach(url) as peer:
        client = await v.Client.open(peer)
        await client.ping()
        tasks = len(asyncio.all_tasks())
        first = asyncio.create_task(client.call_tool(name="wait"))
        await server.begun.wait()
        first.cancel()
        await eventually(lambda: len(server.ended) > 0)
        hurried = CallOptions(timeout=0.05)
        calls = [client.call_tool(name="wait", options=hurried) for _ in range(scaled(100, 2_000))]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(failure).__name__ for failure in found} == {"RequestTimeout"}
        await client.ping()
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks + 5)


def post(client: SseClient, body: bytes) -> bytes:
    """Write a POST as bytes."""
    head = f"POST {client.endpoint} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


async def deaf_client(url: str) -> tuple[str, asyncio.StreamWriter]:
    """Open a stream and read only its endpoint event."""
    reader, writer = await connect(url)
    writer.write(b"GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n")
    found = await reader.readuntil(b"\r\n\r\n")
    found = await reader.readuntil(b"\n\n")
    return found.partition(b"data: ")[2].strip().decode(), writer


async def flood(http: httpx2.AsyncClient, endpoint: str) -> list[int]:
    """Request more data than can be queued; returns the statuses."""
    hello = {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "deaf", "version": "0"}}
    messages = [
        request("initialize", hello, "hello"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *(call("large", number, size=1_000_000) for number in range(30)),
    ]
    headers = {"content-type": "application/json"}
    return [(await http.post(endpoint, content=json.dumps(each), headers=headers)).status_code for each in messages]
