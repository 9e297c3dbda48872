"""Every request gets the right HTTP status, and no refused request looks accepted."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from mcp_runtime.core.transports.http import HttpLimits, asgi_app
from support.http import BOTH, SESSION, RawClient, call, hello, raw_client, request
from support.http_server import chatty

NEWEST = "2025-11-25"
HTTP_REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")
PING = request("ping")


@pytest.mark.parametrize("revision", HTTP_REVISIONS)
@pytest.mark.requirement(
    "http.one-endpoint", "http.post-202", "http.session-id", "http.session-id-secure", "http.session-gone"
)
async def test_a_session_from_its_beginning_to_its_end(revision: str) -> None:
    async with raw_client(asgi_app(chatty(revision))) as client:
        answer = await client.shake_hands(revision)
        assert answer.status_code == 200
        assert answer.json()["result"]["protocolVersion"] == revision
        assert len(client.session[SESSION]) == 32 and client.session[SESSION].isalnum()
        called = await client.post(call("echo", text="hello"))
        assert called.headers["content-type"] == "application/json"
        assert called.json()["result"]["content"] == [{"type": "text", "text": "hello"}]
        assert (await client.tell("notifications/roots/list_changed")).status_code == 202
        ended = await client.http.delete("/mcp", headers=client.session)
        assert (ended.status_code, ended.content) == (204, b"")
        assert (await client.post(PING)).status_code == 404
        assert (await client.http.delete("/mcp", headers=client.session)).status_code == 404


REFUSED: dict[str, tuple[Any, dict[str, str], int]] = {
    "no JSON": (b"{", {}, 400),
    "not a message": ({"jsonrpc": "1.0"}, {}, 400),
    "an answer to nothing": ({"jsonrpc": "2.0", "id": 7, "result": {}}, {}, 400),
    "a batch where there are none": ([PING], {}, 400),
    "nested too deep": (b"[" * 200 + b"]" * 200, {}, 400),
    "a cancellation of nothing": ({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {}}, {}, 400),
    "a report on nothing": ({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, {}, 400),
    "a second initialize": (request("initialize", hello(NEWEST)), {}, 400),
    "no session": (PING, {SESSION: ""}, 404),
    "another session": (PING, {SESSION: "0" * 32}, 404),
    "only JSON accepted": (PING, {"accept": "application/json"}, 406),
    "events refused": (PING, {"accept": "application/json, text/event-stream;q=0"}, 406),
    "nothing accepted": (PING, {"accept": ""}, 406),
    "text": (PING, {"content-type": "text/plain"}, 415),
    "no type": (PING, {"content-type": ""}, 415),
    **{f"compressed: {name}": (PING, {"content-encoding": name}, 415) for name in ("gzip", "br", "x-gzip, deflate")},
    "an unknown revision": (PING, {"mcp-protocol-version": "1999-01-01"}, 400),
    "a foreign host": (PING, {"host": "example.com"}, 403),
    "a foreign page": (PING, {"origin": "https://example.com"}, 403),
    "a page of nobody": (PING, {"origin": "null"}, 403),
    "large headers": (PING, {"x-large": "x" * 40_000}, 431),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.requirement("http.origin", "http.origin-403", "http.version-header-invalid")
async def test_refused(name: str) -> None:
    body, headers, status = REFUSED[name]
    async with raw_client(asgi_app(chatty(NEWEST)), h11_max_incomplete_event_size=100_000) as client:
        await client.shake_hands(NEWEST)
        answer = await client.post(body, **headers)
        assert answer.status_code == status, answer.text
        error = answer.json()
        assert error["error"]["message"] and error.get("id", 1) == 1, "an unknown id is left out"
        assert client.session[SESSION] not in answer.text and "Traceback" not in answer.text
        assert (await client.post(PING)).status_code == 200


async def test_no_log_holds_a_session_id_or_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("mcp_runtime", "uvicorn"):
        caplog.set_level(logging.DEBUG, name)
    limits = HttpLimits(max_message_bytes=1000, stream_after=0.01, max_session_requests=2)
    async with raw_client(asgi_app(chatty(NEWEST), limits=limits), h11_max_incomplete_event_size=100_000) as client:
        await client.shake_hands(NEWEST)
        for body, headers, status in REFUSED.values():
            assert (await client.post(body, **headers)).status_code == status
        assert (await client.post(call("echo", text="x" * 2000))).status_code == 413
        assert (await client.post(call("no_such_tool"))).status_code == 200
        async with client.stream(call("log", "cut", count=5)), client.stream():
            await client.http.get("/mcp", headers={**client.session, **BOTH, "last-event-id": "9-9"})
        await client.http.delete("/mcp", headers=client.session)
    records = [record for record in caplog.records if record.name.startswith(("mcp_runtime", "uvicorn"))]
    assert records, "refusals are logged"
    for record in records:
        assert client.session[SESSION] not in record.getMessage()
        # Mistakes of the server's author are reported to the author.
        assert not record.exc_info or "the handler of tools/call failed" in record.getMessage()


async def test_initialize_has_an_id() -> None:
    async with raw_client(asgi_app(chatty(NEWEST))) as client:
        answer = await client.tell("initialize", hello(NEWEST))
        assert (answer.status_code, "id" in answer.json()) == (400, False)


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "*/*"},
        {"accept": "text/*, application/*"},
        {"content-type": "application/json; charset=utf-8"},
        {"origin": "http://localhost:3000"},
        {"host": "localhost"},
        {"host": "LOCALHOST:8080"},
        {"host": "[::1]:8080"},
    ],
    ids=str,
)
async def test_accepted(headers: dict[str, str]) -> None:
    async with raw_client(asgi_app(chatty(NEWEST))) as client:
        await client.shake_hands(NEWEST)
        assert (await client.post(PING, **headers)).status_code == 200


@pytest.mark.requirement("http.session-id-missing")
async def test_a_request_without_a_session_that_begins_none() -> None:
    async with raw_client(asgi_app(chatty(NEWEST))) as client:
        for message in (PING, [request("initialize", hello(NEWEST))], b"1", b"{"):
            assert (await client.post(message)).status_code == 400
        refused = await client.ask("initialize", {"protocolVersion": 5})
        assert (refused.status_code, refused.json()["error"]["code"]) == (200, -32602)
        assert SESSION not in refused.headers


@pytest.mark.requirement("http.get-answer")
async def test_other_methods() -> None:
    app = asgi_app(chatty(NEWEST))
    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        for method in ("PUT", "PATCH", "OPTIONS", "HEAD"):
            answer = await client.http.request(method, "/mcp", headers=client.session)
            assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")
        assert (await client.http.get("/mcp", headers=client.session | {"accept": "text/html"})).status_code == 406
        assert (await client.http.get("/mcp", headers=BOTH)).status_code == 400
        assert (await client.http.delete("/mcp")).status_code == 400


async def test_a_body_that_is_too_large_or_too_slow() -> None:
    async def parts(count: int, delay: float) -> AsyncGenerator[bytes]:
        for _ in range(count):
            await asyncio.sleep(delay)
            yield b" " * 100

    async with raw_client(asgi_app(chatty(NEWEST), limits=HttpLimits(max_message_bytes=1000))) as client:
        await client.shake_hands(NEWEST)
        assert (await client.post(call("echo", text="x" * 2000))).status_code == 413
        headers = {"content-type": "application/json", **BOTH, **client.session}
        large = await client.http.post("/mcp", content=parts(20, 0), headers=headers)
        assert large.status_code == 413
        assert (await client.post(PING)).status_code == 200
    # Without a session, whose handshake would have to be in time too.
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(body_timeout=0.7), stateless=True)
    async with raw_client(app) as client:
        headers = {"content-type": "application/json", **BOTH}
        slow = await client.http.post("/mcp", content=parts(3, 0.3), headers=headers)
        assert slow.status_code == 408


async def test_a_request_that_is_too_large_is_answered_with_its_id() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), limits=HttpLimits(max_message_bytes=10_000))) as client:
        await client.shake_hands(NEWEST)
        body = json.dumps(call("echo", "large", text="x" * 15_000)).encode()
        refused = await client.post(body)
        said = refused.json()
        assert (refused.status_code, said.get("id")) == (413, "large")
        assert "more than 10,000 bytes" in said["error"]["message"]
        endless = await client.post(body * 3)
        assert (endless.status_code, "id" in endless.json()) == (413, False), "the body was not read"
        answer = {"jsonrpc": "2.0", "id": 99, "result": {"text": "x" * 15_000}}
        assert (await client.post(answer)).status_code == 413


async def test_too_many_of_everything() -> None:
    server = chatty(NEWEST)
    limits = HttpLimits(max_sessions=1, max_session_requests=1, max_requests=4, max_streams=1, stream_after=0.01)
    app = asgi_app(server, limits=limits)
    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        second = await client.ask("initialize", hello(NEWEST), **{SESSION: ""})
        assert second.status_code == 404, "an empty session id is unknown"
        other = RawClient(client.http)
        assert (await other.ask("initialize", hello(NEWEST))).status_code == 503
        async with client.stream(), client.stream(call("wait", "w")) as waiting:
            assert (await client.http.get("/mcp", headers=client.session | BOTH)).status_code == 503
            assert (await client.post(PING)).status_code == 429
            server.gate.set()
            assert (await waiting.message())["result"]["content"][0]["text"] == "waited"
        assert (await client.post(PING)).status_code == 200


async def test_too_many_requests_in_all() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, limits=HttpLimits(max_requests=1, stream_after=0.01))) as client:
        await client.shake_hands(NEWEST)
        async with client.stream(call("wait", "w")):
            assert (await client.post(PING)).status_code == 503
            server.gate.set()


async def test_hosts_and_origins_that_are_named() -> None:
    app = asgi_app(chatty(NEWEST), hosts=["mcp.example.com:8443", "other.example.com"], origins=["https://app.example"])
    async with raw_client(app) as client:
        for host, status in (
            ("mcp.example.com:8443", 200),
            ("other.example.com:1", 200),
            ("mcp.example.com", 403),
            ("localhost", 403),
            ("", 403),
        ):
            assert (await client.ask("initialize", hello(NEWEST), host=host)).status_code == status, host
        for origin, status in (
            ("https://app.example", 200),
            ("https://other.example.com", 200),
            ("http://app.example", 403),
        ):
            headers = {"host": "other.example.com", "origin": origin}
            assert (await client.ask("initialize", hello(NEWEST), **headers)).status_code == status, origin


async def test_forwarded_headers_count_only_from_a_proxy_that_is_named() -> None:
    headers = {"host": "internal", "x-forwarded-host": "mcp.example.com"}
    for proxies, status in ((("127.0.0.1",), 200), ((), 403), (("10.0.0.1",), 403)):
        app = asgi_app(chatty(NEWEST), hosts=["mcp.example.com"], trusted_proxies=proxies)
        async with raw_client(app) as client:
            assert (await client.ask("initialize", hello(NEWEST), **headers)).status_code == status


@pytest.mark.parametrize("hosts", [["*.example.com"], ["http://example.com"]], ids=str)
def test_what_is_not_a_host(hosts: list[str]) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        asgi_app(chatty(NEWEST), hosts=hosts)


def test_what_is_passed_by_mistake() -> None:
    with pytest.raises(ValueError, match="is not an origin"):
        asgi_app(chatty(NEWEST), origins=["*"])
    with pytest.raises(TypeError, match="not one string"):
        asgi_app(chatty(NEWEST), hosts="example.com")
    with pytest.raises(ValueError, match="no server"):
        asgi_app()
    with pytest.raises(ValueError, match="two servers"):
        asgi_app(chatty(NEWEST), chatty(NEWEST))


async def test_a_session_belongs_to_its_principal() -> None:
    def principal(scope: Any) -> str | None:
        found = [value for name, value in scope["headers"] if name == b"authorization"]
        return found[0].decode() if found else None

    async with raw_client(asgi_app(chatty(NEWEST), principal=principal)) as client:
        client.session = {"authorization": "ann", "x-tenant": "tea"}
        answer = await client.ask("initialize", hello(NEWEST))
        client.session[SESSION] = answer.headers[SESSION]
        await client.tell("notifications/initialized")
        who = (await client.post(call("who"))).json()
        assert who["result"]["content"][0]["text"] == f"ann tea {NEWEST}"
        assert (await client.post(PING, authorization="bob")).status_code == 404
        assert (await client.post(PING)).status_code == 200


async def test_several_revisions_on_one_endpoint() -> None:
    app = asgi_app(*(chatty(revision) for revision in HTTP_REVISIONS))
    async with raw_client(app) as client:
        for revision in HTTP_REVISIONS:
            one = RawClient(client.http)
            await one.shake_hands(revision)
            assert (await one.post(call("who"))).json()["result"]["content"][0]["text"].endswith(revision)
        assert len(app.sessions) == len(HTTP_REVISIONS)
        unknown = await RawClient(client.http).ask("initialize", hello("1999-01-01"))
        assert unknown.json()["result"]["protocolVersion"] == NEWEST


async def test_a_batch() -> None:
    async with raw_client(asgi_app(chatty("2025-03-26"))) as client:
        await client.shake_hands("2025-03-26")
        answer = await client.post([call("echo", 1, text="a"), call("echo", 2, text="b")])
        assert answer.status_code == 200
        assert sorted(one["id"] for one in answer.json()) == [1, 2]
        told = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}
        assert (await client.post([told, told])).status_code == 202
        mixed = await client.post([told, {"jsonrpc": "2.0", "id": None, "method": "ping"}])
        assert mixed.status_code == 200 and mixed.json()[0]["error"]["code"] == -32600
        assert (await client.post([{"jsonrpc": "2.0", "id": 9, "result": {}}])).status_code == 400
        assert (await client.post([])).status_code == 400
