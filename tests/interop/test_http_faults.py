"""Cut streams and restarted servers over HTTP: our implementation and the official Python SDK, in both roles."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from interop.peers import offer
from interop.processes import OURS, PEERS, SDK1, SDK2, TESTS, Side, interpreter
from mcp_bindings import v2024_11_05
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http, connect_sse
from support.cutting import Proxy, cutting
from support.talk import bindings

pytestmark = pytest.mark.interop

URI = "memo://readme"
REVISIONS = [revision for revision in offer.LEGACY if revision >= "2025-03-26"]
"""Those that have Streamable HTTP."""


@asynccontextmanager
async def running(*command: str) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(*command, cwd=TESTS, stdin=PIPE, stdout=PIPE, env=os.environ)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def line_of(process: Process) -> str:
    assert process.stdout is not None
    async with asyncio.timeout(60):
        return (await process.stdout.readline()).decode().strip()


class Site:
    """A server that can be restarted, and a proxy in front of it that can be cut."""

    def __init__(self, stack: AsyncExitStack, server: Side) -> None:
        self._stack = stack
        self._server = server
        self._path = ""
        self._process: Process | None = None
        self.proxy: Proxy

    async def open(self, path: str = "/mcp") -> str:
        """Start the server; returns the URL of the proxy."""
        self._path = path
        self.proxy = await self._stack.enter_async_context(cutting(await self._start()))
        return f"{self.proxy.url}{path}"

    def kill(self) -> None:
        """Kill the server."""
        assert self._process is not None
        self._process.kill()

    async def restart(self) -> None:
        """Kill the server, and start a new one without the state of the first."""
        assert self._process is not None
        self.kill()
        await self._process.wait()
        self.proxy.lead_to(await self._start())
        self.proxy.cut()

    async def _start(self) -> str:
        option = "--sse" if self._path == "/sse" else "--http"
        self._process = await self._stack.enter_async_context(running(*self._server.server_command(option)))
        return await line_of(self._process)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("server", [SDK1, SDK2, OURS], ids=lambda side: side.name)
@pytest.mark.requirement("http.resume", "http.session-again")
async def test_our_client_resumes_a_stream_and_renews_a_session(server: Side, revision: str) -> None:
    package = bindings(revision)
    async with AsyncExitStack() as stack:
        site = Site(stack, server)
        peer = await stack.enter_async_context(connect_http(await site.open()))
        client = await package.Client.open(peer, options=ClientOptions(timeout=40))
        assert client.connection.revision == revision
        updates = client.connection.notifications(package.METHODS["notifications/resources/updated"])
        await client.subscribe(uri=URI)
        begun = asyncio.Event()

        def report(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        slow = asyncio.create_task(
            client.call_tool(name="slowly", arguments={"seconds": 1}, options=CallOptions(progress=report))
        )
        await asyncio.wait_for(begun.wait(), 40)
        site.proxy.cut()
        assert (await slow).content[0].text == "done"

        await site.restart()
        assert (await client.call_tool(name="add", arguments={"a": 1, "b": 2})).content[0].text == "3"
        # The subscription was renewed in the new session, unnoticed by the caller.
        assert (await heard(client, updates)).uri == URI


@pytest.mark.parametrize("server", [SDK1, SDK2, OURS], ids=lambda side: side.name)
async def test_our_calls_fail_when_a_stream_of_http_sse_ends(server: Side) -> None:
    async with AsyncExitStack() as stack:
        site = Site(stack, server)
        url = await site.open("/sse")
        for end in (site.proxy.cut, site.kill):
            async with connect_sse(url) as peer:
                await ends_with_its_stream(peer, end)


async def ends_with_its_stream(peer: Peer, end: Callable[[], None]) -> None:
    """End a stream during a call; the call fails at once."""
    client = await v2024_11_05.Client.open(peer, options=ClientOptions(timeout=40))
    begun = asyncio.Event()

    def report(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    options = CallOptions(progress=report)
    slow = asyncio.create_task(client.call_tool(name="slowly", arguments={"seconds": 90}, options=options))
    await asyncio.wait_for(begun.wait(), 40)
    end()
    with pytest.raises(ConnectionClosed, match=r"http://127\.0\.0\.1"):
        await asyncio.wait_for(slow, 40)


async def heard(client: Any, updates: Any) -> Any:
    """Change a resource until a notification arrives: the peers' servers keep none for later listeners."""
    for _ in range(40):
        await client.call_tool(name="touch", arguments={"uri": URI})
        with suppress(TimeoutError):
            return await updates.next(1)
    pytest.fail("no change was heard of")


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("client", [SDK1, SDK2], ids=lambda side: side.name)
async def test_sdk_clients_reconnect_to_our_server(client: Side, revision: str) -> None:
    async with AsyncExitStack() as stack:
        site = Site(stack, OURS)
        program = str(PEERS / "sdk_unlucky_client.py")
        process = await stack.enter_async_context(
            running(interpreter(client.runs), program, revision, await site.open())
        )

        async def said() -> Mapping[str, Any]:
            found: Mapping[str, Any] = json.loads(await line_of(process))
            return found

        assert await said() == {"heard": [URI]}
        assert await said() == {"begun": True}
        site.proxy.cut()
        assert await said() == {"cut": "done"}
        await site.restart()
        assert process.stdin is not None
        process.stdin.write(b"\n")
        restarted = (await said())["restarted"]
        assert restarted.startswith("failed: "), "it does not start a new session by itself"
        assert await said() == {"again": [URI]}
