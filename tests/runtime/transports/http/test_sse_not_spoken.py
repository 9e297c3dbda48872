"""Servers with which a client refuses to use HTTP+SSE, and its errors."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeAlias

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from mcp_bindings import v2024_11_05
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.transports.http import connect_sse
from support.http import served
from support.sse_by_hand import ByHand

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]


@pytest.mark.parametrize(
    "named", ["{other}/m", "//{host}/m", "https://127.0.0.1:{port}/m", "http://127.0.0.1:1/m", "http://127.0.0.1/m"]
)
async def test_an_endpoint_of_another_origin_is_refused(named: str) -> None:
    app, other = Starlette(), ByHand()
    async with served(app) as url, served(other.app()) as elsewhere:
        named = named.format(other=elsewhere, host=elsewhere.partition("//")[2], port=url.rpartition(":")[2])
        peer = ByHand(f"event: endpoint\ndata: {named}\n\n")
        app.router.routes.extend(peer.app().routes)
        async with connect_sse(f"{url}/a/sse", headers={"Authorization": "secret"}) as reached:
            with pytest.raises(ConnectionClosed, match="messages are not sent to other origins") as failure:
                await v2024_11_05.Client.open(reached)
        assert "secret" not in str(failure.value)
        assert not peer.posted and not other.posted


NOT_SPOKEN: dict[str, tuple[Answer, str]] = {}


def not_spoken(reason: str) -> Callable[[Answer], Answer]:
    def note(answer: Answer) -> Answer:
        NOT_SPOKEN[answer.__name__] = (answer, reason)
        return answer

    return note


def events(text: Any) -> Response:
    return StreamingResponse(text, media_type="text/event-stream")


@not_spoken("answered 404 Not Found")
async def nothing_there(request: Request) -> Response:
    return PlainTextResponse("no", 404)


@not_spoken("'text/event-stream', got 'text/plain'")
async def text(request: Request) -> Response:
    return PlainTextResponse("hello")


@not_spoken("its first event is 'message', not 'endpoint'")
async def another_event(request: Request) -> Response:
    return events(iter(["data: {}\n\n"]))


@not_spoken("ended the stream before it named the endpoint")
async def no_event(request: Request) -> Response:
    return events(iter([": hello\n\n"]))


@not_spoken("names an endpoint that is not a URL")
async def no_url(request: Request) -> Response:
    return events(iter(["event: endpoint\ndata: http://[::1\n\n"]))


@not_spoken("redirects to http://example.com")
async def elsewhere(request: Request) -> Response:
    return RedirectResponse("http://example.com/sse")


@not_spoken("exceeded the 1000 byte limit")
async def endless_event(request: Request) -> Response:
    async def stream() -> AsyncGenerator[str]:
        yield "event: endpoint\ndata: "
        while True:
            yield "x" * 100
            await asyncio.sleep(0)

    return events(stream())


@not_spoken("named no endpoint for messages within 0.5 s")
async def endless_comments(request: Request) -> Response:
    async def stream() -> AsyncGenerator[str]:
        while True:
            yield ": not yet\n\n"
            await asyncio.sleep(0.01)

    return events(stream())


@not_spoken("named no endpoint for messages within 0.5 s")
async def silence(request: Request) -> Response:
    async def stream() -> AsyncGenerator[str]:
        yield ""
        await asyncio.sleep(10)

    return events(stream())


@pytest.mark.parametrize("name", NOT_SPOKEN)
async def test_a_server_that_does_not_speak_it(name: str) -> None:
    answer, reason = NOT_SPOKEN[name]
    options: Any = {"max_message_bytes": 1000, "endpoint_timeout": 0.5 if "within 0.5 s" in reason else 30}
    async with (
        served(Starlette(routes=[Route("/sse", answer)])) as url,
        connect_sse(f"{url}/sse", **options) as peer,
        asyncio.timeout(60),
    ):
        with pytest.raises(ConnectionClosed, match=re.escape(reason)):
            await v2024_11_05.Client.open(peer)


async def test_a_server_that_is_not_there() -> None:
    async with connect_sse("http://127.0.0.1:9/sse") as peer:
        with pytest.raises(ConnectionClosed, match=r"http://127\.0\.0\.1:9/sse"):
            await v2024_11_05.Client.open(peer)
