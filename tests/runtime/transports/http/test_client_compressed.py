"""A client over HTTP whose server compresses its answers, or names another character set."""

import asyncio
import codecs
import gzip
import json
from typing import Any

import httpx2
import pytest

from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.transports.http import connect_http

NAME = "Café"
PIECES = 64
COMMENTS = (b":" + b"x" * 1022 + b"\n") * 1024


class Answers:
    """An ASGI application that answers `initialize` with the same bytes and headers each time."""

    def __init__(self, body: bytes, **headers: str) -> None:
        self.body = body
        self.headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        self.answered = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        answer, headers = (self.body, self.headers) if b'"initialize"' in body else (b"", [])
        await send({"type": "http.response.start", "status": 200 if answer else 202, "headers": headers})
        await send({"type": "http.response.body", "body": answer})
        self.answered.set()

    async def name(self) -> Any:
        """Return the name of the server, as a client reads it."""
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(self))
        async with http, connect_http("http://localhost/mcp", http=http) as peer:
            return (await Client.open(peer)).connection.peer_info["name"]


def initialized(as_events: bool = True) -> bytes:
    result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": NAME, "version": "1"}}
    text = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}, ensure_ascii=False).encode()
    return b"data: %b\n\n" % text if as_events else text


@pytest.mark.parametrize("as_events", [True, False], ids=["events", "json"])
async def test_answers_may_be_compressed(as_events: bool) -> None:
    type_ = "text/event-stream" if as_events else "application/json"
    body = gzip.compress(initialized(as_events))
    assert await Answers(body, content_type=type_, content_encoding="gzip").name() == NAME


async def test_a_stream_is_utf_8_whatever_its_content_type_says() -> None:
    for charset in ("latin-1", "utf-16", "rot13", "bz2", "undefined"):
        assert await Answers(initialized(), content_type=f"text/event-stream; charset={charset}").name() == NAME


async def test_a_stream_may_begin_with_a_byte_order_mark() -> None:
    assert await Answers(codecs.BOM_UTF8 + initialized(), content_type="text/event-stream").name() == NAME


@pytest.mark.slow
async def test_other_tasks_run_while_a_few_bytes_become_a_long_stream() -> None:
    server = Answers(
        gzip.compress(COMMENTS * PIECES + initialized()), content_type="text/event-stream", content_encoding="gzip"
    )
    turns = 0

    async def count() -> None:
        nonlocal turns
        await server.answered.wait()
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert await server.name() == NAME
    counting.cancel()
    assert turns >= PIECES


async def test_an_answer_that_is_compressed_twice_is_refused() -> None:
    body = gzip.compress(gzip.compress(initialized()))
    server = Answers(body, content_type="text/event-stream", content_encoding="gzip, gzip")
    with pytest.raises(ConnectionClosed, match="compressed more than once"):
        await server.name()
