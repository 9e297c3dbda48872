"""Clients without a principal are told apart by their addresses, and none takes what the others need."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest

from mcp_runtime.core.settings import ServerOptions, Suspended
from mcp_runtime.core.transports.http import HttpLimits, asgi_app
from mcp_runtime.core.transports.http.server.access import Places
from mcp_runtime.middleware.rate_limit import RateLimit
from mcp_runtime.web_server import sse_app
from support.http import BOTH, SESSION, RawClient, call, hello, request, served
from support.http_modern import MODERN, ModernClient, called, meta
from support.http_server import chatty
from support.stdio_peers import eventually

NEWEST = "2025-11-25"
PING = request("ping")
MANY, OTHER = "127.0.0.1", "127.0.0.2"


@asynccontextmanager
async def two_addresses(app: Any, class_: type[RawClient] = RawClient) -> AsyncGenerator[tuple[Any, Any]]:
    """Serve an endpoint; yield a client of it at each of two addresses."""
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(app))
        clients: list[Any] = []
        for address in (MANY, OTHER):
            transport = httpx2.AsyncHTTPTransport(local_address=address)
            http = httpx2.AsyncClient(base_url=url, timeout=60, transport=transport)
            clients.append(class_(await stack.enter_async_context(http)))
        yield clients[0], clients[1]


@asynccontextmanager
async def held_back(
    app: Any, client: RawClient, size: int, *, is_refused: bool = False
) -> AsyncGenerator[asyncio.Task[httpx2.Response]]:
    """Post a ping, of which all but the last bytes arrive until the context ends, unless it is refused."""
    body, rest = json.dumps(PING).encode().ljust(size), asyncio.Event()
    if is_refused:
        rest.set()

    async def parts() -> AsyncGenerator[bytes]:
        yield body[:-5]
        await rest.wait()
        yield body[-5:]

    arriving = app.arriving
    before, headers = arriving.size.used, {**BOTH, **client.session, "content-type": "application/json"}
    task = asyncio.create_task(client.http.post("/mcp", content=parts(), headers=headers))
    await eventually(lambda: arriving.size.used == before + size - 5 or task.done())
    try:
        yield task
    finally:
        rest.set()
        await task


async def begun(client: RawClient) -> dict[str, str] | int:
    """Begin a session that is not used; return its headers, or the status of the refusal."""
    answer = await client.ask("initialize", hello(NEWEST), **{SESSION: ""} if client.session else {})
    return {SESSION: answer.headers[SESSION]} if answer.status_code == 200 else answer.status_code


async def test_unused_sessions_make_room_for_others() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(max_sessions=6))
    async with two_addresses(app) as (client, other):
        used = RawClient(client.http)
        await used.shake_hands(NEWEST)
        unused = [await begun(client) for _ in range(4)]
        assert len(app.sessions) == 3, "half of them for one address"
        await other.shake_hands(NEWEST)
        statuses = [(await client.post(PING, **headers)).status_code for headers in unused if isinstance(headers, dict)]
        assert statuses == [404, 404, 200, 200], "the oldest ones ended"
        assert await begun(client) == 503, "all that are left are used"
        for session in (used, other):
            assert (await session.post(PING)).status_code == 200


async def test_a_full_endpoint_ends_the_oldest_unused_session_of_all() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(max_sessions=3))
    async with two_addresses(app) as (client, other):
        oldest, kept = await begun(client), await begun(client)
        assert isinstance(oldest, dict) and isinstance(kept, dict)
        await other.shake_hands(NEWEST)
        second = RawClient(other.http)
        await second.shake_hands(NEWEST)
        assert (await client.post(PING, **oldest)).status_code == 404
        assert (await client.post(PING, **kept)).status_code == 200


async def test_an_unused_session_expires_soon() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(session_unused=0.05))
    async with two_addresses(app) as (client, other):
        await begun(client)
        await other.shake_hands(NEWEST)
        await eventually(lambda: len(app.sessions) == 1)
        assert (await other.post(PING)).status_code == 200


async def test_unused_streams_of_http_sse_make_room_for_others() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(max_sessions=4))
    async with two_addresses(app) as (client, other), AsyncExitStack() as stack:
        streams = [await stack.enter_async_context(client.http.stream("GET", "/sse")) for _ in range(3)]
        assert (await stack.enter_async_context(other.http.stream("GET", "/sse"))).status_code == 200
        await eventually(lambda: len(app.sessions) == 3)
        text = "".join([part async for part in streams[0].aiter_text()])
        assert text.startswith("event: endpoint"), "it has ended"


async def test_a_body_that_does_not_arrive_takes_no_slot() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(max_requests=1, max_arriving=4))
    async with two_addresses(app) as (client, other):
        await client.shake_hands(NEWEST)
        await other.shake_hands(NEWEST)
        async with held_back(app, client, 100) as one, held_back(app, client, 100):
            assert (await client.post(PING)).status_code == 503, "half of those that arrive"
            assert (await other.post(PING)).status_code == 200
        assert one.result().status_code == 200
        assert (await client.post(PING)).status_code == 200


async def test_bodies_that_arrive_have_one_budget() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(max_message_bytes=100_000, max_arriving_bytes=400_000))
    async with two_addresses(app) as (client, other):
        await client.shake_hands(NEWEST)
        await other.shake_hands(NEWEST)
        async with held_back(app, client, 99_000), held_back(app, client, 99_000):
            async with held_back(app, client, 99_000, is_refused=True) as third:
                assert (await third).status_code == 503
                assert third.result().headers["connection"] == "close"
            async with held_back(app, other, 99_000) as fine:
                pass
            assert fine.result().status_code == 200
        assert app.arriving.size.used == 0


async def test_one_client_leaves_slots_to_others() -> None:
    server = chatty(NEWEST)
    app = asgi_app(server, limits=HttpLimits(max_requests=2, max_streams=2, stream_after=0.01))
    async with two_addresses(app) as (client, other):
        await client.shake_hands(NEWEST)
        await other.shake_hands(NEWEST)
        async with client.stream(call("wait")), client.stream():
            assert (await client.post(PING)).status_code == 503
            assert (await client.http.get("/mcp", headers=client.session | BOTH)).status_code == 503
            assert (await other.post(PING)).status_code == 200
            async with other.stream() as common:
                assert common.response.status_code == 200
            server.gate.set()


async def test_one_client_leaves_answers_to_others() -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(max_unread_total=400_000))
    async with two_addresses(app) as (client, other):
        for each in (client, other):
            await each.shake_hands(NEWEST)
        app.sessions.shared.unread.add(MANY, 150_000)
        assert (await client.post(call("large", size=100_000))).status_code == 503
        assert (await other.post(call("large", size=100_000))).status_code == 200


async def test_one_client_leaves_questions_to_others() -> None:
    server = chatty(MODERN)
    server.options = ServerOptions(inputs=Suspended(per_peer=1))
    app = asgi_app(server)
    asks = called("ask", said=meta(sampling={}))
    async with two_addresses(app, ModernClient) as (client, other):
        states = [(await each.post(asks)).json()["result"]["requestState"] for each in (client, other, client)]

        async def code(client: ModernClient, state: str) -> Any:
            retry = {**asks, "params": {**asks["params"], "requestState": state}}
            answer = await client.post(retry)
            return answer.json().get("error", {}).get("code")

        assert [await code(client, states[0]), await code(other, states[1])] == [-32602, None]


async def test_one_client_leaves_a_rate_to_others() -> None:
    server = chatty(MODERN)
    server.options = ServerOptions(middleware=(RateLimit(rate=0.001, methods=["tools/call"]),))
    async with two_addresses(asgi_app(server), ModernClient) as (client, other):
        answers = [(await each.post(called("echo"))).json() for each in (client, client, other)]
        assert [answer.get("error", {}).get("code") for answer in answers] == [None, 429, None]


FORWARDED: dict[tuple[str | None, str], str | None] = {
    ("192.0.2.7", "198.51.100.1"): "192.0.2.7",
    ("10.0.0.1", ""): "10.0.0.1",
    ("10.0.0.1", "198.51.100.1"): "198.51.100.1",
    ("10.0.0.1", "203.0.113.9, 198.51.100.1"): "198.51.100.1",
    ("10.0.0.1", "203.0.113.9,198.51.100.1 , 10.0.0.2"): "198.51.100.1",
    ("10.0.0.1", "198.51.100.1:4711"): "198.51.100.1",
    ("10.0.0.1", "2001:db8:1:2:3::4"): "2001:db8:1:2::/64",
    ("10.0.0.1", "[2001:db8:1:2::5]:443"): "2001:db8:1:2::/64",
    ("2001:db8:1:2:ffff::1", ""): "2001:db8:1:2::/64",
    ("::ffff:192.0.2.7", ""): "192.0.2.7",
    ("fe80::1%eth0", ""): "fe80::/64",
    (None, "198.51.100.1"): None,
}


@pytest.mark.parametrize(("client", "passed"), FORWARDED)
def test_the_address_of_a_client(client: str | None, passed: str) -> None:
    places = Places.of(None, (), ["10.0.0.1", "10.0.0.2"])
    headers = {b"x-forwarded-for": passed.encode()} if passed else {}
    assert places.address(headers, client) == FORWARDED[client, passed]
