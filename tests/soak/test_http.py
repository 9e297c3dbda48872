"""Load and failures over HTTP: nothing is lost or left behind, and the server still works afterwards."""

import asyncio
import gc
import json
import random
import tracemalloc
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.transports.http import HttpLimits, asgi_app, connect_http
from soak import over_http
from soak.echo_server import EchoServer
from soak.over_http import CONCURRENT, Hasty, connect, cut, echo_all
from soak.scale import SEED, scaled
from support.http import BOTH, RawClient, call, hello, request
from support.http_modern import MODERN, ModernClient, asked, begin_with, headers_for
from support.http_server import chatty
from support.stdio_peers import descriptors, eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(300, 3600)), pytest.mark.usefixtures("nothing_left")]

REVISION = "2025-11-25"
BYTES_PER_SESSION = 12 * 1024
EXPIRY = 3600.0
"""Seconds until an abandoned session ends: the test moves the clock."""


def healthy(app: Any) -> AbstractAsyncContextManager[str]:
    return over_http.healthy(app, v, connect_http)


async def test_no_request_is_lost_or_answered_with_the_answer_of_another() -> None:
    async with healthy(asgi_app(EchoServer())) as url, connect_http(url) as peer:
        await echo_all(await v.Client.open(peer), scaled(10_000, 200_000))


async def test_abandoned_sessions_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, loop = scaled(1_000, 10_000), asyncio.get_running_loop()
    app = asgi_app(EchoServer(), limits=HttpLimits(session_idle=EXPIRY, max_sessions=2 * sessions + 2))
    async with healthy(app) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
        await RawClient(http).shake_hands(REVISION)
        tasks, open_before = len(asyncio.all_tasks()), descriptors()
        gc.collect()
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            for _ in range(sessions):
                await RawClient(http).shake_hands(REVISION)
            gc.collect()
            held, live = tracemalloc.get_traced_memory()[0] - before, len(app.sessions)
            assert live == sessions + 1
            await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
            now = loop.time
            monkeypatch.setattr(loop, "time", lambda: now() + 2 * EXPIRY)
            await eventually(lambda: len(app.sessions) == 0 and len(asyncio.all_tasks()) <= tasks)
            gc.collect()
            left = tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
        assert held / live <= BYTES_PER_SESSION, f"{held / live:.0f} bytes for an idle session"
        print(f"{held / live:.0f} bytes for an idle session, {left / sessions:.0f} for one that has expired")
        assert left / sessions < 500, "sets keep the size that they grew to when all expired at once"
        # A connection that was idle for a long time may have been closed.
        await eventually(lambda: descriptors().items() <= open_before.items())


async def test_requests_cut_at_any_byte_do_no_harm() -> None:
    chance, cuts = random.Random(SEED), scaled(2_000, 50_000)
    app = asgi_app(*servers(), limits=HttpLimits(stream_after=0.01, session_idle=60))
    async with healthy(app) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
        client, simple, called = await begin_with(MODERN, http)
        assert (await client.post(simple(id_="first"))).status_code == 200
        tasks = len(asyncio.all_tasks())
        messages = [simple(), called("echo", text="x" * 3000), called("log", count=20), called("echo", delay=0.05)]
        for begin in range(0, cuts, CONCURRENT):
            texts = [
                post(client, {**chance.choice(messages), "id": f"{begin}-{number}"}) for number in range(CONCURRENT)
            ]
            await asyncio.gather(*(cut(url, text, chance.randrange(len(text) + 1), chance.random()) for text in texts))
            assert (await client.post(simple(id_=f"well-{begin}"))).status_code == 200
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks)


async def test_slow_and_unreading_clients_hold_up_no_other() -> None:
    limits = HttpLimits(body_timeout=4, write_timeout=0.5, max_unread=200_000, stream_after=0.01)
    app = asgi_app(*servers(), limits=limits)
    async with healthy(app) as url, httpx2.AsyncClient(base_url=url, timeout=60) as http:
        client, simple, called = await begin_with(MODERN, http)
        slow = [slowly(url, post(client, simple(id_=f"slow-{number}"))) for number in range(scaled(200, 2_000))]
        deaf = [
            deaf_client(url, post(client, called("log", f"deaf-{number}", count=100, size=100_000)))
            for number in range(scaled(8, 64))
        ]
        answers = asyncio.gather(*slow, *deaf)
        for number in range(100):
            assert (await client.post(simple(id_=f"well-{number}"))).status_code in (200, 429)
            await asyncio.sleep(0.01)
        found = await answers
        assert {line for line in found if line} <= {b"HTTP/1.1 408 Request Timeout\r\n"} and b"HTTP/1.1 408" in found[0]


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        (HttpLimits(max_requests=100, max_sessions=100), 503),
        (HttpLimits(max_session_requests=5, max_sessions=100), 429),
    ],
    ids=["in all", "of a session"],
)
async def test_a_flood_is_refused_and_leaves_nothing(limits: HttpLimits, status: int) -> None:
    app = asgi_app(chatty(REVISION), limits=limits)
    async with healthy(app) as url, httpx2.AsyncClient(base_url=url, transport=Hasty()) as http:
        clients = [RawClient(http) for _ in range(10)]
        for client in clients:
            await client.shake_hands(REVISION)
        floods = [
            client.post(call("echo", f"{number}-{round_}", text="x", delay=0.05))
            for round_ in range(scaled(300, 3_000))
            for number, client in enumerate(clients)
        ]
        transport = httpx2.AsyncHTTPTransport(local_address="127.0.0.2")
        async with httpx2.AsyncClient(base_url=url, timeout=60, transport=transport) as http_of_other:
            other = RawClient(http_of_other)
            flooding = asyncio.gather(*floods)
            await other.shake_hands(REVISION)
            for _ in range(20):
                assert (await other.post(call("echo", text="x"))).status_code == 200, "another address is served"
            answers = await flooding
        assert {answer.status_code for answer in answers} == {200, status}
        assert all(int(answer.headers["retry-after"]) for answer in answers if answer.status_code != 200)
        greetings = [RawClient(http).ask("initialize", hello(REVISION)) for _ in range(100)]
        assert {answer.status_code for answer in await asyncio.gather(*greetings)} <= {200, 503}
        assert len(app.sessions) <= 51, "half of them, and that of the other address"
        for client in clients:
            assert (await client.post(request("ping"))).status_code == 200
        await app.sessions.end_all("the flood is over")


async def test_a_flood_of_modern_requests_is_refused_and_leaves_nothing() -> None:
    server = chatty(MODERN)
    app = asgi_app(server, chatty(REVISION), limits=HttpLimits(max_requests=100, max_streams=200))
    async with healthy(app) as url, httpx2.AsyncClient(base_url=url, transport=Hasty()) as http:
        client, simple, called = await begin_with(MODERN, http)
        floods = [client.post(called("echo", text="x", delay=0.05)) for _ in range(scaled(1_000, 30_000))]
        assert {answer.status_code for answer in await asyncio.gather(*floods)} == {200, 503}
        listen = asked("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        ears = [asyncio.create_task(client.post(listen)) for _ in range(200)]
        await eventually(lambda: sum(ear.done() for ear in ears) == 100)
        assert {ear.result().status_code for ear in ears if ear.done()} == {503}
        async with asyncio.timeout(30):  # Those that are not refused are not all listening yet.
            while await list_changed(server, "tools") < 100:
                await asyncio.sleep(0.01)
        for ear in ears:
            ear.cancel()
        await asyncio.gather(*ears, return_exceptions=True)
        assert (await client.post(simple())).status_code == 200


def servers() -> tuple[Any, Any]:
    """Return a server of each era."""
    return chatty(MODERN), chatty(REVISION)


def post(client: RawClient, message: Any) -> bytes:
    """Write a POST as bytes."""
    body = json.dumps(message).encode()
    headers = {
        **{"host": "localhost", "content-type": "application/json", "content-length": str(len(body))},
        **BOTH,
        **(headers_for(message) if isinstance(client, ModernClient) else client.session),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body


async def slowly(url: str, text: bytes) -> bytes:
    """Send a request without its last byte; returns the first line of the response."""
    reader, writer = await connect(url)
    writer.write(text[:-1])
    try:
        return await asyncio.wait_for(reader.readline(), 60)
    finally:
        writer.transport.abort()


async def deaf_client(url: str, text: bytes) -> bytes:
    """Ask for a long response and never read it."""
    _, writer = await connect(url)
    writer.write(text)
    await asyncio.sleep(3)
    writer.transport.abort()
    return b""
