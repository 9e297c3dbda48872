"""A server over HTTP+SSE: what its clients receive, and what they are refused."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

from mcp_bindings import v2026_07_28
from mcp_runtime.core.transports.http import HttpLimits
from mcp_runtime.web_server import sse_app
from support.http import browser, call, hello, raw_client, request, served
from support.http_server import chatty
from support.own import own
from support.sse import sse_client, sse_stream
from support.stdio_peers import eventually
from support.talk import LEGACY

NEWEST = "2025-11-25"
PING = request("ping")


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.requirement("http.sse-endpoints", "http.sse-endpoint-event")
async def test_a_session_from_its_beginning_to_its_end(revision: str) -> None:
    app = sse_app(*map(chatty, LEGACY))
    async with served(app) as url, browser(url) as http:
        async with sse_stream(http) as client:
            path, _, id_ = client.endpoint.partition("?session_id=")
            assert path == "/sse" and len(id_) == 32 and id_.isalnum()
            assert client.stream.response.headers["content-type"] == "text/event-stream"
            assert (await client.shake_hands(revision))["result"]["protocolVersion"] == revision
            taken = await client.post(call("echo", text="hello"))
            assert (taken.status_code, taken.content) == (202, b"")
            event = await client.stream.event()
            assert event is not None and event.event == "message" and "hello" in event.data
        await eventually(lambda: not app.sessions)
        gone = await client.post(PING)
        assert (gone.status_code, gone.json()["error"]["message"]) == (
            404,
            "there is no such session; open a new stream",
        )


async def test_a_revision_that_is_not_spoken_is_answered_with_the_newest() -> None:
    async with sse_client(sse_app(*map(chatty, LEGACY))) as client:
        assert (await client.shake_hands("2099-01-01"))["result"]["protocolVersion"] == NEWEST


def test_a_server_of_the_modern_era_has_no_handshake() -> None:
    class Modern(v2026_07_28.Server): ...

    with pytest.raises(ValueError, match="none of these servers speaks one"):
        sse_app(own(Modern()))
    sse_app(Modern(), chatty(NEWEST))
    with pytest.raises(ValueError, match="no server"):
        sse_app()


async def test_what_the_server_asks_and_tells_leaves_by_the_stream() -> None:
    async with sse_client(sse_app(chatty(NEWEST))) as client:
        await client.shake_hands(NEWEST, sampling={})
        assert (await client.ask(call("log")))["method"] == "notifications/message"
        assert (await client.stream.message())["result"]
        question = await client.ask(call("ask", 2))
        assert question["method"] == "sampling/createMessage"
        result = {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"}
        answer = await client.ask({"jsonrpc": "2.0", "id": question["id"], "result": result})
        assert answer["result"]["content"][0]["text"] == "tea"


REFUSED: dict[str, tuple[Any, dict[str, str], int]] = {
    "no JSON": (b"{", {}, 400),
    "not a message": ({"jsonrpc": "1.0"}, {}, 400),
    "an answer to nothing": ({"jsonrpc": "2.0", "id": 7, "result": {}}, {}, 400),
    "a foreign host": (PING, {"host": "example.com"}, 403),
    "a foreign page": (PING, {"origin": "https://example.com"}, 403),
    "a large body": (call("echo", text="x" * 2000), {}, 413),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.requirement("http.origin")
async def test_refused_post(name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    body, headers, status = REFUSED[name]
    app = sse_app(chatty(NEWEST), limits=HttpLimits(max_message_bytes=1000))
    async with sse_client(app, h11_max_incomplete_event_size=100_000) as client:
        await client.shake_hands(NEWEST)
        answer = await client.post(body, **headers)
        assert answer.status_code == status and answer.json()["error"]["message"]
        id_ = client.endpoint.partition("=")[2]
        assert id_ not in answer.text and "Traceback" not in answer.text
        ours = [record for record in caplog.records if record.name.startswith(("mcp_runtime", "uvicorn"))]
        assert not [record for record in ours if id_ in record.getMessage()]
        assert (await client.post(PING)).status_code == 202
        while "result" not in (message := await client.stream.message()):
            assert message["error"]
        assert message["id"] == PING["id"]


@pytest.mark.parametrize(
    ("method", "query", "headers", "status", "allowed"),
    [
        ("GET", "", {"origin": "https://example.com"}, 403, None),
        ("GET", "", {"host": "example.com"}, 403, None),
        ("GET", "", {"accept": "application/json"}, 406, None),
        ("POST", "", {}, 405, "GET"),
        ("DELETE", "", {}, 405, "GET"),
        ("GET", "?session_id=0", {}, 405, "POST"),
        ("POST", "?session_id=", {}, 404, None),
        ("POST", f"?session_id={'0' * 32}", {}, 404, None),
        ("POST", "?session_id=%F0%00", {}, 404, None),
        ("POST", "?" + "a=1&" * 11, {}, 400, None),
    ],
)
@pytest.mark.requirement("http.origin")
async def test_refused_request(
    method: str, query: str, headers: dict[str, str], status: int, allowed: str | None
) -> None:
    async with raw_client(sse_app(chatty(NEWEST))) as client:
        sent = {"content-type": "application/json", **headers}
        answer = await client.http.request(method, f"/sse{query}", headers=sent, content=b"{}")
        assert (answer.status_code, answer.headers.get("allow")) == (status, allowed)


async def test_a_request_that_is_refused_hears_of_it_on_the_stream() -> None:
    async with sse_client(sse_app(chatty(NEWEST))) as client:
        early = await client.ask(call("echo"))
        assert (early["id"], early["error"]["code"]) == (1, -32600)
        await client.shake_hands(NEWEST)
        again = await client.ask(request("initialize", hello(NEWEST), "again"))
        assert (again["id"], again["error"]["code"]) == ("again", -32600)
        modern = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
        assert (await client.ask(request("server/discover", modern)))["error"]["code"] == -32600


async def test_a_session_is_its_principals() -> None:
    def principal(scope: Any) -> str | None:
        return dict(scope["headers"]).get(b"x-user", b"").decode() or None

    app = sse_app(chatty(NEWEST), principal=principal)
    async with (
        served(app) as url,
        browser(url) as http,
        sse_stream(http, **{"x-user": "ann", "x-tenant": "tea"}) as client,
    ):
        begin = request("initialize", {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {}})
        for headers in ({}, {"x-user": "bob"}):
            assert (await client.post(begin, **headers)).status_code == 404
        http.headers["x-user"] = "ann"
        await client.shake_hands(NEWEST)
        assert (await client.ask(call("who")))["result"]["content"][0]["text"] == f"ann tea {NEWEST}"


@pytest.mark.parametrize("limits", [HttpLimits(max_sessions=1), HttpLimits(max_streams=1)])
async def test_too_many_sessions(limits: HttpLimits) -> None:
    app = sse_app(chatty(NEWEST), limits=limits)
    async with sse_client(app) as client:
        await client.shake_hands(NEWEST)
        refused = await client.http.get("/sse")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
        await client.stream.response.aclose()
        await eventually(lambda: not app.sessions)
        async with sse_stream(client.http) as another:
            await another.shake_hands(NEWEST)


async def test_a_message_that_is_too_large_fails_its_request_alone() -> None:
    async with sse_client(sse_app(chatty(NEWEST), limits=HttpLimits(max_message_bytes=1000))) as client:
        await client.shake_hands(NEWEST)
        assert (await client.post(call("echo", "large", text="x" * 1500))).status_code == 413
        failed = await client.stream.message()
        assert failed["id"] == "large" and "1,000 bytes" in failed["error"]["message"]
        assert (await client.ask(PING))["result"] == {}


async def test_a_body_that_does_not_come() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(body_timeout=0.1))
    async with sse_client(app) as client:

        async def endless() -> AsyncGenerator[bytes]:
            yield b"{"
            await asyncio.sleep(0.3)

        answer = await client.http.post(
            client.endpoint, content=endless(), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 408


@pytest.mark.slow
async def test_posts_wait_until_the_client_has_read_enough() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(max_session_requests=1, max_message_bytes=64 << 20))
    async with sse_client(app) as client:
        await client.shake_hands(NEWEST)
        (session,) = app.sessions.values()
        session.pause_reading()
        message, sent = json.dumps(call("echo", text="x" * 30_000_000)).encode(), 0

        async def body() -> AsyncGenerator[bytes]:
            nonlocal sent
            for sent in range(0, len(message), 100_000):
                yield message[sent : sent + 100_000]

        headers = {"content-type": "application/json"}
        waiting = asyncio.create_task(client.http.post(client.endpoint, content=body(), headers=headers))
        await eventually(lambda: session.exchanges == 1)
        refused = await client.post(PING)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        await asyncio.sleep(0.1)
        assert sent < 20_000_000 and not waiting.done(), "a queued body is not read from the client"
        session.resume_reading()
        assert (await waiting).status_code == 202


async def test_too_many_posts() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(max_requests=0))
    async with sse_client(app) as client:
        assert (await client.post(PING)).status_code == 503


async def test_a_client_that_does_not_read_its_stream_loses_it() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(write_timeout=0.2))
    async with sse_client(app) as client, sse_stream(client.http) as another:
        await client.shake_hands(NEWEST)
        await another.shake_hands(NEWEST)
        for number in range(200):
            if (await client.post(call("echo", number, text="x" * 500_000))).status_code == 404:
                break
        await eventually(lambda: len(app.sessions) == 1)
        assert (await another.ask(PING))["result"] == {}


async def test_a_stream_that_is_too_far_behind_is_cut() -> None:
    server = chatty(NEWEST)
    app = sse_app(server, limits=HttpLimits(max_unread=100_000))
    async with sse_client(app) as client:
        await client.shake_hands(NEWEST)
        for number in range(100):
            assert (await client.post(call("large", number, size=200_000))).status_code in (202, 404)
        await eventually(lambda: not app.sessions)


async def test_a_handler_is_cancelled_when_the_stream_is_closed() -> None:
    server = chatty(NEWEST)
    async with sse_client(sse_app(server)) as client:
        await client.shake_hands(NEWEST)
        await client.post(call("wait"))
        await server.begun.wait()
    assert server.ended == ["the client closed the stream"]


@pytest.mark.slow
async def test_a_client_that_never_begins_is_let_go() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(session_idle=4))
    async with sse_client(app) as idle, sse_stream(idle.http) as busy:
        await busy.shake_hands(NEWEST)
        assert await idle.stream.event() is None
        await asyncio.sleep(0.5)
        assert (await busy.ask(PING))["result"] == {} and len(app.sessions) == 1


async def test_silence_is_broken_by_comments() -> None:
    app = sse_app(chatty(NEWEST), limits=HttpLimits(keepalive=0.05))
    async with served(app) as url, browser() as http, http.stream("GET", f"{url}/sse") as response:
        chunks = response.aiter_raw()
        assert (await anext(chunks)).startswith(b"event: endpoint\ndata: /sse?session_id=")
        assert await anext(chunks) == b":\n\n"


MOUNTED: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "at the root": (lambda app: app, "/", "/?"),
    "at a path with spaces": (lambda app: app, "/a b/ü", "/a%20b/%C3%BC?"),
    "at a path with a line end": (lambda app: app, "/x%0Adata:%20y", "/x%0Adata%3A%20y?"),
    "mounted": (lambda app: Starlette(routes=[Mount("/old", app)]), "/old/", "/old/?"),
    "routed": (lambda app: Starlette(routes=[Mount("/api", routes=[Route("/sse", app)])]), "/api/sse", "/api/sse?"),
}


@pytest.mark.parametrize("name", MOUNTED)
async def test_the_endpoint_is_where_the_stream_is(name: str) -> None:
    mounted, path, endpoint = MOUNTED[name]
    async with sse_client(mounted(sse_app(chatty(NEWEST))), path) as client:
        assert client.endpoint.startswith(endpoint)
        await client.shake_hands(NEWEST)


async def test_the_endpoint_is_never_at_another_host() -> None:
    async with raw_client(sse_app(chatty(NEWEST))) as client:
        url = client.http.base_url.copy_with(raw_path=b"//example.com/sse")
        async with client.http.stream("GET", url) as response:
            assert b"data: /example.com/sse?" in await anext(response.aiter_raw())


async def test_the_endpoint_behind_a_proxy_that_strips_a_prefix() -> None:
    async with sse_client(sse_app(chatty(NEWEST)), root_path="/behind") as client:
        assert client.endpoint.startswith("/behind/sse?")


async def test_the_end_of_the_server() -> None:
    app = sse_app(chatty(NEWEST))
    async with sse_client(app) as client:
        await client.shake_hands(NEWEST)
        await client.post(call("wait"))
        await eventually(lambda: app.is_busy)
        app.stop()
        assert (await client.post(PING)).status_code == 503
        assert (await client.http.get("/sse")).status_code == 503
        await app.aclose()
        assert await client.stream.message() is None
        await eventually(lambda: not app.sessions)


async def test_an_answer_is_taken_while_the_server_stops() -> None:
    app = sse_app(chatty(NEWEST))
    async with sse_client(app) as client:
        await client.shake_hands(NEWEST, sampling={})
        question = await client.ask(call("ask"))
        app.stop()
        result = {"role": "assistant", "content": {"type": "text", "text": "tea"}, "model": "m"}
        answer = await client.ask({"jsonrpc": "2.0", "id": question["id"], "result": result})
        assert answer["result"]["content"][0]["text"] == "tea"
        assert not app.is_busy
