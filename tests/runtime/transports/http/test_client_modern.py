"""A client of the modern era over HTTP: what it sends and receives, and how each call ends."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import ConnectionClosed, PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.core.transports.http.client.endpoint import HttpClientOptions
from support.modern_endpoint import MODERN, Answer, Endpoint, Posted, listed, modern_endpoint, text
from support.own import OWN
from support.stdio_peers import eventually

QUICK = CallOptions(timeout=0.6)


@asynccontextmanager
async def opened(
    *, connecting: HttpClientOptions | None = None, **answers: Answer
) -> AsyncGenerator[tuple[v.Client, Endpoint]]:
    async with (
        modern_endpoint(**answers) as endpoint,
        connect_http(endpoint.url, **(connecting or HttpClientOptions())) as peer,
    ):
        yield await v.Client.open(peer, options=ClientOptions(timeout=60)), endpoint


def said(result: v.CallToolResult) -> str:
    [block] = result.content
    assert isinstance(block, v.TextContent)
    return block.text


def progress(token: Any, done: float) -> dict[str, Any]:
    params = {"progressToken": token, "progress": done}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


@pytest.mark.requirement("posting.post-each", "posting.accept", "posting.headers", "posting.name-encoded")
async def test_each_request_is_a_post_that_says_what_it_is() -> None:
    def tools(posted: Posted) -> Response:
        return JSONResponse(posted.result(**listed()), headers={"mcp-session-id": "s3"})

    answers: dict[str, Answer] = {
        "tools__list": tools,
        "tools__call": lambda _: text("tea"),
        "resources__read": lambda _: {"contents": [], "ttlMs": 0, "cacheScope": "private"},
        "prompts__get": lambda _: {"messages": []},
    }
    mine: Mapping[str, str] = {"X-Tenant": "tea", "Mcp-Method": "tools/list", "ACCEPT": "text/html"}
    async with opened(connecting={"headers": mine}, **answers) as (client, endpoint):
        await client.list_tools()
        await client.call_tool(name="brew")
        await client.read_resource(uri="file:///grüner tee")
        await client.get_prompt(name=" padded ")
    assert [(one.headers.get("mcp-method"), one.headers.get("mcp-name")) for one in endpoint.posted] == [
        ("server/discover", None),
        ("tools/list", None),
        ("tools/call", "brew"),
        ("resources/read", "=?base64?ZmlsZTovLy9ncsO8bmVyIHRlZQ==?="),
        ("prompts/get", "=?base64?IHBhZGRlZCA=?="),
    ]
    for one in endpoint.posted:
        assert one.verb == "POST" and one.headers["mcp-method"] == one.method
        assert one.headers.get_list("mcp-method") == [one.method], "a custom header does not override it"
        assert one.headers["mcp-protocol-version"] == MODERN
        assert one.message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN
        assert one.headers["accept"] == "application/json, text/event-stream"
        assert one.headers["content-type"] == "application/json" and one.headers["x-tenant"] == "tea"
        assert "mcp-session-id" not in one.headers and "last-event-id" not in one.headers


@pytest.mark.requirement("posting.both-answers", "posting.comments")
async def test_answers_as_json_and_as_streams() -> None:
    def call(posted: Posted) -> Any:
        if posted.params["name"] == "json":
            return text("json")
        token = posted.message["params"]["_meta"]["progressToken"]
        noise = ": comment\r\n\r\n", "data:\n\n", "event: other\nid: 7\nretry: 1\ndata:\n\n"
        return endpoint.stream(
            posted, *noise, progress(token, 1), *noise, progress(token, 2), posted.result(**text("stream"))
        )

    steps: list[float] = []
    async with opened(tools__call=call) as (client, endpoint):
        assert said(await client.call_tool(name="json")) == "json"

        def note(done: float, total: float | None, message: str | None) -> None:
            steps.append(done)

        assert said(await client.call_tool(name="stream", options=CallOptions(progress=note))) == "stream"
    assert steps == [1, 2]


@pytest.mark.parametrize("how", ["timeout", "cancelled"])
@pytest.mark.requirement("posting.cancel")
async def test_to_cancel_a_call_closes_its_stream(how: str) -> None:
    def call(posted: Posted) -> Any:
        return endpoint.stream(posted, ends=False)

    async with opened(tools__call=call, tools__list=lambda _: listed()) as (client, endpoint):
        while how == "timeout" and not endpoint.sent("tools/call"):
            # On a busy machine it is perhaps not sent in time.
            with pytest.raises(RequestTimeout):
                await client.call_tool(name="slow", options=QUICK)
        if how == "cancelled":
            waiting = asyncio.ensure_future(client.call_tool(name="slow"))
            await eventually(lambda: endpoint.sent("tools/call"))
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        await eventually(lambda: endpoint.left == ["tools/call"])
        assert (await client.list_tools()).tools == []
    assert endpoint.methods == ["server/discover", "tools/call", "tools/list"], "no notification about it is sent"


async def test_leaving_closes_all_streams() -> None:
    def call(posted: Posted) -> Any:
        return endpoint.stream(posted, ends=False)

    async with opened(tools__call=call) as (client, endpoint):
        waiting = [asyncio.ensure_future(client.call_tool(name="slow")) for _ in range(8)]
        await eventually(lambda: len(endpoint.sent("tools/call")) == 8)
        await client.connection.aclose()
        for one in waiting:
            with pytest.raises(ConnectionClosed):
                await one
        await eventually(lambda: len(endpoint.left) == 8)


def acknowledgement(posted: Posted) -> dict[str, Any]:
    params = {"_meta": subscription(posted), "notifications": posted.params["notifications"]}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def change(posted: Posted) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": subscription(posted)}}


def subscription(posted: Posted) -> dict[str, Any]:
    return {"io.modelcontextprotocol/subscriptionId": posted.message["id"]}


async def test_listening() -> None:
    def listen(posted: Posted) -> Any:
        keep_alive = [":\r\n\r\n", ": keep-alive\n\n"]
        return endpoint.stream(posted, acknowledgement(posted), *keep_alive, change(posted), ends=False)

    async with opened(subscriptions__listen=listen) as (client, endpoint):
        async with await client.listen(tools=True) as changes, await client.listen(tools=True) as others:
            assert (await anext(changes)).what == "tools" == (await anext(others)).what
            await changes.aclose()
            await eventually(lambda: len(endpoint.left) == 1)
        await eventually(lambda: len(endpoint.left) == 2)
    assert endpoint.methods == ["server/discover", "subscriptions/listen", "subscriptions/listen"]


async def test_a_server_ends_listening_or_is_lost() -> None:
    def listen(posted: Posted) -> Any:
        ending = (
            []
            if "resourceSubscriptions" in posted.params["notifications"]
            else [posted.result(_meta=subscription(posted))]
        )
        return endpoint.stream(posted, acknowledgement(posted), change(posted), *ending)

    async with opened(subscriptions__listen=listen) as (client, endpoint):
        async with await client.listen(tools=True) as changes:
            assert [one.what async for one in changes] == ["tools"]
        async with await client.listen(tools=True, resources=["a://b"]) as changes:
            await anext(changes)
            with pytest.raises(ConnectionClosed, match="did not answer subscriptions/listen"):
                await anext(changes)


@pytest.mark.requirement("posting.no-resuming")
async def test_a_stream_that_ends_early_is_not_resumed() -> None:
    def call(posted: Posted) -> Any:
        return endpoint.stream(posted, "id: 7\nretry: 1\ndata:\n\n", {"jsonrpc": "2.0", "method": "notifications/x"})

    async with opened(tools__call=call, tools__list=lambda _: listed()) as (client, endpoint):
        with pytest.raises(ConnectionClosed, match="did not answer tools/call"):
            await client.call_tool(name="brew")
        await asyncio.sleep(0.1)
        assert (await client.list_tools()).tools == [], "the connection lives"
    assert endpoint.methods == ["server/discover", "tools/call", "tools/list"]


def flood(posted: Posted) -> str:
    return json.dumps(posted.result(**text("x" * 200_000)))


BAD: dict[str, tuple[Answer, type[Exception], str]] = {
    "a large answer": (lambda p: JSONResponse(p.result(**text("x" * 200_000))), ConnectionClosed, "more than 100,000"),
    "a large event": (
        lambda p: Response(f"data: {flood(p)}\n\n", media_type="text/event-stream"),
        ConnectionClosed,
        "exceeded the 100000 byte limit",
    ),
    "a page": (lambda _: PlainTextResponse("<html>"), ConnectionClosed, "did not answer tools/call"),
    "nothing": (lambda _: Response(), ConnectionClosed, "did not answer tools/call"),
    "accepted": (lambda _: Response(status_code=202), ConnectionClosed, "did not answer tools/call"),
    "an empty stream": (lambda _: Response(media_type="text/event-stream"), ConnectionClosed, "did not answer"),
    "an error page": (lambda _: PlainTextResponse("secret", 500), ConnectionClosed, "answered 500 Internal"),
    "who are you": (lambda _: Response(status_code=401), ConnectionClosed, "answered 401 Unauthorized"),
    "an error": (lambda p: p.error(-7, status=200), PeerError, "no tea"),
    "a refusal": (lambda p: p.error(-32602, data={"why": "tea"}), PeerError, "no tea"),
    "a large refusal": (lambda p: p.error(-32602, data="x" * 100_000), PeerError, "no tea"),
    "a refusal without id": (lambda p: p.error(-32602, id=None), PeerError, "no tea"),
    "a refusal by a proxy": (lambda p: p.error(-1, status=503, id=None), ConnectionClosed, "answered 503.*no tea"),
    "a failure": (lambda p: p.error(-32603, status=500), PeerError, "no tea"),
    "a strange code": (lambda p: p.error(-32020), PeerError, "no tea"),
    "another answer": (lambda p: JSONResponse({**p.result(), "id": 77}), ConnectionClosed, "did not answer"),
    "no result": (lambda p: JSONResponse({**p.result(), "result": 7}), RemoteProtocolError, "result"),
}


@pytest.mark.parametrize("name", BAD)
async def test_each_call_ends(name: str) -> None:
    answer, kind, said = BAD[name]
    limits: HttpClientOptions = {"max_message_bytes": 100_000}
    async with opened(connecting=limits, tools__call=answer, tools__list=lambda _: listed()) as (client, _):
        async with asyncio.timeout(30):
            with pytest.raises(kind, match=said):
                await client.call_tool(name="brew")
            assert (await client.list_tools()).tools == [], "the connection lives"


async def test_an_answer_to_another_request_ends_both() -> None:
    gone: list[Any] = []

    def call(posted: Posted) -> Any:
        if posted.params["name"] == "slow":
            gone.append(posted.message["id"])
            return endpoint.stream(posted, ends=False)
        return JSONResponse({**posted.result(**text("for the other one")), "id": gone[0]})

    async with opened(tools__call=call) as (client, endpoint):
        slow = asyncio.ensure_future(client.call_tool(name="slow"))
        await eventually(lambda: gone)
        with pytest.raises(ConnectionClosed, match="did not answer tools/call"):
            await client.call_tool(name="wrong")
        await slow


async def test_what_follows_an_answer_is_not_waited_for() -> None:
    def call(posted: Posted) -> Any:
        return endpoint.stream(posted, posted.result(**text("tea")), posted.result(**text("again")), ends=False)

    async with opened(tools__call=call) as (client, endpoint):
        async with asyncio.timeout(30):
            await client.call_tool(name="brew")
        await eventually(lambda: endpoint.left == ["tools/call"])


@pytest.mark.requirement("posting.no-responses")
async def test_a_request_on_a_stream_is_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    def call(posted: Posted) -> Any:
        asking = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
        return endpoint.stream(posted, asking, posted.result(**text("tea")))

    async with opened(tools__call=call) as (client, endpoint):
        await client.call_tool(name="brew")
        assert endpoint.methods == ["server/discover", "tools/call"]
    assert "must not send requests" in caplog.text


async def test_a_version_that_is_not_spoken() -> None:
    def refusing(posted: Posted) -> Any:
        return posted.error(-32022, data={"supported": ["2099-01-01"], "requested": MODERN}, id=None)

    async with modern_endpoint(server__discover=refusing) as endpoint, connect_http(endpoint.url) as peer:
        with pytest.raises(Exception, match="speaks 2026-07-28, the peer speaks 2099-01-01"):
            await v.Client.open(peer, options=OWN)
