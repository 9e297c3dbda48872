"""Requests of 2026-07-28 over HTTP are refused, with an error that clients of both eras fall back from."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.bridge import bridge
from mcp_runtime.client import open_any
from mcp_runtime.handshake.discovery import MODERN_ERRORS
from mcp_runtime.transports.http import asgi_app, connect_http
from support.http import RawClient, call, hello, raw_client, request, served
from support.http_server import chatty

LEGACY, MODERN = "2025-11-25", "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
DISCOVER = request("server/discover", {"_meta": META})
CALL = call("who")
CALL["params"]["_meta"] = META


def plain() -> Any:
    return chatty(LEGACY)


def bridged() -> Any:
    return bridge(chatty(LEGACY))


async def refused(client: RawClient, message: Any, **headers: str) -> str:
    """Post a message that no client may take for one that a modern server answered; returns what is wrong."""
    answer = await client.post(message, **headers)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["code"] not in MODERN_ERRORS, answer.text
    text: str = error["message"]
    return text


@pytest.mark.parametrize("make", [plain, bridged])
@pytest.mark.parametrize("message", [DISCOVER, CALL])
async def test_without_a_session(make: Any, message: Any) -> None:
    async with raw_client(asgi_app(make())) as client:
        assert "initialize" in await refused(client, message, mcp_protocol_version=MODERN)
        assert "initialize" in await refused(client, message)


@pytest.mark.parametrize("make", [plain, bridged])
@pytest.mark.parametrize("message", [DISCOVER, CALL])
async def test_in_a_session(make: Any, message: Any) -> None:
    async with raw_client(asgi_app(make())) as client:
        await client.shake_hands(LEGACY)
        assert "begin a session with initialize" in await refused(client, message)
        assert LEGACY in await refused(client, message, mcp_protocol_version=MODERN)
        answer = await client.post(call("who"))
        assert answer.json()["result"]["content"][0]["text"].endswith(LEGACY), "the session goes on"


@pytest.mark.parametrize("make", [plain, bridged])
@pytest.mark.parametrize("message", [DISCOVER, CALL])
async def test_where_there_are_no_sessions(make: Any, message: Any) -> None:
    async with raw_client(asgi_app(make(), stateless=True)) as client:
        assert LEGACY in await refused(client, message, mcp_protocol_version=MODERN)
        assert "initialize" in await refused(client, message, mcp_protocol_version=LEGACY)
        assert "initialize" in await refused(client, message)


async def test_initialize_is_of_one_era() -> None:
    async with raw_client(asgi_app(bridged())) as client:
        assert "_meta" in await refused(client, request("initialize", {**hello(LEGACY), "_meta": META}))


@pytest.mark.parametrize("is_stateless", [False, True])
@pytest.mark.parametrize("make", [plain, bridged])
async def test_a_client_of_both_eras_begins_a_session(make: Any, is_stateless: bool) -> None:
    async with served(asgi_app(make(), stateless=is_stateless)) as url:
        async with connect_http(url) as peer:
            client = await open_any(peer, v.Client, v2025_11_25.Client)
            assert isinstance(client, v2025_11_25.Client)
            assert (await client.call_tool(name="who")).content
        async with connect_http(url) as peer:
            over_bridge = await v.Client.open(peer, bridge=True)
            assert over_bridge.connection.revision == LEGACY
            assert (await over_bridge.call_tool(name="who")).content
