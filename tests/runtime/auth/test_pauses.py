"""Timeouts pause while a person signs in, and go on afterwards."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_11_25
from mcp_runtime.auth import OAuth
from mcp_runtime.core.connection.timers import Deadlines
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http, connect_sse
from mcp_runtime.core.transports.http.client import streamable
from mcp_runtime.core.transports.http.client.signing import Patience
from mcp_runtime.testing import Issuer
from mcp_runtime.web_server import sse_app
from support.protected import Protected, duration, protected


class Tea(v2024_11_05.Server):
    async def list_prompts(self, params: Any, ctx: Any) -> v2024_11_05.ListPromptsResult:
        return v2024_11_05.ListPromptsResult(prompts=[])


async def test_opening_http_sse_may_take_as_long_as_a_sign_in(issuer: Issuer) -> None:
    async def list_prompts(timeout: float, thinks: float = 0) -> None:
        async def visit(url: str) -> str:
            await asyncio.sleep(thinks)
            return await issuer.visit(url)

        async with connect_sse(server.url, auth=OAuth(visit=visit), endpoint_timeout=timeout) as peer:
            client = await v2024_11_05.Client.open(peer)
            assert (await client.list_prompts()).prompts == []

    async with protected(None, issuer, sse_app(Tea())) as server:
        seconds = await duration(list_prompts(60))
        await list_prompts(3 * seconds, 4 * seconds)


async def test_a_failed_sign_in_of_http_sse_is_reported(issuer: Issuer) -> None:
    issuer.error = "access_denied"
    async with (
        protected(None, issuer, sse_app(Tea())) as server,
        connect_sse(server.url, auth=OAuth(visit=issuer.visit)) as peer,
    ):
        with pytest.raises(AuthorizationError, match="access_denied"):
            await v2024_11_05.Client.open(peer)


async def test_renewing_a_session_may_take_as_long_as_a_sign_in(
    server: Protected, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinks = 0.0

    async def visit(url: str) -> str:
        await asyncio.sleep(thinks)
        return await issuer.visit(url)

    async with connect_http(server.url, auth=OAuth(visit=visit)) as peer:
        opening = asyncio.ensure_future(v2025_11_25.Client.open(peer))
        seconds = await duration(opening)
        client = opening.result()
        monkeypatch.setattr(streamable, "RENEW_TIMEOUT", 3 * seconds)
        await client.ping()
        server.scopes_of = lambda body: {"more"} if b'"initialize"' in body else set()
        thinks, inner = 4 * seconds, server.app
        forgotten = False

        async def forgetful(scope: Any, receive: Any, send: Any) -> None:
            nonlocal forgotten
            if not forgotten and scope["method"] == "POST":
                forgotten = True
                scope["headers"] = [
                    (name, b"gone" if name == b"mcp-session-id" else value) for name, value in scope["headers"]
                ]
            await inner(scope, receive, send)

        server.app = forgetful
        assert (await client.list_tools()).tools
    assert forgotten
    assert issuer.count("/authorize") == 2


async def test_timeouts_go_on_when_all_pauses_are_over() -> None:
    expired: list[Any] = []
    loop = asyncio.get_running_loop()
    deadlines = Deadlines(loop, expired.append)
    deadlines.set(1, loop.time() + 0.02, 0.02)
    deadlines.pause()
    deadlines.pause()
    deadlines.resume()
    await asyncio.sleep(0.05)
    assert expired == []
    deadlines.resume()
    deadlines.resume()
    while not expired:
        await asyncio.sleep(0.005)


async def test_a_pause_counts_nothing_and_a_timeout_still_ends() -> None:
    patience = Patience()
    with pytest.raises(TimeoutError):
        async with patience.timeout(0.02):
            with patience.paused(), patience.paused():
                await asyncio.sleep(0.05)
            await asyncio.sleep(60)
