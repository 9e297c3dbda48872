"""What a standalone server refuses before an application sees it, with each parser of HTTP."""

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias
from unittest.mock import Mock

import pytest
import uvicorn
from uvicorn.server import ServerState

from mcp_bindings import v2025_11_25 as mcp
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.web_server import serving
from mcp_runtime.web_server.httptools_connection import MAX_PIPELINED, HttptoolsConnection
from support.stdio_peers import eventually

PARSERS = [serving.H11Connection, HttptoolsConnection]
GET = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
FILLER = b"x" * (serving.MAX_OVERHEAD // 2)
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Echo:
    """An application that answers with the bodies and headers it gets; paths say when."""

    def __init__(self) -> None:
        self.proceed = asyncio.Event()
        self.seen: list[str] = []
        self.ended = 0

    async def __call__(self, scope: Any, receive: Any, send: Send) -> None:
        if scope["type"] == "lifespan":
            await (await receive() and send({"type": "lifespan.startup.complete"}))
            await (await receive() and send({"type": "lifespan.shutdown.complete"}))
            return
        self.seen.append(scope["path"])
        if scope["path"] == "/header":
            await self.answer(send, b"<%b>" % dict(scope["headers"])[b"x-a"])
            return
        if scope["path"] == "/inject":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"1\r\nx-b: 2")]})
            await send({"type": "http.response.body", "body": b""})
            return
        if scope["path"] == "/early":
            await self.answer(send, b"early")
            return
        if scope["path"] == "/started":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begin", "more_body": True})
        body, has_more = b"", True
        while has_more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.ended += 1
                return
            body += message["body"]
            has_more = message["more_body"]
        if scope["path"] == "/wait":
            waiting = [asyncio.ensure_future(receive()), asyncio.ensure_future(self.proceed.wait())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            waiting[0].cancel()
            self.ended += not waiting[1].done()
            waiting[1].cancel()
        await self.answer(send, b"[%b|%b]" % (body, b",".join(name for name, _ in scope["headers"])))

    async def answer(self, send: Send, body: bytes) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
        await send({"type": "http.response.body", "body": body})


class Running:
    """A server that listens on a port."""

    def __init__(self, echo: Echo, server: serving.Server, port: int) -> None:
        self.echo = echo
        self.server = server
        self.port = port

    async def answers(self, *parts: bytes) -> bytes:
        """Send parts of requests, and return everything that the server answers before it closes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        received = asyncio.ensure_future(reader.read())
        for part in parts:
            writer.write(part)
            await asyncio.sleep(0.002)
        try:
            return await asyncio.wait_for(received, 30)
        except ConnectionError:
            return b""
        finally:
            writer.close()


@asynccontextmanager
async def running(parser: type[asyncio.Protocol]) -> AsyncGenerator[Running]:
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    site, echo = serving.Site(asgi_app(mcp.Server()), "/mcp", ""), Echo()
    config = uvicorn.Config(
        echo, port=0, log_level="error", http=parser, h11_max_incomplete_event_size=serving.MAX_OVERHEAD, ws="none"
    )
    server = serving.Server(config, site, 1, told.set_result)
    task = asyncio.create_task(server.serve())
    try:
        yield Running(echo, server, int((await told).rsplit(":", 1)[1]))
    finally:
        echo.proceed.set()
        server.should_exit = True
        await task


each_parser = pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.__name__)


@each_parser
async def test_what_h11_refuses_is_refused(parser: type[asyncio.Protocol]) -> None:
    too_large = (FILLER, FILLER, FILLER, FILLER)
    async with running(parser) as site:
        for parts in (
            (b"nonsense\r\n\r\n",),
            (b"GET /\r\n\r\n",),
            (b"GET / HTTP/1.1\r\n\r\n",),
            (b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: other\r\n\r\n",),
            (b"GET / HTTP/1.0\r\nhost: localhost\r\nhost: other\r\n\r\n",),
            (b"GET /", *too_large),
            (b"GET / HTTP/1.1\r\nhost: localhost\r\na: ", *too_large),
            (b"GET / HTTP/1.1\r\nhost: localhost\r\n", *[b"a: b\r\n" * 10_000] * 4),
        ):
            got = await site.answers(*parts)
            assert got.startswith(b"HTTP/1.1 400 "), parts[0]
            assert got.count(b"HTTP/1.1") == 1
        assert site.echo.seen == []


def framings() -> list[tuple[bool, str, bytes]]:
    """Return whether each way to say where a body ends is accepted, with its version and its headers."""
    codings = ("chunked", "CHUNKED", "identity", "gzip", "", "x", "chunked;a=1", '"chunked"', "\x0bchunked")
    fields = [*codings, *(f"{one}, {two}" for one in codings for two in codings[:4])]
    values = [(field,) for field in fields] + [(one, two) for one in codings for two in codings[:4]]
    cases = [(value, "1.1", length) for value in values for length in (None, "before", "after")][::2]
    cases += [(("chunked",), version, None) for version in ("1.0", "1.1")] + [(("chunked",), "1.1", "before")]
    made: list[tuple[bool, str, bytes]] = []
    for value, version, length in cases:
        lines = [f"transfer-encoding: {field}" for field in value]
        if length:
            lines.insert(0 if length == "before" else len(lines), "content-length: 5")
        is_well = len(value) == 1 and value[0].lower() == "chunked" and not length and version == "1.1"
        made.append((is_well, version, "\r\n".join(lines).encode("latin-1")))
    return made


@each_parser
@pytest.mark.parametrize("upgrade", [b"", b"upgrade: h2c\r\nconnection: upgrade\r\n"], ids=["plain", "upgrade"])
async def test_a_body_has_one_transfer_coding_or_a_length(parser: type[asyncio.Protocol], upgrade: bytes) -> None:
    """What a proxy in front reads otherwise could be the beginning of another request."""
    body = b"5\r\nhello\r\n0\r\n\r\n"
    async with running(parser) as site:
        for is_well, version, lines in framings():
            site.echo.seen.clear()
            head = b"POST / HTTP/%b\r\nhost: localhost\r\n%bconnection: close\r\n" % (version.encode(), upgrade)
            got = await site.answers(head + lines + b"\r\n\r\n" + body)
            status = b"HTTP/1.1 200 " if is_well else b"HTTP/1.1 400 "
            assert got.startswith(status) and got.count(b"HTTP/1.1") == 1, (version, lines)
            assert bool(site.echo.seen) is is_well, (version, lines)


@each_parser
async def test_framing_and_trailers_are_limited_and_end_the_request(parser: type[asyncio.Protocol]) -> None:
    trailers = b"a: b\r\n" * 10_000
    async with running(parser) as site:
        for parts in (
            (POST, b"5;", FILLER, FILLER, FILLER, FILLER),
            (POST, b"5\r\nhello\r\n0\r\na: ", FILLER, FILLER, FILLER, FILLER),
            (POST, b"5\r\nhello\r\n0\r\n", *[trailers] * 4),
            (POST, b"nonsense\r\n"),
        ):
            got = await site.answers(*parts)
            assert got.startswith(b"HTTP/1.1 400 "), parts[1]
            assert got.count(b"HTTP/1.1") == 1
        await eventually(lambda: site.echo.ended == 4)


@each_parser
async def test_a_long_body_with_small_chunks_is_read(parser: type[asyncio.Protocol]) -> None:
    last = GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    async with running(parser) as site:
        got = await site.answers(POST, *[b"1;a=b\r\nx\r\n" * 10_000] * 2, b"0\r\n\r\n", GET, last)
        assert got.count(b"200 OK") == 3
        assert b"x" * 20_000 in got


@each_parser
async def test_trailers_are_not_headers(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        head = POST.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
        got = await site.answers(head, b"5\r\nhello\r\n", b"0\r\nx-admin: 1\r\n\r\n")
        assert b"[hello|host,transfer-encoding,connection]" in got


@each_parser
async def test_blanks_around_a_header_do_not_belong_to_its_value(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        got = await site.answers(
            b"GET /header HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-a: \t b c\t \r\n\r\n"
        )
        assert got.endswith(b"<b c>")


@each_parser
async def test_nothing_is_written_into_a_response(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        for path, last in ((b"/started", b"begin"), (b"/early", b"early")):
            got = await site.answers(POST.replace(b" / ", b" %b " % path), b"nonsense\r\n")
            assert got.count(b"HTTP/1.1") == 1
            assert got.rstrip().endswith(last)


@each_parser
async def test_a_malformed_request_is_refused_after_the_answers_to_earlier_ones(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        for malformed in (b"nonsense\r\n\r\n", POST + b"nonsense\r\n"):
            answers = asyncio.create_task(site.answers(GET.replace(b" / ", b" /wait ") + GET + malformed, GET))
            await eventually(lambda: "/wait" in site.echo.seen)
            await asyncio.sleep(0.05)
            site.echo.proceed.set()
            assert re.findall(rb"HTTP/1.1 (\d+)", await answers) == [b"200", b"200", b"400"]
            site.echo.seen.clear()
            site.echo.proceed.clear()


@each_parser
async def test_pipelined_requests_are_answered_in_order(parser: type[asyncio.Protocol]) -> None:
    requests = [
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n%02d" % n for n in range(MAX_PIPELINED)
    ]
    requests[-1] = requests[-1].replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")
    async with running(parser) as site:
        got = await site.answers(b"".join(requests))
        assert [part[:2] for part in got.split(b"[")[1:]] == [b"%02d" % n for n in range(MAX_PIPELINED)]


@each_parser
async def test_a_lost_connection_ends_every_pipelined_request(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        writer.write(GET.replace(b" / ", b" /wait ") * 100)
        await eventually(lambda: bool(site.echo.seen))
        writer.transport.abort()
        await eventually(lambda: not site.server.server_state.tasks and not site.server.server_state.connections)
        assert (site.echo.seen, site.echo.ended) == (["/wait"], 1)


def connected() -> tuple[HttptoolsConnection, Mock]:
    """Return a connection parsed by httptools, and its transport, which remembers what is written."""
    config = uvicorn.Config(Echo(), lifespan="off", ws="none", log_level="critical")
    config.load()
    connection = HttptoolsConnection(config, ServerState(), {})
    transport = Mock(spec=asyncio.Transport)
    transport.get_extra_info.return_value = None
    transport.is_closing.return_value = False
    connection.connection_made(transport)
    return connection, transport


async def test_httptools_writes_the_start_of_a_response_with_its_body() -> None:
    connection, transport = connected()
    connection.data_received(POST + b"5\r\nhello\r\n0\r\n\r\n")
    await eventually(lambda: transport.write.called)
    ((written,),) = [call.args for call in transport.write.call_args_list]
    assert written.startswith(b"HTTP/1.1 200 OK\r\n") and b"[hello|" in written


@each_parser
async def test_a_header_of_a_response_contains_no_line_end(parser: type[asyncio.Protocol]) -> None:
    async with running(parser) as site:
        assert await site.answers(GET.replace(b" / ", b" /inject ")) == b"", "the connection is closed instead"


@each_parser
@pytest.mark.parametrize("path", [b"/early", b"/started"])
async def test_an_answer_to_head_has_no_body(parser: type[asyncio.Protocol], path: bytes) -> None:
    async with running(parser) as site:
        head = b"HEAD %b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n" % path
        start, _, body = (await site.answers(head)).partition(b"\r\n\r\n")
        assert start.startswith(b"HTTP/1.1 200") and body == b""


async def test_httptools_refuses_more_pipelined_requests_than_it_should_keep() -> None:
    async with running(HttptoolsConnection) as site:
        answers = asyncio.create_task(site.answers(GET.replace(b" / ", b" /wait ") * 1000))
        await eventually(lambda: bool(site.echo.seen))
        site.echo.proceed.set()
        got = await answers
        assert (got.count(b"200 OK"), got.count(b"400 Bad Request")) == (MAX_PIPELINED, 1)


@each_parser
async def test_the_body_of_a_request_that_offers_an_upgrade_is_read(parser: type[asyncio.Protocol]) -> None:
    upgrade = b"host: localhost\r\nconnection: upgrade\r\nupgrade: h2c\r\n"
    second = b"GET /second HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    chunked = b"POST /first HTTP/1.1\r\n" + upgrade + b"transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
    sized = b"POST /first HTTP/1.1\r\n" + upgrade + b"content-length: %d\r\n\r\n" % len(GET) + GET
    empty = b"GET /first HTTP/1.1\r\n" + upgrade + b"\r\n"
    async with running(parser) as site:
        for request, body in ((chunked, b"hello"), (sized, GET), (empty, b"")):
            for size in (7, 50, 1000):
                whole = request + second
                got = await site.answers(*[whole[start : start + size] for start in range(0, len(whole), size)])
                assert b"[%b|" % body in got
                assert site.echo.seen == ["/first", "/second"]
                site.echo.seen.clear()


async def test_the_fastest_parser_and_loop_that_are_installed_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    uvloop = pytest.importorskip("uvloop")
    assert (serving.fastest_connection(), serving.fastest_loop()) == (HttptoolsConnection, uvloop.new_event_loop)
    monkeypatch.setitem(sys.modules, "httptools", None)
    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.delitem(sys.modules, HttptoolsConnection.__module__)
    assert (serving.fastest_connection(), serving.fastest_loop()) == (serving.H11Connection, None)
