"""`mcp-bindgen proxy URL` with a hostile server behind it: all bytes pass, and what is kept of them is bounded."""

import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from mcp_bindgen.live.relaying import http_proxy
from mcp_bindgen.live.relaying.http_proxy import UrlRelay, read_events, read_whole
from support.http import served

LIMIT = 10_000
NOTE = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
EVENT = b"data: " + NOTE + b"\n\n"
MANY = b"x" * (2 * LIMIT)
REQUEST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}

EVENTS = {
    "one event": (EVENT, 1, 0),
    "carriage returns": (EVENT.replace(b"\n", b"\r\n") * 2, 2, 0),
    "several lines of data": (b"data:\ndata: " + NOTE + b"\ndata:\n\n", 1, 0),
    "comments and other fields": (b": hello\nid: 7\n" + EVENT + b":\n\n" + EVENT, 2, 0),
    "a long line": (b"data: " + MANY + b"\n\n" + EVENT, 2, 1),
    "a long line that never ends": (EVENT + b"data: " + MANY, 1, 0),
    "a long comment": (b": " + MANY + b"\n\n" + EVENT, 2, 1),
    "many lines of data": (b"data: x\n" * LIMIT + b"\n" + EVENT, 2, 1),
    "many empty lines of data": (b"data\n" * LIMIT + b"\n" + EVENT, 2, 1),
    "long lines between others": ((b"data: x\ndata: " + MANY + b"\n") * 3 + b"\n" + EVENT * 2, 3, 1),
}


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


def answering(kind: str, parts: list[bytes]) -> Any:
    """Return a server that answers each request with the same bytes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind.encode())]})
            for part in parts:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})

    return app


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_proxy, "MAX_BODY", LIMIT)


async def relayed(kind: str, parts: list[bytes]) -> tuple[bytes, UrlRelay]:
    """Return what a client gets through the proxy, and the proxy."""
    async with served(answering(kind, parts)) as url, httpx2.AsyncClient(timeout=60) as client:
        relay = UrlRelay(f"{url}/mcp", lambda text, findings: None)
        async with served(relay) as place:
            return (await client.post(place, json=REQUEST)).content, relay


@pytest.mark.parametrize("size", [7, 65_536])
@pytest.mark.parametrize("name", EVENTS)
async def test_events_of_any_size_pass(name: str, size: int) -> None:
    text, messages, unjudged = EVENTS[name]
    got, relay = await relayed("text/event-stream", list(pieces(text, size)))
    assert got == text
    assert (relay.tally.messages, relay.tally.unjudged) == (1 + messages, unjudged)


@pytest.mark.parametrize(("size", "unjudged"), [(LIMIT - 100, 0), (3 * LIMIT, 1)])
async def test_bodies_of_any_size_pass(size: int, unjudged: int) -> None:
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": "x" * size}}).encode()
    got, relay = await relayed("application/json", list(pieces(text, 1_000)))
    assert got == text and (relay.tally.messages, relay.tally.unjudged) == (2, unjudged)


async def sent(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


@pytest.mark.parametrize("read", [read_whole, read_events])
@pytest.mark.parametrize("part", [b"x" * 1_000, b"data: x\n", b"\n", b"data: " + b"x" * 1_000 + b"\n"])
async def test_little_is_kept_of_what_is_too_large(read: Any, part: bytes) -> None:
    tracemalloc.start()
    try:
        async for _ in read(sent(*[part] * 20_000)):
            pass
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [read_whole, read_events])
async def test_text_in_small_pieces_takes_linear_time(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise it exceeds the timeout of the test."""
    monkeypatch.setattr(http_proxy, "MAX_BODY", 64 << 20)
    [text] = [text async for text in read(sent(b"data: ", *[b"x" * 100] * 200_000, b"\n\n"))]
    assert len(text) >= 20_000_000


async def test_sessions_beyond_the_limit_pass_unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_proxy, "MAX_SESSIONS", 3)
    begun: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            begun.append(f"s{len(begun)}")
            headers = [(b"content-type", b"application/json"), (b"mcp-session-id", begun[-1].encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

    async with served(app) as url, httpx2.AsyncClient(timeout=60) as client:
        relay = UrlRelay(f"{url}/mcp", lambda text, findings: None)
        async with served(relay) as place:
            for _ in range(5):
                await client.post(place, json=REQUEST)
            for session in begun[:5]:
                await client.post(place, json=json.loads(NOTE), headers={"mcp-session-id": session})
    assert (relay.tally.messages, relay.tally.unjudged) == (10, 2)
