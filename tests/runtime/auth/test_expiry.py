"""Streams on which a client listens end when its token expires; calls that began before do not."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.web_server import sse_app
from support.http import EVENTS, SESSION, browser, hello, messages_of, raw_client, request, served
from support.http_modern import asked, headers_for
from support.http_server import chatty
from support.tokens import bearer, claims, ec_key, signed

KEY = ec_key()
NEWEST = "2025-11-25"
SKEW = 30


def expiring(seconds: float) -> dict[str, str]:
    """Return a token that is accepted for some seconds."""
    return {"authorization": f"Bearer {signed(KEY, claims(exp=time.time() - SKEW + seconds))}"}


async def test_a_get_stream_ends_with_its_token() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), auth=bearer(KEY))) as client:
        begun = await client.ask("initialize", hello(NEWEST), **expiring(600))
        session = {SESSION: begun.headers[SESSION], "mcp-protocol-version": NEWEST, **EVENTS}
        async with client.http.stream("GET", "/mcp", headers={**session, **expiring(0.5)}) as response:
            assert response.status_code == 200
            await response.aread()
        # The session is still there, for a stream with another token.
        async with client.http.stream("GET", "/mcp", headers={**session, **expiring(600)}) as response:
            assert response.status_code == 200
            lines = response.aiter_lines()
            assert [await anext(lines) for _ in range(3)][2].startswith("data:")
            reading = asyncio.ensure_future(anext(lines))
            await asyncio.sleep(0.7)
            assert not reading.done() or reading.result() == ""
            reading.cancel()
        await client.http.delete("/mcp", headers={**session, **expiring(600)})


async def test_a_stream_of_http_sse_ends_with_the_latest_token_of_its_session() -> None:
    """All answers arrive on it, so each POST with another token keeps it open."""
    begin, ping = request("initialize", hello("2024-11-05"), 1), request("ping", None, 2)
    async with served(sse_app(chatty("2024-11-05"), auth=bearer(KEY))) as url, browser(url) as http:
        async with http.stream("GET", "/mcp", headers={**EVENTS, **expiring(0.5)}) as response:
            await response.aread()
        async with http.stream("GET", "/mcp", headers={**EVENTS, **expiring(0.5)}) as response:
            lines = response.aiter_lines()
            [place] = [line.removeprefix("data: ") async for line in firsts(lines, 3) if line.startswith("data: ")]
            assert (await http.post(place, json=begin, headers=expiring(1.5))).status_code == 202
            await asyncio.sleep(0.7)
            assert (await http.post(place, json=ping, headers=expiring(0.5))).status_code == 202
            answers = [line async for line in lines if line.startswith("data: ")]
        assert len(answers) == 2 and '"id":2' in answers[1]
        assert (await http.post(place, json=ping, headers=expiring(600))).status_code == 404


async def firsts(lines: AsyncIterator[str], count: int) -> AsyncIterator[str]:
    for _ in range(count):
        yield await anext(lines)


async def test_a_subscription_ends_with_its_token() -> None:
    app = mcp.App("files")

    @app.tool()
    def read() -> str:
        """Read."""
        return "text"

    listen = asked("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, "sub")
    both = {"accept": "application/json, text/event-stream"}

    async def listened(http: httpx2.AsyncClient, seconds: float) -> list[Any]:
        headers = {**headers_for(listen), **both, **expiring(seconds)}
        async with http.stream("POST", "/mcp", json=listen, headers=headers) as response:
            assert response.status_code == 200
            return messages_of((await response.aread()).decode())

    async with served(asgi_app(app, auth=bearer(KEY))) as url, browser(url) as http:
        longer = asyncio.ensure_future(listened(http, 2))
        said = await listened(http, 0.5)
        assert [message.get("method", "") for message in said] == ["notifications/subscriptions/acknowledged", ""]
        assert said[1]["id"] == "sub" and "result" in said[1]
        assert not longer.done()
        assert (await longer)[1]["id"] == "sub"
