"""A client over HTTP retries when a server is busy, or restarts behind a proxy, but not forever."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.responses import Response, StreamingResponse

from mcp_bindings import v2025_11_25
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import HttpLimits, asgi_app, connect_http
from mcp_runtime.core.transports.http.client import streamable
from support.cutting import cutting
from support.http import served
from support.http_server import chatty
from support.stdio_peers import eventually

QUICK = HttpLimits(stream_after=0.02, retry=0.05)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_server_that_is_away_for_a_moment_is_come_back_to(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable, "RETRY", 0.05)
    server = chatty("2025-11-25")
    endpoint, refused = asgi_app(server, limits=QUICK), 0

    async def front(scope: Any, receive: Any, send: Any) -> None:
        nonlocal refused
        if is_away and scope["type"] == "http" and scope["method"] == "GET":
            refused += 1
            await Response(status_code=status)(scope, receive, send)
        else:
            await endpoint(scope, receive, send)

    is_away = False
    async with served(front) as url, cutting(url) as proxy, connect_http(f"{proxy.url}/mcp") as peer:
        client = await v2025_11_25.Client.open(peer, options=ClientOptions(timeout=60))
        changes = client.connection.notifications(methods.NOTIFICATIONS_TOOLS_LIST_CHANGED)
        logs = client.connection.notifications(methods.NOTIFICATIONS_MESSAGE)
        waiting = asyncio.create_task(client.call_tool(name="log_and_wait"))
        await logs.next(30)
        is_away = True
        proxy.cut()
        await eventually(lambda: refused > 3)
        is_away = False
        server.gate.set()
        assert isinstance(text := (await waiting).content[0], v2025_11_25.TextContent) and text.text == "waited"
        await list_changed(server, "tools")
        await changes.next(30)


async def test_a_stream_that_is_cut_after_its_answer_is_not_resumed() -> None:
    endpoint, resumed = asgi_app(chatty("2025-11-25"), limits=QUICK), list[bytes]()

    async def front(scope: Any, receive: Any, send: Any) -> None:
        async def send_all_but_the_end(message: Any) -> None:
            await send({**message, "more_body": True} if is_call else message)

        headers = dict(scope.get("headers", ()))
        is_call = is_open and scope["method"] == "POST"
        resumed.extend(value for name, value in headers.items() if name == b"last-event-id")
        await endpoint(scope, receive, send_all_but_the_end)

    is_open = False
    async with served(front) as url, connect_http(url, close_timeout=0.1) as peer:
        client = await v2025_11_25.Client.open(peer, options=ClientOptions(timeout=60))
        is_open = True
        await client.call_tool(name="log", arguments={"count": 2})
        await asyncio.sleep(0.3)
        is_open = False
    assert resumed == []


async def test_a_server_that_never_begins_another_session_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamable, "RENEW_TIMEOUT", 0.3)
    endpoint = asgi_app(chatty("2025-11-25"))

    async def comments() -> AsyncGenerator[bytes]:
        while True:
            yield b":\n\n"
            await asyncio.sleep(0.05)

    async def front(scope: Any, receive: Any, send: Any) -> None:
        if is_stuck and scope["method"] == "POST" and b"mcp-session-id" not in dict(scope["headers"]):
            await StreamingResponse(comments(), media_type="text/event-stream")(scope, receive, send)
        else:
            await endpoint(scope, receive, send)

    is_stuck = False
    async with served(front) as url, connect_http(url, close_timeout=0.1) as peer:
        client = await v2025_11_25.Client.open(peer, options=ClientOptions(timeout=60))
        is_stuck = True
        await endpoint.sessions.end_all("the server was restarted")
        with pytest.raises(ConnectionClosed, match=r"did not begin another one within 0\.3 s"):
            await client.ping()


async def test_a_server_that_forgets_each_session_is_not_asked_for_sessions_forever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(streamable, "RETRY", 0.01)
    endpoint, begun = asgi_app(chatty("2025-11-25")), 0

    async def front(scope: Any, receive: Any, send: Any) -> None:
        nonlocal begun
        if scope["type"] == "http" and scope["method"] == "GET":
            await Response(status_code=404)(scope, receive, send)
            return
        begun += b"mcp-session-id" not in dict(scope["headers"])
        await endpoint(scope, receive, send)

    async with served(front, lifespan="off") as url, connect_http(url) as peer:
        client = await v2025_11_25.Client.open(peer)
        await eventually(lambda: "the stream for messages from the server cannot be opened" in caplog.text)
        assert begun == 1 + streamable.MAX_FAILURES
        await client.ping()
