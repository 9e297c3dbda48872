"""A standalone server: its pages, and how it shuts down."""

import asyncio
import os
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from mcp_bindings import v2025_11_25 as mcp
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.transports.http import HttpLimits, MemoryEventStore, asgi_app, connect_http, connect_sse
from mcp_runtime.web_server import serve_http, serving
from mcp_runtime.web_server.httptools_connection import HttptoolsConnection
from support.http import RawClient, browser, call
from support.http_server import chatty
from support.programs import quick_python
from support.stdio_peers import eventually
from support.unread import read_all, unread

TESTS = Path(__file__).parents[3]


@asynccontextmanager
async def program(*arguments: str, path: Path = TESTS, python: str = "") -> AsyncGenerator[tuple[Process, str]]:
    """Start the server, which finds modules in `path` too; yields it and its URL."""
    command = (python or quick_python(), "-m", "support.http_program", *arguments)
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    process = await asyncio.create_subprocess_exec(*command, cwd=TESTS, env=env, stdout=PIPE, stderr=PIPE)
    assert process.stdout is not None
    url = (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()
    try:
        yield process, url
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.requirement("http.localhost")
async def test_the_pages_of_a_server() -> None:
    async with program() as (_, url), browser(url) as http:
        assert url.startswith("http://127.0.0.1:")
        health = await http.get("/health")
        assert (health.status_code, health.json()) == (200, {"status": "ok", "sessions": 0})
        assert (await http.head("/health")).status_code == 200
        assert (await http.post("/health")).status_code == 405
        assert (await http.get("/health", headers={"host": "evil.example"})).status_code == 403
        assert (await http.get("/")).status_code == 404
        assert "server" not in health.headers
        async with connect_http(f"{url}/mcp") as peer:
            await mcp.Client.open(peer)
            assert (await http.get("/health")).json()["sessions"] == 1
            async with connect_sse(f"{url}/sse") as other:
                await mcp.Client.open(other)
                assert (await http.get("/health")).json()["sessions"] == 2


async def test_the_health_page_counts_no_sessions_unless_asked_to() -> None:
    site = serving.Site(asgi_app(chatty("2025-11-25")), "/mcp", "/health")
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(site), base_url="http://localhost") as http:
        assert (await http.get("/health")).json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("connect", "path"), [(connect_http, "/mcp"), pytest.param(connect_sse, "/sse", marks=pytest.mark.slow)]
)
async def test_calls_finish_before_the_end(connect: Any, path: str) -> None:
    async with program() as (process, url), connect(f"{url}{path}") as peer:
        client = await mcp.Client.open(peer)
        logs = client.notifications(methods.NOTIFICATIONS_MESSAGE)
        calls = [
            asyncio.create_task(client.call_tool(name="log_and_wait", arguments={"seconds": seconds}))
            for seconds in (0.5, 1.5)
        ]
        for _ in calls:
            await logs.next(30)
        process.terminate()
        results = await asyncio.gather(*calls)
        assert [result.content for result in results] == [[mcp.TextContent(text="waited")]] * 2
        _, stderr = await asyncio.wait_for(process.communicate(), 60)
        assert (process.returncode, stderr) == (0, b"")


async def test_shutdown_does_not_wait_forever() -> None:
    async with program("1") as (process, url), connect_http(f"{url}/mcp", close_timeout=1) as peer:
        client = await mcp.Client.open(peer)
        logs = client.notifications(methods.NOTIFICATIONS_MESSAGE)
        waiting = asyncio.create_task(client.call_tool(name="log_and_wait"))
        await logs.next(30)
        process.terminate()
        await asyncio.wait_for(process.wait(), 60)
        waiting.cancel()


@pytest.mark.slow
async def test_the_end_does_not_wait_for_a_handler_that_swallows_its_cancellation() -> None:
    async with program("1") as (process, url), connect_http(f"{url}/mcp", close_timeout=1) as peer:
        client = await mcp.Client.open(peer)
        logs = client.notifications(methods.NOTIFICATIONS_MESSAGE)
        waiting = asyncio.create_task(client.call_tool(name="stubborn"))
        await logs.next(30)
        process.terminate()
        _, stderr = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 1
        assert b"the server was killed: 4 s after shutdown began" in stderr
        waiting.cancel()


@pytest.mark.slow
async def test_what_a_call_waits_for_is_taken_until_the_end() -> None:
    begun = asyncio.Event()

    class Slow(mcp.ClientHandlers):
        async def create_message(
            self, params: mcp.CreateMessageRequestParams, ctx: mcp.ClientContext
        ) -> mcp.CreateMessageResult | mcp.CreateTaskResult:
            begun.set()
            await asyncio.sleep(1)
            return mcp.CreateMessageResult(model="m", role="assistant", content=mcp.TextContent(text="yes"))

    async with program("5") as (process, url), connect_http(f"{url}/mcp") as peer:
        client = await mcp.Client.open(peer, handlers=Slow())
        asking = asyncio.create_task(client.call_tool(name="ask"))
        await begun.wait()
        process.terminate()
        assert (await asking).content == [mcp.TextContent(text="yes")]
        _, stderr = await asyncio.wait_for(process.communicate(), 60)
        assert (process.returncode, stderr) == (0, b"")


@pytest.mark.slow
async def test_connections_that_say_nothing_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MAX_SILENT", 0.5)
    async with running() as (_, port), browser(f"http://127.0.0.1:{port}") as http:
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(5)]
        for _, writer in silent[:2]:
            writer.write(b"GET /health HTTP/1.1\r\nhost:")
        await asyncio.gather(*(end_of(*connection) for connection in silent))
        assert (await http.get("/health")).status_code == 200


async def test_connections_beyond_the_limit_are_closed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MAX_SILENT", 600.0)
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 5)
    async with running() as (_, port):
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
        ends = [asyncio.create_task(end_of(*connection)) for connection in connections]
        await eventually(lambda: sum(end.done() for end in ends) == 5)
        await asyncio.sleep(0.1)
        assert sum(end.done() for end in ends) == 5
        for _, writer in connections:
            writer.close()
        await asyncio.gather(*ends, return_exceptions=True)


async def end_of(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Wait until the server closes a connection."""
    with suppress(ConnectionError):
        await asyncio.wait_for(reader.read(), 60)
    writer.close()


@pytest.mark.slow
async def test_connections_whose_clients_read_nothing_are_closed() -> None:
    async with running(write_timeout=0.5) as (_, port):
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
        with pytest.raises(ConnectionError):
            async with asyncio.timeout(60):
                while True:
                    writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 1000)
                    await writer.drain()


@pytest.mark.slow
async def test_a_connection_that_was_refused_is_closed_though_its_client_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "MAX_SILENT", 1.0)
    async with running() as (server, port):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", port))
        _, writer = await asyncio.open_connection(sock=client, limit=1024)
        await eventually(lambda: len(server.server_state.connections) == 1)
        [transport] = [each.transport for each in server.server_state.connections]
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        transport.set_write_buffer_limits(high=1 << 30)  # as if little were unread
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n" * 500)
        writer.write(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n")
        await eventually(lambda: transport.is_closing() and transport.get_write_buffer_size() > 0)
        await eventually(lambda: not server.server_state.connections)
        writer.close()


@pytest.mark.slow
async def test_an_idle_connection_stays_open_for_longer_than_clients_keep_it() -> None:
    async with program() as (_, url):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
        for pause in (5.5, 0):
            writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            async with asyncio.timeout(60):
                assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
                await reader.readuntil(b"}")
            await asyncio.sleep(pause)
        writer.close()


@asynccontextmanager
async def running(
    app: Any = None, parser: type[asyncio.Protocol] = serving.H11Connection, **limits: Any
) -> AsyncGenerator[tuple[serving.Server, int]]:
    """Run a standalone server in this process; yields it and its port.

    Clients of most tests send more requests at once than the other parser keeps.
    """
    told: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    site = serving.Site(app or asgi_app(mcp.Server(), limits=HttpLimits(**limits)), "/mcp", "/health")
    config = uvicorn.Config(site, port=0, log_level="critical", http=parser, interface="asgi3")
    server = serving.Server(config, site, 1, told.set_result)
    task = asyncio.create_task(server.serve())
    try:
        yield server, int((await told).rsplit(":", 1)[1])
    finally:
        server.should_exit = True
        await task


async def test_an_answer_that_comes_as_its_stream_is_resumed_arrives() -> None:
    handlers = chatty("2025-11-25")

    def principal(scope: Any) -> None:
        if scope["method"] == "GET":
            handlers.gate.set()  # The tool returns before anything else happens.

    app = asgi_app(handlers, principal=principal, events=MemoryEventStore(), limits=HttpLimits(stream_after=0))
    async with running(app, HttptoolsConnection) as (_, port), browser(f"http://127.0.0.1:{port}") as http:
        client = RawClient(http)
        await client.shake_hands("2025-11-25")
        async with client.stream(call("log_and_wait")) as events:
            while (logged := await events.event()) is not None and not logged.data:
                pass
        assert logged is not None
        async with client.stream(last_event_id=logged.id) as events:
            answer = await events.message()
            assert answer is not None and answer["id"] == 1


async def test_each_request_has_a_context_of_its_own() -> None:
    name, seen = ContextVar("name", default="unset"), list[str]()

    def principal(scope: Any) -> None:
        seen.append(name.get())
        name.set("set")

    app = asgi_app(chatty("2025-11-25"), principal=principal)
    async with running(app, HttptoolsConnection) as (_, port), browser(f"http://127.0.0.1:{port}") as http:
        client = RawClient(http)
        await client.shake_hands("2025-11-25")
        await client.ask("ping")
    assert seen == ["unset"] * 3


async def test_malformed_requests_write_nothing_to_the_log() -> None:
    upgrade = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    chunked = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    async with program() as (process, url):
        for request, status in (
            (b"nonsense\r\n\r\n", b"400"),
            (upgrade, b"200"),
            (chunked + b"nonsense\r\n", b"400"),
            (chunked, b"415"),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1]))
            writer.write(request)
            assert status in await reader.readline()
            writer.write(b"nonsense\r\n\r\n")
            with suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 60)
            writer.close()
        process.terminate()
        assert (await process.communicate())[1] == b""


@pytest.mark.parametrize("arguments", [{"size": 100_000, "count": 60}, {"size": 20_000, "count": 300}])
async def test_streams_that_are_cut_write_nothing_to_the_log(arguments: dict[str, int]) -> None:
    async with (
        program("10", "300000", python=sys.executable) as (process, url),
        browser(url) as http,
        AsyncExitStack() as stack,
    ):
        client = RawClient(http)
        await client.shake_hands("2025-11-25")
        calls = [call("log", number, **arguments) for number in range(2)]
        readers = [await stack.enter_async_context(unread(client, each)) for each in calls]
        sizes = await asyncio.gather(*map(read_all, readers))
        assert min(sizes) < 6_000_000, "at least one was cut"
        process.terminate()
        assert (await process.communicate())[1] == b""


@pytest.mark.slow
async def test_a_server_runs_without_httptools_and_uvloop(tmp_path: Path) -> None:
    for name in ("httptools", "uvloop"):
        (tmp_path / f"{name}.py").write_text("raise ModuleNotFoundError(name=__name__)", "utf-8")
    async with program(path=tmp_path) as (_, url), connect_http(f"{url}/mcp") as peer:
        await mcp.Client.open(peer)


def test_responses_are_sent_at_once() -> None:
    for listener in serving.listen("127.0.0.1", 0):
        with listener, socket.create_connection(listener.getsockname()), listener.accept()[0] as connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_what_cannot_be_served() -> None:
    server = mcp.Server()
    with pytest.raises(ValueError, match=r"reached from other machines: name its hosts"):
        serve_http(server, host="0.0.0.0")
    with pytest.raises(ValueError, match="from 0 to 65535, not 99999"):
        serve_http(server, port=99999)
    with pytest.raises(ValueError, match="must begin with /"):
        serve_http(server, path="mcp")
    with pytest.raises(ValueError, match="cannot both be at"):
        serve_http(server, path="/health")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        reason = f"cannot listen on 127.0.0.1, port {port}: Address already in use; choose another"
        with pytest.raises(OSError, match=f"^{reason}$"):
            serve_http(server, port=port)
    with pytest.raises(OSError, match=r"on 192.0.2.1, port 0: Cannot assign requested address"):
        serve_http(server, host="192.0.2.1", port=0, hosts=["example.com"])
