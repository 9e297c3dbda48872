"""Requests of 2026-07-28 over HTTP: each is self-contained, on the same endpoint as sessions of earlier revisions."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.handshake.offer import MODERN_ERRORS
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.opening import open_any
from support.http import BOTH, SESSION, RawClient, call, hello, raw_client, request, served
from support.http_modern import MODERN, asked, called, meta, modern_client
from support.http_server import chatty
from support.own import own

LEGACY = "2025-11-25"
DISCOVER = asked("server/discover")
CALL = called("who")


def alone() -> Any:
    return (chatty(MODERN),)


def bridged() -> Any:
    return (chatty(LEGACY),)


def both() -> Any:
    return (chatty(MODERN), chatty(LEGACY))


@pytest.mark.parametrize("make", [alone, bridged])
class TestServed:
    async def test_discovery(self, make: Any) -> None:
        async with modern_client(asgi_app(*make())) as client:
            answer = await client.post(DISCOVER)
            assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
            assert MODERN in answer.json()["result"]["supportedVersions"]

    @pytest.mark.requirement("posts.one-endpoint")
    async def test_a_call(self, make: Any) -> None:
        async with modern_client(asgi_app(*make())) as client:
            answer = await client.post(called("echo", text="hello"), x_tenant="tea")
            assert answer.status_code == 200 and SESSION not in answer.headers
            assert answer.json()["result"]["content"] == [{"type": "text", "text": "hello"}]

    async def test_session_headers_are_ignored(self, make: Any) -> None:
        async with modern_client(asgi_app(*make())) as client:
            answer = await client.post(CALL, mcp_session_id="of another server", last_event_id="1-1", x_tenant="tea")
            assert answer.status_code == 200 and SESSION not in answer.headers
            assert answer.json()["result"]["content"][0]["text"] == f"None tea {MODERN}"

    async def test_without_sessions_of_any_era(self, make: Any) -> None:
        async with modern_client(asgi_app(*make(), stateless=True)) as client:
            assert (await client.post(DISCOVER)).status_code == 200
            assert (await client.post(CALL)).status_code == 200


@pytest.mark.parametrize("make", [bridged, both])
async def test_a_session_on_the_same_endpoint(make: Any) -> None:
    async with modern_client(asgi_app(*make())) as modern:
        legacy = RawClient(modern.http)
        await legacy.shake_hands(LEGACY)
        assert (await modern.post(CALL)).status_code == 200
        # The text that distinguishes the eras may occur anywhere in a legacy message.
        told = await legacy.post(call("echo", text=f"{list(meta())} \\/ \x00"))
        assert told.json()["result"]["content"][0]["text"] == f"{list(meta())} \\/ \x00"
        assert (await legacy.post(CALL)).json()["error"]["code"] == -32020, "the body decides, not the session"
        assert (await legacy.http.get("/mcp", headers=BOTH)).status_code == 400
        assert (await legacy.http.delete("/mcp", headers=legacy.session)).status_code == 204


async def test_only_post_where_there_are_no_sessions() -> None:
    async with modern_client(asgi_app(*map(own, alone()))) as client:
        for method in ("GET", "DELETE", "PUT"):
            answer = await client.http.request(method, "/mcp", headers=BOTH)
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        refused = await RawClient(client.http).ask("initialize", hello(LEGACY))
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32022)
        assert refused.json()["error"]["data"]["supported"] == [MODERN]


async def refused(client: RawClient, message: Any, **headers: str) -> str:
    """Post a message whose response must not look like that of a modern server; returns the error."""
    answer = await client.post(message, **headers)
    error = answer.json()["error"]
    assert answer.status_code == 400 and error["code"] not in MODERN_ERRORS, answer.text
    text: str = error["message"]
    return text


@pytest.mark.parametrize("message", [DISCOVER, CALL])
class TestNotServed:
    """A legacy-only server refuses them in a way that makes clients of both eras start a session."""

    async def test_without_a_session(self, message: Any) -> None:
        async with raw_client(asgi_app(own(chatty(LEGACY)))) as client:
            assert "initialize" in await refused(client, message, mcp_protocol_version=MODERN)
            assert "initialize" in await refused(client, message)

    async def test_in_a_session(self, message: Any) -> None:
        async with raw_client(asgi_app(own(chatty(LEGACY)))) as client:
            await client.shake_hands(LEGACY)
            assert "begin a session with initialize" in await refused(client, message)
            assert LEGACY in await refused(client, message, mcp_protocol_version=MODERN)
            answer = await client.post(call("who"))
            assert answer.json()["result"]["content"][0]["text"].endswith(LEGACY), "the session continues"

    async def test_where_there_are_no_sessions(self, message: Any) -> None:
        async with raw_client(asgi_app(own(chatty(LEGACY)), stateless=True)) as client:
            assert LEGACY in await refused(client, message, mcp_protocol_version=MODERN)
            assert "initialize" in await refused(client, message, mcp_protocol_version=LEGACY)
            assert "initialize" in await refused(client, message)


async def test_initialize_is_of_one_era() -> None:
    async with modern_client(asgi_app(*bridged())) as client:
        answer = await client.post(request("initialize", {**hello(LEGACY), "_meta": meta()}))
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, -32601)


@pytest.mark.parametrize("is_stateless", [False, True])
async def test_a_client_of_both_eras_begins_a_session(is_stateless: bool) -> None:
    async with served(asgi_app(own(chatty(LEGACY)), stateless=is_stateless)) as url:
        async with connect_http(url) as peer:
            client = await open_any(peer, v.Client, v2025_11_25.Client)
            assert isinstance(client, v2025_11_25.Client)
            assert (await client.call_tool(name="who")).content
        async with connect_http(url) as peer:
            over_bridge = await v.Client.open(peer)
            assert over_bridge.connection.revision == LEGACY
            assert (await over_bridge.call_tool(name="who")).content
