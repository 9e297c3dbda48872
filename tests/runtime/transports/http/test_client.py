"""A client over HTTP: what it receives, which failures it survives, and its errors for the others."""

import asyncio
import gc
import json
import ssl
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from mcp_bindings import v2025_11_25
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.errors import ConnectionClosed, RequestTimeout
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.transports.http import HttpLimits, MemoryEventStore, asgi_app, connect_http
from mcp_runtime.core.transports.http.client import streamable
from support.cut_off import Talk, answers_tea, open_talk
from support.http import served
from support.http_server import chatty
from support.stdio_peers import eventually
from support.talk import bindings

NEWEST = "2025-11-25"
HTTP_REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
NEWEST_FIRST = (*(pytest.param(revision, marks=pytest.mark.slow) for revision in HTTP_REVISIONS[:-1]), NEWEST)
"""The revisions for tests that take time, of which the quick tier runs the newest."""
QUICK = HttpLimits(stream_after=0.02, retry=0.05)


def opened(revision: str, *, limits: HttpLimits = QUICK, resumable: bool = True) -> AbstractAsyncContextManager[Talk]:
    events = MemoryEventStore() if resumable else None
    return open_talk(revision, partial(asgi_app, limits=limits, events=events), lambda url: connect_http(f"{url}/mcp"))


@pytest.mark.slow
async def test_certificates_are_read_once_for_all_connections() -> None:
    async with connect_http("http://127.0.0.1:1/mcp"):
        before = contexts()
        async with connect_http("http://127.0.0.1:1/mcp"), connect_http("https://127.0.0.1:1/mcp"):
            assert contexts() == before


def contexts() -> int:
    return sum(isinstance(found, ssl.SSLContext) for found in gc.get_objects())


async def test_what_needs_no_answer_shares_connections() -> None:
    async with opened(NEWEST) as talk:
        for _ in range(20):
            assert await talk.call("ask") == "tea"
        assert talk.proxy.accepted < 6


@pytest.mark.slow
async def test_a_connection_is_given_up_before_servers_close_it() -> None:
    async with opened(NEWEST) as talk:
        assert await talk.call("echo", text="tea") == "tea"
        before = talk.proxy.accepted
        await asyncio.sleep(4.2)
        assert await talk.call("echo", text="tea") == "tea"
        assert talk.proxy.accepted > before


async def test_all_kinds_of_answers() -> None:
    async with opened(NEWEST) as talk:
        assert await talk.call("echo", text="json") == "json"
        assert await talk.call("echo", text="events", delay=0.1) == "events"
        assert await talk.call("log", count=50) == "logged"
        assert await talk.call("log", size=3 << 20) == "logged", "an event may be as large as a message"
        assert await talk.call("ask") == "tea"
        await talk.client.ping()
        assert await asyncio.gather(*(talk.call("echo", text=str(n)) for n in range(64))) == [str(n) for n in range(64)]
    await eventually(lambda: len(talk.app.sessions) == 0)


async def test_what_belongs_to_no_request_is_listened_to() -> None:
    async with opened(NEWEST) as talk:
        package = bindings(NEWEST)
        method = package.METHODS["notifications/tools/list_changed"]
        changes = talk.client.connection.notifications(method)
        await talk.client.ping()  # it is opened after the handshake
        for _ in range(3):
            await list_changed(talk.server, "tools")
            await changes.next(30)
            await asyncio.sleep(0.1)
            talk.proxy.cut()


@pytest.mark.parametrize("revision", NEWEST_FIRST)
@pytest.mark.requirement("http.resume")
async def test_a_cut_stream_is_resumed(revision: str) -> None:
    async with opened(revision) as talk:
        logs = talk.client.connection.notifications(bindings(revision).METHODS["notifications/message"])
        waiting = asyncio.create_task(talk.call("log_and_wait"))
        await logs.next(30)
        for _ in range(3):
            talk.proxy.cut()
            await asyncio.sleep(0.2)
        talk.server.gate.set()
        assert await waiting == "waited"
        assert talk.server.ended == []


@pytest.mark.requirement("http.stream-polled", "http.retry")
async def test_a_stream_that_the_server_closes_early_is_polled_after_the_retry_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(streamable, "RETRY", 0.05)

    def polled(server: Any) -> Any:
        app = asgi_app(server, limits=HttpLimits(stream_after=0.02, retry=0.6), events=MemoryEventStore())

        async def front(scope: Any, receive: Any, send: Any) -> None:
            if b"last-event-id" in dict(scope.get("headers", ())):
                server.gate.set()
            await app(scope, receive, send)

        return front

    async with open_talk(NEWEST, polled, lambda url: connect_http(f"{url}/mcp")) as talk:
        begun = time.monotonic()
        assert await talk.call("close") == "closed"
        assert time.monotonic() - begun > 0.6


async def test_a_stream_that_cannot_be_resumed_fails_its_call_only() -> None:
    async with opened(NEWEST, resumable=False) as talk:
        waiting = asyncio.create_task(talk.call("wait"))
        await talk.server.begun.wait()
        await asyncio.sleep(0.1)
        talk.proxy.cut()
        with pytest.raises(ConnectionClosed):
            await waiting
        assert await talk.call("echo", text="on") == "on"


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.session-again")
async def test_a_new_session_takes_the_place_of_one_that_is_gone(revision: str) -> None:
    async with opened(revision) as talk:
        package = bindings(revision)
        await talk.client.subscribe(uri="test://tea")
        await talk.client.set_level(level="warning")
        await talk.app.sessions.end_all("restarted")
        results = await asyncio.gather(*(talk.call("echo", text=str(n)) for n in range(8)))
        assert results == [str(n) for n in range(8)]
        assert len(talk.app.sessions) == 1
        await eventually(lambda: talk.server.seen == ["test://tea", "test://tea"])
        updates = talk.client.connection.notifications(package.METHODS["notifications/resources/updated"])
        await resource_updated(talk.server, "test://tea")
        assert (await updates.next(30)).uri == "test://tea"


async def test_a_session_that_ends_during_a_call_is_not_called_twice() -> None:
    async with opened(NEWEST) as talk:
        logs = talk.client.connection.notifications(bindings(NEWEST).METHODS["notifications/message"])
        waiting = asyncio.create_task(talk.call("log_and_wait"))
        await logs.next(30)
        await talk.app.sessions.end_all("restarted")
        with pytest.raises(ConnectionClosed, match="session ended before the request was answered"):
            await waiting
        assert await talk.call("echo", text="on") == "on"
        assert len(talk.server.ended) == 1


@pytest.mark.requirement("http.disconnect-no-cancel")
async def test_a_cancelled_call_is_told_to_the_server() -> None:
    async with opened(NEWEST) as talk:
        while not talk.server.begun.is_set():
            # On a busy machine the server has perhaps not received it in time.
            with pytest.raises(RequestTimeout):
                await talk.call("wait", CallOptions(timeout=0.5))
        await eventually(lambda: "no answer within 0.5 s" in talk.server.ended)
        logs = talk.client.connection.notifications(bindings(NEWEST).METHODS["notifications/message"])
        waiting = asyncio.create_task(talk.call("log_and_wait"))
        await logs.next(30)
        waiting.cancel("tea is ready")
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await eventually(lambda: "tea is ready" in talk.server.ended)
        assert await talk.call("echo", text="on") == "on"


Answer: TypeAlias = Callable[[Request], Response]


def answering(answer: Answer | Response) -> Starlette:
    async def endpoint(request: Request) -> Response:
        return answer if isinstance(answer, Response) else answer(request)

    return Starlette(routes=[Route("/{path:path}", endpoint, methods=["GET", "POST", "DELETE"])])


ANSWERS: dict[str, tuple[Response, str]] = {
    "an error": (PlainTextResponse("secret", 500), "answered 500 Internal Server Error"),
    "who are you": (Response(status_code=401), "answered 401 Unauthorized"),
    "another error": (
        Response('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no tea"}}', 400),
        "answered 400 Bad Request: no tea",
    ),
    "a page": (PlainTextResponse("<html>"), "did not answer initialize"),
    "nothing": (Response(status_code=202), "did not answer initialize"),
    "a large answer": (PlainTextResponse("x" * 200_000), "more than 100,000 bytes"),
    "a large event": (
        Response("data: " + "x" * 200_000 + "\n\n", media_type="text/event-stream"),
        "exceeded the 100000 byte limit",
    ),
    "an empty stream": (Response("", media_type="text/event-stream"), "did not answer initialize"),
    "a strange session": (
        Response("{}", headers={"mcp-session-id": "a b"}),
        "a session id that is not visible ASCII",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_server_that_is_none(name: str) -> None:
    answer, said = ANSWERS[name]
    async with served(answering(answer)) as url:
        secret = url.replace("://", "://ann:s3cret@") + "/mcp?key=s3cret"
        async with connect_http(secret, max_message_bytes=100_000) as peer:
            with pytest.raises(ConnectionClosed, match=said) as failed:
                await v2025_11_25.Client.open(peer)
        assert "s3cret" not in str(failed.value)


async def test_a_port_without_a_listener() -> None:
    async with connect_http("http://127.0.0.1:9/mcp") as peer:
        with pytest.raises(ConnectionClosed, match=r"http://127\.0\.0\.1:9/mcp: .*"):
            await v2025_11_25.Client.open(peer)


async def test_a_slow_server_meets_a_timeout() -> None:
    gate = asyncio.Event()

    async def endpoint(request: Request) -> Response:
        await gate.wait()
        return Response()

    app = Starlette(routes=[Route("/mcp", endpoint, methods=["POST"])])
    async with served(app) as url, connect_http(f"{url}/mcp", read_timeout=0.3) as peer:
        with pytest.raises(ConnectionClosed, match="ReadTimeout"):
            await v2025_11_25.Client.open(peer)
        gate.set()


@pytest.mark.parametrize("status", [302, 308])
async def test_no_redirect_leads_to_another_origin(status: int) -> None:
    got: list[Request] = []

    def note(request: Request) -> Response:
        got.append(request)
        return Response()

    async with served(answering(note)) as elsewhere:
        redirecting = answering(RedirectResponse(f"{elsewhere}/mcp?token=s3cret", status))
        async with served(redirecting) as url, connect_http(url, headers={"authorization": "s3cret"}) as peer:
            with pytest.raises(ConnectionClosed, match="requests are not sent to other origins") as failed:
                await v2025_11_25.Client.open(peer)
    assert got == [] and "s3cret" not in str(failed.value)


async def test_a_redirect_within_the_origin_is_followed() -> None:
    app = answering(RedirectResponse("/mcp", 307))
    endpoint = asgi_app(chatty(NEWEST))
    app.router.routes.insert(0, Route("/mcp", endpoint))
    async with served(app) as url, connect_http(f"{url}/old") as peer:
        client = await v2025_11_25.Client.open(peer)
        assert (await client.list_tools()).tools == []


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement("http.post-each", "http.post-accept", "http.post-body", "http.get-accept")
@pytest.mark.requirement("http.session-id-sent", "http.session-delete")
async def test_each_message_is_a_request_of_its_own(revision: str) -> None:
    async with recording(revision) as (client, requests):
        await asyncio.gather(client.ping(), client.call_tool(name="ask"), client.call_tool(name="echo"))
        await eventually(lambda: any(one.method == "GET" for one in requests))
    posts = [one for one in requests if one.method == "POST"]
    # The handshake, three requests, and an answer.
    assert sorted(one.message.get("method", "answer") for one in posts) == [
        *("answer", "initialize", "notifications/initialized", "ping", "tools/call", "tools/call")
    ]
    assert all(one.headers["accept"] == "application/json, text/event-stream" for one in posts)
    assert {one.headers["accept"] for one in requests if one.method == "GET"} == {"text/event-stream"}
    first, *others = requests
    assert "mcp-session-id" not in first.headers
    assert len({one.headers["mcp-session-id"] for one in others}) == 1
    assert [one.method for one in requests].count("DELETE") == 1


@pytest.mark.parametrize("revision", HTTP_REVISIONS[1:])
@pytest.mark.requirement("http.version-header", "http.version-header-negotiated")
async def test_requests_name_the_revision_that_was_agreed_upon(revision: str) -> None:
    async with recording(revision) as (client, requests):
        await client.ping()
    first, *others = requests
    assert "mcp-protocol-version" not in first.headers
    assert {one.headers["mcp-protocol-version"] for one in others} == {revision}


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as the server received it."""

    method: str
    headers: httpx2.Headers
    message: Any


@asynccontextmanager
async def recording(revision: str) -> AsyncGenerator[tuple[Any, list[Recorded]]]:
    """Connect to a server, and record the requests."""
    endpoint, requests, package = asgi_app(chatty(revision), limits=QUICK), list[Recorded](), bindings(revision)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await endpoint(scope, receive, send)
            return
        first = await receive()
        message = json.loads(first["body"]) if first.get("body") else None
        requests.append(Recorded(scope["method"], httpx2.Headers(scope["headers"]), message))
        parts = [first]

        async def again() -> Any:
            return parts.pop() if parts else await receive()

        await endpoint(scope, again, send)

    async with served(app) as url, connect_http(url) as peer:
        yield await package.Client.open(peer, handlers=answers_tea(package)), requests


async def test_headers_and_authentication_go_with_every_request() -> None:
    seen: list[tuple[str, str | None, str | None, str | None]] = []
    endpoint = asgi_app(chatty(NEWEST))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = httpx2.Headers(scope["headers"])
            found = (headers.get("x-tenant"), headers.get("authorization"), headers.get("mcp-protocol-version"))
            seen.append((scope["method"], *found))
        await endpoint(scope, receive, send)

    async with served(app) as url, connect_http(url, headers={"x-tenant": "tea"}, auth=("ann", "pw")) as peer:
        client = await v2025_11_25.Client.open(peer)
        await client.ping()
        await eventually(lambda: len(seen) >= 4)
    basic = "Basic YW5uOnB3"
    assert seen[0] == ("POST", "tea", basic, None)
    assert sorted(seen[1:]) == [(m, "tea", basic, NEWEST) for m in ("DELETE", "GET", "POST", "POST")]


@pytest.mark.parametrize("url", ["ftp://example.com", "http://"])
async def test_what_is_not_a_url(url: str) -> None:
    with pytest.raises(ValueError, match="http://"):
        async with connect_http(url):
            pass


async def test_what_cannot_be_sent_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="the header 'X-Tenant' has characters"):
        async with connect_http("http://localhost/mcp", headers={"X-Tenant": "T\u00e9e"}):
            pass
    with pytest.raises(ValueError, match="99999 is not a port"):
        async with connect_http("http://localhost:99999/mcp"):
            pass
