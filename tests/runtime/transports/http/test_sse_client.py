"""A client over HTTP+SSE: what it receives, where it posts, and its errors."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from mcp_bindings import v2024_11_05
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import ConnectionClosed, RequestTimeout
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import HttpLimits, connect_sse
from mcp_runtime.web_server import sse_app
from support.cut_off import Talk, open_talk
from support.http import browser, served
from support.http_server import chatty
from support.sse_by_hand import ByHand
from support.stdio_peers import eventually
from support.talk import LEGACY, bindings

OLDEST = "2024-11-05"


def opened(revision: str = OLDEST, **options: Any) -> AbstractAsyncContextManager[Talk]:
    return open_talk(revision, sse_app, lambda url: connect_sse(f"{url}/sse", **options))


@pytest.mark.parametrize("revision", [LEGACY[0], LEGACY[-1]])
async def test_all_kinds_of_messages(revision: str) -> None:
    async with opened(revision) as talk:
        assert talk.client.connection.revision == revision
        assert await talk.call("echo", text="hello") == "hello"
        assert await talk.call("log", count=50) == "logged"
        assert await talk.call("large", size=3 << 20) == "x" * (3 << 20)
        assert await talk.call("ask") == "tea"
        await talk.client.ping()
        texts = [str(number) for number in range(64)]
        assert await asyncio.gather(*(talk.call("echo", text=text) for text in texts)) == texts
        changes = talk.client.connection.notifications(bindings(revision).METHODS["notifications/tools/list_changed"])
        await list_changed(talk.server, "tools")
        await changes.next(30)
    await eventually(lambda: not talk.app.sessions)


async def test_a_call_that_times_out_is_cancelled_at_the_server() -> None:
    async with opened() as talk:
        while not talk.server.begun.is_set():
            # On a busy machine the server has perhaps not received it in time.
            with pytest.raises(RequestTimeout):
                await talk.call("wait", CallOptions(timeout=0.1))
        await eventually(lambda: bool(talk.server.ended))
        assert await talk.call("echo", text="well") == "well"


async def test_the_end_of_the_stream_ends_every_call() -> None:
    async with opened() as talk:
        calls = [asyncio.create_task(talk.call("wait")) for _ in range(3)]
        await talk.server.begun.wait()
        talk.proxy.cut()
        for call in calls:
            with pytest.raises(ConnectionClosed, match=r"/sse"):
                await call
        with pytest.raises(ConnectionClosed, match=r"/sse"):
            await talk.client.ping()
        await eventually(lambda: not talk.app.sessions)


async def test_the_end_of_the_server_is_told_in_words() -> None:
    async with opened() as talk:
        waiting = asyncio.create_task(talk.call("wait"))
        await talk.server.begun.wait()
        await talk.app.aclose()
        with pytest.raises(ConnectionClosed, match="ended the stream, and the session with it"):
            await waiting


ENDPOINT = "event: endpoint\ndata: /messages?id=1\n\n"


@asynccontextmanager
async def talking(peer: ByHand, **options: Any) -> AsyncGenerator[Any]:
    """Connect a client to a handwritten server."""
    async with served(peer.app()) as url, connect_sse(f"{url}/a/sse", **options) as reached:
        roots = [v2024_11_05.Root(uri="file:///tea")]
        yield await v2024_11_05.Client.open(reached, options=ClientOptions(timeout=60, roots=roots))
        # Close the stream here, since uvicorn would wait for it.
        await reached.aclose()


@pytest.mark.parametrize(
    ("named", "posted"),
    [
        ("/messages?id=1", "/messages?id=1"),
        ("messages/?id=1", "/a/messages/?id=1"),
        ("?id=1", "/a/sse?id=1"),
        ("../m", "/m"),
        ("HTTP://LOCALHOST:{port}/m?a=%20b", "/m?a=%20b"),
        ("http://someone@localhost:{port}/m#here", "/m"),
        ("//localhost:{port}/m", "/m"),
    ],
)
@pytest.mark.requirement("http.sse-post")
async def test_every_message_is_posted_to_the_endpoint(named: str, posted: str) -> None:
    app = Starlette()
    async with served(app) as url:
        port = url.rpartition(":")[2]
        peer = ByHand(f"event: endpoint\ndata: {named.format(port=port)}\n\n")
        app.router.routes.extend(peer.app().routes)
        async with connect_sse(f"http://localhost:{port}/a/sse", headers={"X-Key": "k"}) as reached:
            client = await v2024_11_05.Client.open(reached)
            await client.ping()
        assert [path for path, _ in peer.posted] == [posted] * 3
        assert [message["method"] for _, message in peer.posted] == ["initialize", "notifications/initialized", "ping"]
        # A load balancer may use a cookie to find the server of a session.
        assert {(headers["x-key"], headers["cookie"]) for headers in peer.headers} == {("k", "node=3")}


async def test_a_redirect_of_the_same_origin_is_followed() -> None:
    peer = ByHand("event: endpoint\ndata: messages\n\n")

    async def moved(request: Request) -> Response:
        return RedirectResponse("/a/sse")

    app = Starlette(routes=[Route("/sse", moved), *peer.app().routes])
    async with served(app) as url, connect_sse(f"{url}/sse") as reached:
        await (await v2024_11_05.Client.open(reached)).ping()
    assert {path for path, _ in peer.posted} == {"/a/messages"}, "relative to the URL of the stream"


async def test_whatever_else_is_on_the_stream_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    peer = ByHand(": hello\n\n", "event: endpoint\r\ndata: /messages?id=1\r\n\r\n", "retry: 1\nid: 5\n\n")
    async with talking(peer) as client:
        peer.send("event: endpoint\ndata: http://example.com/\n\n")
        peer.send("event: ping\ndata: now\n\n")
        peer.send('event: message\ndata: {"jsonrpc": "2.0",\ndata: "method": "notifications/message",\n')
        peer.send('data: "params": {"level": "info", "data": "\u2028"}}\n\n')
        await client.ping()
        await client.ping()
    assert {path for path, _ in peer.posted} == {"/messages?id=1"}
    assert not [record for record in caplog.records if record.name == "mcp_runtime"]


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (404, "Could not find session", "answered 404 Not Found"),
        (503, '{"jsonrpc":"2.0","error":{"code":-32603,"message":"too busy"}}', "503 Service Unavailable: too busy"),
    ],
)
async def test_a_request_that_is_refused_fails_alone(status: int, body: str, reason: str) -> None:
    peer = ByHand(ENDPOINT)
    async with talking(peer) as client:
        peer.status, peer.body = status, body
        with pytest.raises(ConnectionClosed, match=reason):
            await client.ping()
        peer.status, peer.body = 202, "Accepted"
        await client.ping()


async def test_a_notification_that_is_refused_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    peer = ByHand(ENDPOINT)
    async with talking(peer) as client:
        peer.status = 500
        await client.connection.notify(v2024_11_05.METHODS["notifications/roots/list_changed"], None)
        await eventually(lambda: "a message was not delivered" in caplog.text)


async def test_a_cancellation_follows_its_request() -> None:
    peer = ByHand(ENDPOINT)
    peer.delays["tools/call"] = 0.3
    peer.body = "Accepted"
    async with talking(peer) as client:
        with pytest.raises(RequestTimeout):
            await client.call_tool(name="slow", options=CallOptions(timeout=0.1))
        await eventually(lambda: len(peer.posted) == 4)
    assert [message["method"] for _, message in peer.posted[2:]] == ["tools/call", "notifications/cancelled"]


@pytest.mark.slow
async def test_a_post_may_be_held_until_its_request_is_answered() -> None:
    peer = ByHand(ENDPOINT)
    peer.delays["tools/call"] = 4.9
    async with talking(peer, read_timeout=4) as client:
        waiting = asyncio.create_task(client.call_tool(name="slow"))
        for _ in range(48):
            await asyncio.sleep(0.1)
            peer.send(": still there\n\n")
        assert (await waiting).content == []


async def test_a_request_that_was_taken_outlives_the_connection_of_its_post() -> None:
    """The response to a POST is cut after its status, as when a server or a proxy restarts."""
    peer = ByHand(ENDPOINT)
    taken = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def cut(event: Any) -> None:
            if is_cutting and event["type"] == "http.response.body":
                taken.set()
                raise ConnectionResetError
            await send({**event, "headers": [(b"content-length", b"8")]} if is_cutting else event)

        await by_hand(scope, receive, cut if scope["type"] == "http" and scope["method"] == "POST" else send)

    by_hand, is_cutting = peer.app(), False
    async with served(app) as url, connect_sse(f"{url}/a/sse") as reached:
        client = await v2024_11_05.Client.open(reached, options=ClientOptions(timeout=60))
        await client.ping()
        is_cutting, peer.status = True, 200  # a status that the server never sends by itself
        waiting = asyncio.create_task(client.ping())
        await taken.wait()
        await asyncio.sleep(0.1)
        peer.answer(peer.posted[-1][1]["id"])
        await waiting
        await reached.aclose()


async def test_a_message_that_is_too_large_ends_the_connection() -> None:
    async with opened(max_message_bytes=100_000) as talk:
        with pytest.raises(ConnectionClosed, match="exceeded the 100000 byte limit"):
            await talk.call("large", size=200_000)


async def test_the_posts_of_many_calls_share_connections() -> None:
    async with opened() as talk:
        for _ in range(20):
            await talk.call("echo")
        assert talk.proxy.accepted < 6


async def test_a_client_that_reads_slowly_holds_up_the_server() -> None:
    app = sse_app(server := chatty(OLDEST), limits=HttpLimits(write_timeout=30))
    async with served(app) as url, connect_sse(f"{url}/sse") as peer:
        client = await v2024_11_05.Client.open(peer, options=ClientOptions(timeout=60))
        peer.transport.pause_reading()
        flood = asyncio.create_task(client.call_tool(name="log", arguments={"count": 40, "size": 500_000}))
        await asyncio.sleep(0.3)
        (session,) = app.sessions.values()
        assert session.shared.unread.used < 2_000_000
        ping = asyncio.create_task(client.ping())
        await asyncio.sleep(0.3)
        assert not flood.done() and not ping.done()
        peer.transport.resume_reading()
        await asyncio.gather(flood, ping)
        assert not server.ended


async def test_a_url_that_is_none() -> None:
    with pytest.raises(ValueError, match="http://"):
        async with connect_sse("ftp://example.com/sse"):
            pass


async def test_a_client_of_httpx_stays_open_and_may_be_closed_too_early(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    async with served(sse_app(chatty(OLDEST))) as url:
        async with browser() as http:
            async with connect_sse(f"{url}/sse", http=http) as peer:
                await (await v2024_11_05.Client.open(peer)).ping()
            assert not http.is_closed
        async with connect_sse(f"{url}/sse", http=http) as peer:
            with pytest.raises(ConnectionClosed, match="closed"):
                await v2024_11_05.Client.open(peer)
