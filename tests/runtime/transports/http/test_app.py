"""An endpoint inside other applications, and the lifetime of its sessions."""

import asyncio
import subprocess
import sys
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Route

from mcp_runtime.core.transports.http import HttpLimits, asgi_app, connect_http
from mcp_runtime.core.transports.http.server import sessions
from mcp_runtime.core.transports.http.server.asgi import Sender
from support.http import SESSION, RawClient, browser, call, raw_client, request, served
from support.http_server import chatty
from support.stdio_peers import eventually
from support.talk import bindings

NEWEST = "2025-11-25"
PING = request("ping")


def starlette_route(endpoint: Any) -> Any:
    return Starlette(routes=[Route("/mcp", endpoint)], lifespan=endpoint.lifespan)


def fastapi_mount(endpoint: Any) -> Any:
    api = FastAPI(lifespan=endpoint.lifespan)
    api.mount("/mcp", endpoint)
    return api


def alone(endpoint: Any) -> Any:
    return endpoint


@pytest.mark.parametrize("mounted", [alone, starlette_route, fastapi_mount])
async def test_sessions_end_with_the_application(mounted: Any) -> None:
    server = chatty(NEWEST)
    endpoint = asgi_app(server)
    async with (
        served(mounted(endpoint)) as url,
        browser(url, follow_redirects=True) as http,
    ):
        client = RawClient(http)
        await client.shake_hands(NEWEST)
        assert (await client.post(call("echo", text="hi"))).status_code == 200
        waiting = asyncio.create_task(client.post(call("wait", "w")))
        await server.begun.wait()
        await endpoint.aclose()
        assert (await waiting).status_code == 200
        assert (await client.post(PING)).status_code == 503
    assert len(endpoint.sessions) == 0
    assert server.ended == ["the server is shutting down"]


@pytest.mark.parametrize(("mounted", "most"), [(alone, 0), (starlette_route, 0), (fastapi_mount, 1)])
@pytest.mark.parametrize("revision", [NEWEST, "2026-07-28"])
async def test_a_mounted_endpoint_redirects_a_client_at_most_once(mounted: Any, most: int, revision: str) -> None:
    statuses: list[int] = []
    inner = mounted(asgi_app(chatty(revision)))

    async def counted(scope: Any, receive: Any, send: Any) -> None:
        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        await inner(scope, receive, sent if scope["type"] == "http" else send)

    async with served(counted) as url, connect_http(f"{url.removesuffix('/mcp')}/mcp") as peer:
        client = await bindings(revision).Client.open(peer)
        for text in "abc":
            await client.call_tool("echo", {"text": text})
    assert len(statuses) > 3
    assert statuses.count(307) == most


async def test_an_idle_session_expires_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "SWEEPS", 36_000)
    server = chatty(NEWEST)
    endpoint = asgi_app(server, limits=HttpLimits(session_idle=3600))
    async with raw_client(endpoint) as client:
        await client.shake_hands(NEWEST)
        listening = RawClient(client.http)
        await listening.shake_hands(NEWEST)
        async with listening.stream() as common:
            assert await common.event() is not None
            for one in (client, listening):
                endpoint.sessions.named({SESSION.encode(): one.session[SESSION].encode()}, Sender()).last_used -= 3601
            await eventually(lambda: len(endpoint.sessions) == 1)
            assert (await client.post(PING)).status_code == 404
            assert (await listening.post(PING)).status_code == 200


async def test_websockets_are_not_served() -> None:
    endpoint = asgi_app(chatty(NEWEST))

    async def unused(*_: Any) -> Any:
        raise AssertionError

    with pytest.raises(RuntimeError, match="cannot serve websocket"):
        await endpoint({"type": "websocket"}, unused, unused)


def test_programs_on_stdio_load_none_of_it() -> None:
    code = (
        "import sys, mcp_runtime.core.handshake.client, mcp_runtime.core.server, mcp_runtime.core.transports.stdio\n"
        "from mcp_bindings.v2025_11_25 import Client, Server\n"
        "print([name for name in sys.modules if name.startswith(('httpx2', 'starlette', 'uvicorn'))\n"
        "       or name.startswith('mcp_runtime.core.transports.http')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_endpoint_needs_no_http_library() -> None:
    code = (
        "import sys\nfrom mcp_bindings.v2025_11_25 import Server\n"
        "from mcp_runtime.core.transports.http import asgi_app\n"
        "asgi_app(Server())\nprint([name for name in sys.modules if name in ('httpx2', 'starlette', 'uvicorn')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_a_refused_host_is_logged_once_and_not_more_than_twenty(caplog: pytest.LogCaptureFixture) -> None:
    async with raw_client(asgi_app(chatty(NEWEST))) as client:
        for number in range(50):
            for _ in range(2):
                assert (await client.post(PING, host=f"evil-{number}.example")).status_code == 403
    said = [record.getMessage() for record in caplog.records if "are refused" in record.getMessage()]
    assert said[0] == "requests to the host 'evil-0.example' are refused; hosts= names those that are allowed"
    assert len(said) == 20
