"""The answers to requests of 2026-07-28 over HTTP: JSON or a stream, which a client cancels by closing it."""

import asyncio
import gc
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.transports.http import HttpLimits, asgi_app
from mcp_runtime.decorators import requires
from mcp_runtime.sealed import InputState
from support.http import SESSION
from support.http_modern import MODERN, PREFIX, asked, called, meta, modern_client
from support.http_server import chatty
from support.own import own
from support.stdio_peers import eventually

SOON = HttpLimits(stream_after=0.05, keepalive=0.1)
LOGGING = {**meta(), f"{PREFIX}logLevel": "info"}


@pytest.mark.requirement("posts.related", "posts.answer")
async def test_what_belongs_to_a_request_leaves_on_its_stream() -> None:
    async with modern_client(asgi_app(chatty(MODERN))) as client:
        async with client.stream(called("log", said=LOGGING, count=2)) as events:
            sent = events.response.headers
            assert sent["content-type"] == "text/event-stream" and sent["x-accel-buffering"] == "no"
            assert SESSION not in sent
            found = [await events.event() for _ in range(4)]
        assert [event.json()["method"] for event in found[:2] if event] == ["notifications/message"] * 2
        assert found[2] and found[2].json()["result"]["content"][0]["text"] == "logged"
        assert found[3] is None, "the response ends the stream"
        assert not any(event.id for event in found if event), "it cannot be resumed"


async def test_a_stream_that_is_quiet_is_kept_alive() -> None:
    server = chatty(MODERN)
    async with modern_client(asgi_app(server, limits=SOON)) as client, client.stream(called("wait")) as events:
        assert (await anext(events.response.aiter_bytes())) == b":\n\n"
        server.gate.set()


@pytest.mark.requirement("posts.closing-cancels")
@pytest.mark.parametrize("after", [0.2, 0.0], ids=["of a stream", "before anything was sent"])
async def test_closing_the_connection_cancels_the_request(after: float) -> None:
    server = chatty(MODERN)
    limits = HttpLimits(stream_after=0.05 if after else 60)
    async with modern_client(asgi_app(server, limits=limits)) as client:
        call = asyncio.create_task(client.post(called("wait")))
        await server.begun.wait()
        await asyncio.sleep(after)
        call.cancel()
        await eventually(lambda: server.ended)
        assert (await client.post(called("echo", text="on"))).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("stream_after", [0.01, 60], ids=["of a stream", "before anything was sent"])
async def test_middleware_may_raise_when_a_client_disconnects(stream_after: float) -> None:
    server, failures = chatty(MODERN), list[Any]()
    endpoint = asgi_app(server, limits=HttpLimits(stream_after=stream_after))
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failures.append(context))

    async def raising(scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ConnectionError("the client is gone")
            return message

        await endpoint(scope, received if scope["type"] == "http" else receive, send)

    async with modern_client(raising) as client:
        call = asyncio.create_task(client.post(called("wait")))
        await server.begun.wait()
        call.cancel()
        await eventually(lambda: server.ended)
    gc.collect()
    assert failures == []


async def test_the_same_id_in_two_requests() -> None:
    server = chatty(MODERN)
    async with modern_client(asgi_app(server, limits=SOON)) as client, client.stream(called("wait", 1)) as events:
        assert (await client.post(called("echo", 1, text="other"))).status_code == 200
        server.gate.set()
        assert (await events.message())["result"]["content"][0]["text"] == "waited"


class Careful(v.Server):
    """Needs a capability, either from the start or partway through."""

    @requires("sampling", only=["first"])
    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        await ctx.report_progress(1)
        client: Any = ctx.client  # This is deprecated but still supported.
        await client.list_roots()
        return v.CallToolResult(content=[])


async def test_what_a_handler_needs_is_known_before_a_byte_has_left() -> None:
    reporting = {**meta(), "progressToken": 1}
    async with modern_client(asgi_app(Careful())) as client:
        refused = await client.post(called("first", said=reporting))
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32021)
        assert refused.json()["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
        async with client.stream(called("second", said=reporting)) as events:
            assert events.response.status_code == 200
            assert (await events.message())["method"] == "notifications/progress"
            assert (await events.message())["error"]["code"] == -32021


@pytest.mark.parametrize("make", [lambda: chatty(MODERN), lambda: chatty("2025-11-25")], ids=["own", "bridged"])
async def test_listening(make: Any) -> None:
    made = make()
    server = getattr(made, "server", made)
    wanted = {"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}
    async with modern_client(asgi_app(made)) as client:
        async with client.stream(asked("subscriptions/listen", {"notifications": wanted}, "ears")) as events:
            first = await events.message()
            assert first["method"] == "notifications/subscriptions/acknowledged"
            assert first["params"]["_meta"] == {f"{PREFIX}subscriptionId": "ears"}
            assert await list_changed(server, "tools") == 1
            assert (await events.message())["method"] == "notifications/tools/list_changed"
            if "resourceSubscriptions" in first["params"]["notifications"]:
                await resource_updated(server, "file:///a")
                assert (await events.message())["params"]["uri"] == "file:///a"
        async with asyncio.timeout(30):
            while await list_changed(server, "tools"):
                await asyncio.sleep(0.01)


async def test_listeners_are_counted_as_streams_and_let_go_at_the_end() -> None:
    app = asgi_app(chatty(MODERN), limits=HttpLimits(max_requests=1, max_streams=4))
    listen = asked("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    async with modern_client(app) as client:
        async with client.stream(listen) as one, client.stream(listen) as two:
            for events in (one, two):
                assert (await events.message())["method"] == "notifications/subscriptions/acknowledged"
            assert not app.is_busy
            assert (await client.post(listen)).status_code == 503
            assert (await client.post(called("echo", text="still"))).status_code == 200
            app.stop()
            for events in (one, two):
                assert "result" in await events.message()
                assert await events.message() is None
        assert (await client.post(called("echo"))).status_code == 503


class Curious(v.Server):
    """Asks its client twice."""

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        words: list[str] = []
        for number in range(2):
            schema = v.ElicitRequestFormParamsRequestedSchema(properties={"word": v.StringSchema()})
            answer = await ctx.client.elicit(message=str(number), requested_schema=schema)
            words.append(str((answer.content or {})["word"]))
        return v.CallToolResult(content=[v.TextContent(text=" ".join(words))])


@pytest.mark.requirement("posts.no-requests")
@pytest.mark.parametrize("is_sealed", [False, True], ids=["suspended", "sealed"])
async def test_answers_come_in_requests_of_their_own(is_sealed: bool) -> None:
    server = Curious()
    if is_sealed:
        server.options = ServerOptions(inputs=InputState(keys=[bytes(32)]))
    said = meta(elicitation={})
    async with modern_client(asgi_app(server)) as client:
        more: dict[str, Any] = {}
        for word in ("one", "two"):
            message = asked("tools/call", {"name": "ask", "arguments": {}, **more}, said=said)
            result = (await client.post(message)).json()["result"]
            assert result["resultType"] == "input_required"
            answers = {key: {"action": "accept", "content": {"word": word}} for key in result["inputRequests"]}
            more = {"inputResponses": answers, "requestState": result["requestState"]}
        message = asked("tools/call", {"name": "ask", "arguments": {}, **more}, said=said)
        assert (await client.post(message)).json()["result"]["content"][0]["text"] == "one two"


@pytest.mark.requirement("posts.notification", "posts.one-message")
async def test_a_notification_is_taken_and_passed_over() -> None:
    async with modern_client(asgi_app(own(chatty(MODERN)))) as client:
        told: Any = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": meta()}}
        answer = await client.post(told)
        assert (answer.status_code, answer.content) == (202, b"")
        told["params"]["_meta"] = meta("2099-01-01")
        unknown = await client.post(told)
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, -32022)
        assert unknown.json()["error"]["data"] == {"supported": [MODERN], "requested": "2099-01-01"}
        others: list[Any] = [[asked("server/discover")], {"jsonrpc": "2.0", "id": 1, "result": {}}, b"null", b"{"]
        for wrong in others:
            refused = await client.post(wrong)
            assert refused.status_code == 400 and "error" in refused.json()


@pytest.mark.requirement("posts.origin")
async def test_pages_of_other_origins() -> None:
    async with modern_client(asgi_app(chatty(MODERN))) as client:
        for origin, status in (("https://example.com", 403), ("null", 403), ("http://localhost:3000", 200)):
            assert (await client.post(called("echo"), origin=origin)).status_code == status
