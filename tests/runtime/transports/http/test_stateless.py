"""Self-contained requests."""

import logging
import time
from typing import Any

import pytest

from mcp_bindings import requires
from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.core.connection.timers import ENDPOINT_BURST, ENDPOINT_RATE
from mcp_runtime.core.transports.http import asgi_app, connect_http
from support.http import SESSION, call, hello, messages_of, raw_client, request, served
from support.http_server import chatty
from support.roles import make_server

NEWEST = "2025-11-25"
REVISIONS = ("2025-03-26", "2025-06-18", "2025-11-25")


@pytest.mark.requirement("http.version-header-missing")
async def test_requests_need_no_session() -> None:
    app = asgi_app(*(chatty(revision) for revision in REVISIONS), stateless=True)
    async with raw_client(app) as client:
        begun = await client.ask("initialize", hello(NEWEST))
        assert begun.json()["result"]["protocolVersion"] == NEWEST
        assert SESSION not in begun.headers
        assert (await client.tell("notifications/initialized")).status_code == 202
        for revision in REVISIONS:
            who = await client.post(call("who"), mcp_protocol_version=revision)
            assert who.json()["result"]["content"][0]["text"] == f"None None {revision}"
        assumed = await client.post(call("who"))
        assert assumed.json()["result"]["content"][0]["text"].endswith("2025-03-26")
        logged = await client.post(call("log", count=3))
        assert len(messages_of(logged.text)) == 4 and "id: " not in logged.text.partition("data")[0]
        batch = await client.post([request("ping", id_=1), request("ping", id_=2)])
        assert len(batch.json()) == 2
        assert len(app.sessions) == 0


async def test_refused() -> None:
    async with raw_client(asgi_app(chatty(NEWEST), stateless=True)) as client:
        for method in ("GET", "DELETE"):
            answer = await client.http.request(method, "/mcp", headers={"accept": "text/event-stream"})
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert (await client.post(request("ping"), mcp_protocol_version="1999-01-01")).status_code == 400
        assert (await client.post(b"{")).status_code == 400
        assert (await client.post({"jsonrpc": "2.0", "id": 1, "result": {}})).status_code == 400


async def test_nothing_can_be_asked_of_the_client() -> None:
    server = chatty(NEWEST)
    async with raw_client(asgi_app(server, stateless=True)) as client:
        answer = (await client.post(call("ask"), mcp_protocol_version=NEWEST)).json()
        assert "error" in answer


@requires("roots", only=["declared"])
async def asks(self: Any, params: Any, ctx: Any) -> Any:
    match params.name:
        case "model":
            await ctx.client.create_message(messages=[], max_tokens=5)
        case "form":
            schema = mcp.ElicitRequestFormParamsRequestedSchema(properties={})
            await ctx.client.elicit(message="?", requested_schema=schema)
        case _:
            await ctx.client.list_roots()


@pytest.mark.parametrize("is_stateless", [True, False], ids=["stateless", "with sessions"])
@pytest.mark.parametrize(
    ("name", "needed"),
    [("model", "sampling"), ("form", "elicitation"), ("roots", "roots"), ("declared", "roots")],
)
async def test_the_error_for_a_capability_says_that_it_takes_a_session(
    name: str, needed: str, is_stateless: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_client(asgi_app(make_server(NEWEST, call_tool=asks), stateless=is_stateless)) as client:
        if not is_stateless:
            await client.shake_hands(NEWEST)
        answer = (await client.post(call(name), mcp_protocol_version=NEWEST)).json()["error"]["message"]
    why = "which clients declare in a session, and this server is stateless" if is_stateless else "the peer did not"
    assert needed in answer and why in answer
    assert why in caplog.text


async def test_our_client_talks_to_it() -> None:
    async with served(asgi_app(chatty(NEWEST), stateless=True)) as url, connect_http(url) as peer:
        client = await mcp.Client.open(peer)
        for text in ("a", "b"):
            result = await client.call_tool(name="echo", arguments={"text": text, "delay": 0.01})
            assert result.content == [mcp.TextContent(text=text)]


@pytest.mark.slow
@pytest.mark.parametrize("is_stateless", [True, False], ids=["stateless", "with sessions"])
async def test_clients_that_come_again_and_again_do_not_fill_the_log(
    is_stateless: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with raw_client(asgi_app(chatty(NEWEST), stateless=is_stateless)) as client:
        start = time.monotonic()
        for _ in range(4 * ENDPOINT_BURST):
            if not is_stateless:
                client.session = {}
                await client.shake_hands(NEWEST)
            assert "internal error" in (await client.post(call("missing"))).text
        allowed = ENDPOINT_BURST + ENDPOINT_RATE * (time.monotonic() - start)
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert ENDPOINT_BURST <= len(failed) <= allowed + 1
    if ENDPOINT_BURST < len(failed) < 4 * ENDPOINT_BURST:  # a slow machine omits none
        assert "more messages about connections of this endpoint were omitted" in caplog.text
