"""Unread data is bounded per client and in total."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from mcp_runtime.core.changes.subscriptions import resource_updated
from mcp_runtime.core.transports.http import HttpLimits, asgi_app
from support.http import BOTH, RawClient, call, events_of, raw_client, request
from support.http_modern import MODERN, begin_with
from support.http_server import chatty
from support.unread import MB, read_all, unread

NEWEST = "2025-11-25"
REVISIONS = (NEWEST, MODERN)
LARGE = 12 * MB
"""More than the sockets of a connection hold."""


async def status_of(reader: asyncio.StreamReader) -> int:
    async with asyncio.timeout(30):
        return int((await reader.readline()).split()[1])


async def settled(app: Any, size: int) -> None:
    async with asyncio.timeout(30):
        while app.sessions.shared.unread.used != size:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("revision", REVISIONS)
async def test_answers_that_nobody_reads_are_bounded_in_all(revision: str) -> None:
    app = asgi_app(chatty(revision), limits=HttpLimits(max_unread_total=6 * LARGE))
    async with raw_client(app) as client, AsyncExitStack() as stack:
        one, _, call = await begin_with(revision, client.http)
        other, _, _ = await begin_with(revision, client.http)
        readers = [
            await stack.enter_async_context(unread(who, call("large", number, size=LARGE)))
            for number, who in enumerate((one, one, other, other))
        ]
        statuses = [await status_of(reader) for reader in readers]
        assert sorted(statuses) == [200, 200, 503, 503], "there is room for slightly more than two responses"
        assert 2 * LARGE < app.sessions.shared.unread.used <= 3 * LARGE
        assert (await other.post(call("echo", text="small"))).status_code == 200
        assert (await other.post(call("large", size=2 * LARGE))).status_code == 503
        await stack.aclose()
        await settled(app, 0)
        read = await other.post(call("large", size=LARGE))
        assert len(read.json()["result"]["content"][0]["text"]) == LARGE


@pytest.mark.parametrize(("tool", "revision"), [("large", NEWEST), ("log", MODERN)])
async def test_an_answer_that_is_not_read_in_time_is_cut(tool: str, revision: str) -> None:
    arguments = {"size": LARGE} | ({"count": 1} if tool == "log" else {})
    app = asgi_app(chatty(revision), limits=HttpLimits(write_timeout=0.3))
    async with raw_client(app) as first:
        client, simple, call = await begin_with(revision, first.http)
        async with unread(client, call(tool, **arguments)) as reader:
            assert await status_of(reader) == 200
            await asyncio.sleep(1)
            await settled(app, 0)
            assert await read_all(reader) < LARGE, "the connection ended during the response"
        assert (await client.post(simple())).status_code == 200


async def test_a_stream_is_cut_when_there_is_too_much_in_all() -> None:
    app = asgi_app(chatty(MODERN), limits=HttpLimits(max_unread_total=300_000))
    async with raw_client(app) as raw:
        client, _, call = await begin_with(MODERN, raw.http)
        logs = [call("log", number, count=200, size=100_000) for number in range(2)]
        async with unread(client, logs[0]) as first, unread(client, logs[1]) as second:
            await asyncio.sleep(1.5)
            sizes = await asyncio.gather(read_all(first), read_all(second))
            assert min(sizes) < 200 * 100_000 < max(sizes), "there is room for one of them"
        await settled(app, 0)


async def test_what_waits_for_clients_that_do_not_listen_is_bounded_in_all() -> None:
    server = chatty(NEWEST)
    app = asgi_app(server, limits=HttpLimits(max_unread_total=40_000))
    uri = "test://" + "x" * 1000
    async with raw_client(app) as client:
        clients = [RawClient(client.http) for _ in range(3)]
        for one in clients:
            await one.shake_hands(NEWEST)
            await one.ask("resources/subscribe", {"uri": uri})
        for _ in range(50):
            await resource_updated(server, uri)
        await asyncio.sleep(0.1)
        assert 15_000 < app.sessions.shared.unread.used <= 21_000 + 3 * 1100
        async with clients[0].stream() as common:
            assert (await common.message())["params"]["uri"] == uri, "the newest messages are kept"
        for one in clients:
            assert (await one.http.delete("/mcp", headers=one.session)).status_code == 204
        await settled(app, 0)


@pytest.mark.parametrize("method", ["ping", "notifications/initialized", "nonsense", ""])
async def test_an_answer_of_any_size_is_not_waited_for_forever(method: str) -> None:
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(write_timeout=0.05), stateless=True)
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method} if method.startswith("n") else request(method)

    async def send(_: Any) -> None:
        await asyncio.Event().wait()

    async with asyncio.timeout(60):
        await ask(app, send, {"mcp-protocol-version": NEWEST}, json.dumps(message).encode() if method else b"nonsense")
    assert not app.is_busy


@pytest.mark.parametrize("is_resumed", [False, True])
async def test_an_answer_in_pieces_lets_the_server_notice_that_its_client_is_gone(is_resumed: bool) -> None:
    app, sent, sent_before = asgi_app(chatty(NEWEST)), list[Any](), list[int]()

    async def send(message: Any) -> None:
        sent.append(message)
        if len(sent) == 2:
            asyncio.get_running_loop().call_soon(lambda: sent_before.append(len(sent)))

    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        if is_resumed:
            logged = events_of((await client.post(call("log", count=40, size=32_000))).text)
            await ask(app, send, {**client.session, "last-event-id": logged[0]["id"]})
        else:
            await ask(app, send, client.session, json.dumps(call("large", size=MB)).encode())
    assert len(sent) > 10
    assert sent_before[0] < 4


async def ask(app: Any, send: Any, headers: Mapping[str, str], body: bytes = b"") -> None:
    """Post a body to an application without a network; without a body, get a stream."""
    waiting = [{"type": "http.request", "body": body}]

    async def receive() -> Any:
        return waiting.pop() if waiting else await asyncio.Event().wait()

    all_headers = {**BOTH, "host": "localhost", "content-type": "application/json", **headers}
    raw = [(name.encode(), value.encode()) for name, value in all_headers.items()]
    await app({"type": "http", "method": "POST" if body else "GET", "path": "/mcp", "headers": raw}, receive, send)
