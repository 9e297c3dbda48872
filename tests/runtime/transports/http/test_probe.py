"""Which era a client detects for a server over HTTP, and how long it remembers it."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from mcp_bindings import v2024_11_05, v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core import sources
from mcp_runtime.core.errors import ConnectionClosed, PeerError, UnsupportedRevision
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.core.transports.http.client import streamable
from mcp_runtime.opening import open_any
from mcp_runtime.web_server import sse_app
from support.http import served
from support.modern_endpoint import MODERN, Answer, Endpoint, Posted, discovered, listed, modern_endpoint
from support.own import OWN, own

LEGACY = "2025-11-25"


def initialized(posted: Posted) -> dict[str, Any]:
    return {"protocolVersion": LEGACY, "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}


def accepted(posted: Posted) -> Response:
    return Response(status_code=202)


@asynccontextmanager
async def serving(discover: Answer, **answers: Answer) -> AsyncGenerator[Endpoint]:
    """Serve an endpoint that answers `server/discover` and begins sessions."""
    older: dict[str, Answer] = {"initialize": initialized, "notifications__initialized": accepted}
    async with modern_endpoint(server__discover=discover, **{**older, **answers}) as endpoint:
        yield endpoint


async def spoken(endpoint: Endpoint, **options: Any) -> str:
    """Return the revision that a client of both eras speaks with a server."""
    async with connect_http(endpoint.url) as peer:
        waits: dict[str, Any] = {"timeout": 60, "probe_timeout": 60, **options}
        client = await open_any(peer, v.Client, v2025_11_25.Client, options=ClientOptions(**waits))
        return client.connection.revision


def error(code: int, status: int, **more: Any) -> Answer:
    return lambda posted: posted.error(code, status=status, **more)


def page(status: int, content: str = "<html>") -> Answer:
    return lambda posted: PlainTextResponse(content, status)


LEGACY_ANSWERS: dict[str, Answer] = {
    "400, empty": page(400, ""),
    "404, a page": page(404),
    "405": page(405, "Method Not Allowed"),
    "406": page(406),
    "415": page(415),
    "422": page(422, '{"detail":[]}'),
    "500": page(500),
    "501": page(501),
    "200, a page": page(200),
    "202": page(202, ""),
    "an empty stream": lambda _: Response(media_type="text/event-stream"),
    "400, no session": error(-32000, 400, id=None),
    "400, a word as id": error(-32600, 400, id="server-error"),
    "404, method not found": error(-32601, 404),
    "200, method not found": error(-32601, 200),
    "400, invalid params": error(-32602, 400),
    "200, not a result of ours": lambda posted: JSONResponse(posted.result(x=1)),
}


@pytest.mark.parametrize("name", LEGACY_ANSWERS)
@pytest.mark.requirement("posting.legacy")
async def test_legacy_servers_begin_sessions(name: str) -> None:
    async with serving(LEGACY_ANSWERS[name]) as endpoint:
        assert await spoken(endpoint) == LEGACY
        assert endpoint.methods[:2] == ["server/discover", "initialize"]
        assert "mcp-protocol-version" not in endpoint.posted[1].headers
        assert "mcp-method" not in endpoint.posted[1].headers


@pytest.mark.parametrize("code", [-32020, -32021, -32022])
@pytest.mark.requirement("posting.modern-error")
async def test_a_modern_error_is_that_of_a_modern_server(code: int) -> None:
    async with serving(discovered) as endpoint:
        for status in (200, 400, 404, 405):
            others: list[dict[str, Any]] = [{}, {"id": None}] + [{"id": "server-error"}] * (status >= 400)
            for id_ in others:
                endpoint.answers["server/discover"] = error(code, status, **id_)
                with pytest.raises(PeerError) as failed:
                    await spoken(endpoint)
                assert failed.value.code == code
        assert set(endpoint.methods) == {"server/discover"}


async def test_what_a_modern_server_speaks_is_spoken() -> None:
    data = {"supported": ["2099-01-01", LEGACY], "requested": MODERN}
    async with serving(error(-32022, 400, data=data, id=None)) as endpoint:
        assert await spoken(endpoint) == LEGACY
    data = {"supported": ["2099-01-01"], "requested": MODERN}
    async with serving(error(-32022, 400, data=data)) as endpoint:
        with pytest.raises(UnsupportedRevision, match="the peer speaks 2099-01-01"):
            await spoken(endpoint)


@pytest.mark.parametrize("times", [1, 2])
async def test_a_server_that_lists_the_revision_it_refused_is_asked_again(times: int) -> None:
    def refusing(posted: Posted) -> Any:
        if len(endpoint.posted) > times:
            return discovered(posted)
        return posted.error(-32022, data={"supported": [MODERN], "requested": MODERN})

    async with serving(refusing) as endpoint:
        if times == 1:
            assert await spoken(endpoint) == MODERN
        else:
            with pytest.raises(UnsupportedRevision):
                await spoken(endpoint)
        assert endpoint.methods == ["server/discover"] * 2


@pytest.mark.parametrize("status", [401, 403, 407, 408, 429, 502, 503, 504])
async def test_what_a_proxy_says_tells_nothing_of_the_era(status: int) -> None:
    async with serving(page(status, '{"jsonrpc":"2.0","error":{"code":-1,"message":"no tea"}}')) as endpoint:
        with pytest.raises(ConnectionClosed, match=f"answered {status} .*no tea"):
            await spoken(endpoint)
        assert endpoint.methods == ["server/discover"]
        endpoint.answers["server/discover"] = discovered
        assert await spoken(endpoint) == MODERN


async def test_a_server_that_is_not_there_is_tried_once() -> None:
    async with connect_http("http://127.0.0.1:9/mcp") as peer:
        with pytest.raises(ConnectionClosed, match=r"http://127\.0\.0\.1:9/mcp"):
            await open_any(peer, v.Client, v2025_11_25.Client)


async def test_silence_means_legacy_this_time() -> None:
    def silent(posted: Posted) -> Response:
        return endpoint.stream(posted, ends=False)

    async with serving(silent) as endpoint:
        while len(endpoint.left) < 2:  # On a busy machine a question is perhaps not sent in time.
            assert await spoken(endpoint, probe_timeout=0.2) == LEGACY
            assert not streamable.servers.era(endpoint.url), "a server may only be slow"


async def test_a_client_of_one_era_asks_nothing_else() -> None:
    async with serving(page(404)) as endpoint, connect_http(endpoint.url) as peer:
        with pytest.raises(ConnectionClosed, match="answered 404"):
            await v.Client.open(peer, options=OWN)
        assert endpoint.methods == ["server/discover"]
    async with serving(error(-32601, 404)) as endpoint, connect_http(endpoint.url) as peer:
        with pytest.raises(UnsupportedRevision, match=r"server/discover with an error"):
            await v.Client.open(peer, options=OWN)
    async with serving(discovered) as endpoint, connect_http(endpoint.url) as peer:
        await v2025_11_25.Client.open(peer)
        assert "server/discover" not in endpoint.methods
        assert not streamable.servers.era(
            endpoint.url
        ), "a server that starts sessions may support the modern era as well"


@pytest.mark.requirement("posting.era-cached")
async def test_a_legacy_server_is_asked_once_only() -> None:
    async with serving(page(400)) as endpoint:
        for _ in range(3):
            assert await spoken(endpoint) == LEGACY
        assert len(endpoint.sent("server/discover")) == 1 and len(endpoint.sent("initialize")) == 3
        endpoint.url += "/beside"
        await spoken(endpoint)
        assert len(endpoint.sent("server/discover")) == 2, "another server on the same origin"


@pytest.mark.parametrize("refusal", [page(404), error(-32022, 400)])
@pytest.mark.requirement("posting.era-cached")
async def test_a_server_that_is_replaced_by_a_modern_one_is_asked_again(refusal: Callable[..., Any]) -> None:
    async with serving(page(400)) as endpoint:
        assert await spoken(endpoint) == LEGACY
        endpoint.answers |= {"server/discover": discovered, "initialize": refusal}
        assert await spoken(endpoint) == MODERN
        endpoint.answers["server/discover"] = page(400)
        endpoint.answers["initialize"] = initialized
        assert await spoken(endpoint) == LEGACY
        assert await spoken(endpoint) == LEGACY
    assert [m for m in endpoint.methods if m != "notifications/initialized" and m] == [
        *("server/discover", "initialize"),
        *("initialize", "server/discover"),
        *("server/discover", "initialize"),
        "initialize",
    ]


async def test_a_slow_server_that_was_modern_is_waited_for() -> None:
    async with serving(discovered, tools__list=lambda _: listed()) as endpoint:
        assert await spoken(endpoint) == MODERN

        def slow(posted: Posted) -> Response:
            message = posted.result(**discovered(posted))
            return endpoint.stream(posted, *[f": {number}\n\n" for number in range(3)], message)

        endpoint.answers["server/discover"] = slow
        assert await spoken(endpoint, probe_timeout=0.000001) == MODERN


@pytest.mark.parametrize("clients", [(v.Client, v2025_11_25.Client), (v2024_11_05.Client,)], ids=["all", "oldest"])
async def test_a_server_of_http_sse_is_reached_at_its_url(clients: tuple[Any, ...]) -> None:
    class Old(v2024_11_05.Server):
        async def list_tools(self, params: Any, ctx: Any) -> v2024_11_05.ListToolsResult:
            return v2024_11_05.ListToolsResult(tools=[])

    available = (*clients, v2024_11_05.Client) if v2024_11_05.Client not in clients else clients
    async with served(sse_app(own(Old()))) as url:
        for _ in range(2):
            async with connect_http(f"{url}/sse") as peer:
                opening: Any = open_any(peer, *available, options=ClientOptions(timeout=60))
                client = await opening
                assert client.connection.revision == "2024-11-05"
                assert (await client.list_tools()).tools == []


@pytest.mark.parametrize(("status", "is_asked"), [(400, True), (404, True), (405, True), (406, False)])
@pytest.mark.requirement("posting.legacy")
async def test_http_sse_is_the_last_resort(status: int, is_asked: bool) -> None:
    async with serving(page(status), initialize=page(status)) as endpoint:
        with pytest.raises(ConnectionClosed, match=f"answered {status}"):
            await spoken(endpoint)
        assert [one.verb for one in endpoint.posted if one.verb == "GET"] == ["GET"] * is_asked
    async with serving(page(status), initialize=error(-32000, status)) as endpoint:
        with pytest.raises(PeerError, match="no tea"):
            await spoken(endpoint)
        assert all(one.verb == "POST" for one in endpoint.posted), "it responded to the POST"


def test_a_limited_number_of_servers_is_remembered_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    servers = streamable.Servers()
    for number in range(streamable.MAX_SERVERS + 10):
        servers.learn(f"http://{number}/mcp", streamable.LEGACY)
    assert [bool(servers.era(f"http://{number}/mcp")) for number in (0, 9, 10)] == [False, False, True]
    servers.learn("http://10/mcp", "")
    assert not servers.era("http://10/mcp")
    now = sources.now()
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: now + streamable.SECONDS + 1))
    assert not servers.era("http://11/mcp")
