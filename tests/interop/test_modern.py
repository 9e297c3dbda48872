"""2026-07-28 over stdio with third-party clients and servers, and the era detected for each server."""

import json
import os
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from interop.modern_client import SEEN, WORDS, Host, seen_by
from interop.processes import OURS, SDK1, SDK2, TESTS, interpreter
from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.client_features.changes import listening
from mcp_runtime.core.errors import PeerError, UnsupportedRevision
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from mcp_runtime.opening import open_any

pytestmark = pytest.mark.interop

OPTIONS = ClientOptions(timeout=60, probe_timeout=60)


@pytest.mark.parametrize(
    "options",
    [(), ("--both",), ("--sealed",), ("--bridged",), ("--bridged", "--sealed")],
    ids=["alone", "beside a legacy one", "with sealed states", "written for 2025-11-25", "bridged, with sealed states"],
)
def test_their_client_at_our_server(options: tuple[str, ...]) -> None:
    client = (interpreter(SDK2.runs), str(TESTS / "interop" / "peers" / "sdk_modern_client.py"))
    server = (interpreter(OURS.runs), "-m", "interop.modern_server", *options)
    done = subprocess.run([*client, *server], cwd=TESTS, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {**SEEN, "changes": ["ToolsListChanged", "ResourceUpdated"]}


@pytest.mark.parametrize("mode", ["2026-07-28", "auto"], ids=["modern", "of both eras"])
@pytest.mark.parametrize(
    "options",
    [(), ("--both",), ("--sealed",), ("--bridged",), ("--bridged", "--sealed")],
    ids=["alone", "beside a legacy one", "with sealed states", "written for 2025-11-25", "bridged, with sealed states"],
)
def test_their_client_at_our_server_over_http(options: tuple[str, ...], mode: str) -> None:
    client = (interpreter(SDK2.runs), str(TESTS / "interop" / "peers" / "sdk_modern_client.py"))
    server = (interpreter(OURS.runs), "-m", "interop.modern_server", *options, "--http")
    with subprocess.Popen(server, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        command = (*client, process.stdout.readline().strip(), mode)
        try:
            done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=100, check=False)
        finally:
            process.terminate()
    assert done.returncode == 0, done.stderr
    # Clients with a fixed revision do not send `server/discover`, so they do not learn the server's name.
    unknown = {"server": None, "instructions": None} if mode != "auto" else {}
    assert json.loads(done.stdout) == {**SEEN, **unknown, "changes": ["ToolsListChanged", "ResourceUpdated"]}
    assert process.returncode == 0


@pytest.mark.parametrize("theirs", [True, False], ids=["theirs", "ours"])
async def test_our_client_at_both_servers(theirs: bool) -> None:
    peers = TESTS / "interop" / "peers"
    command = (
        (interpreter(SDK2.runs), str(peers / "sdk_modern_server.py"))
        if theirs
        else (interpreter(OURS.runs), str(TESTS / "interop" / "modern_server.py"))
    )
    host = Host()
    async with connect_stdio(*command, env={"PYTHONPATH": str(TESTS)}) as peer:
        client = await open_any(peer, v.Client, v2025_11_25.Client, handlers=[host], options=OPTIONS)
        assert isinstance(client, v.Client)
        assert await seen_by(client, host) == SEEN


async def test_listening_continues_after_their_server_was_killed() -> None:
    started: list[int] = []

    @asynccontextmanager
    async def opens() -> AsyncGenerator[v.Client]:
        command = (interpreter(SDK2.runs), str(TESTS / "interop" / "peers" / "sdk_modern_server.py"))
        transport = StdioClientTransport(*command)
        peer = Peer(transport)
        try:
            client = await v.Client.open(peer, options=OPTIONS)
            assert transport.pid is not None
            started.append(transport.pid)
            yield client
        finally:
            await peer.aclose()

    async with listening(opens, tools=True, resources=["memo://x"], pause=0.01) as changes:
        for _ in range(2):
            client, first = await anext(changes)
            _, second = await anext(changes)
            assert (first.what, second.uri) == ("tools", "memo://x")
            await client.call_tool(name="change", arguments={"uri": "memo://x"})
            assert [(await anext(changes))[1].what for _ in range(2)] == ["tools", "resource"]
            os.kill(started[-1], signal.SIGKILL)
    assert len(set(started)) == 2


class OlderHost(v2025_11_25.ClientHandlers):
    """Answers in the types of 2025-11-25."""

    async def elicit(
        self, params: v2025_11_25.ElicitRequestParams, ctx: v2025_11_25.ClientContext
    ) -> v2025_11_25.ElicitResult:
        return v2025_11_25.ElicitResult(action="accept", content={"word": WORDS[params.message]})

    async def list_roots(
        self, params: v2025_11_25.RequestParams | None, ctx: v2025_11_25.ClientContext
    ) -> v2025_11_25.ListRootsResult:
        return v2025_11_25.ListRootsResult(roots=[v2025_11_25.Root(uri="file:///home")])

    async def create_message(
        self, params: v2025_11_25.CreateMessageRequestParams, ctx: v2025_11_25.ClientContext
    ) -> v2025_11_25.CreateMessageResult:
        content = v2025_11_25.TextContent(text="HELLO")
        return v2025_11_25.CreateMessageResult(role="assistant", model="m", content=content)


async def test_our_client_of_2025_11_25_is_bridged_to_their_server() -> None:
    server = (interpreter(SDK2.runs), str(TESTS / "interop" / "peers" / "sdk_modern_server.py"))
    options = ClientOptions(timeout=60, era="modern")
    async with connect_stdio(*server, env={"PYTHONPATH": str(TESTS)}) as peer:
        client = await v2025_11_25.Client.open(peer, handlers=OlderHost(), options=options)
        assert client.connection.revision == "2026-07-28"
        await client.ping()
        for name, said in (("three", "one two three"), ("both", "file:///home HELLO")):
            [block] = (await client.call_tool(name=name, arguments={})).content
            assert isinstance(block, v2025_11_25.TextContent) and block.text == said
        with pytest.raises(PeerError) as error:
            await client.call_tool(name="fail", arguments={})
        assert (error.value.code, error.value.data) == (-7, {"why": "luck"})


async def test_our_client_is_bridged_to_their_legacy_server() -> None:
    async with connect_stdio(*SDK1.server_command()) as peer:
        client = await v.Client.open(peer)
        assert client.connection.revision == v2025_11_25.REVISION
        assert [tool.name async for tool in client.iter_tools()]


async def test_a_legacy_server_is_detected() -> None:
    async with connect_stdio(*SDK1.server_command()) as peer:
        client = await open_any(peer, v.Client, v2025_11_25.Client)
        assert isinstance(client, v2025_11_25.Client)
        assert [tool.name async for tool in client.iter_tools()]
    async with connect_stdio(*SDK1.server_command()) as peer:
        with pytest.raises(UnsupportedRevision, match=r"this side speaks 2026-07-28, the server answered server/disc"):
            await v.Client.open(peer, options=ClientOptions(revisions="own"))


async def test_a_server_of_both_eras_can_be_used_in_either() -> None:
    server = (interpreter(SDK2.runs), str(TESTS / "interop" / "peers" / "sdk_modern_server.py"))
    async with connect_stdio(*server) as peer:
        client = await open_any(peer, v.Client, v2025_11_25.Client, options=ClientOptions(era="legacy"))
        assert isinstance(client, v2025_11_25.Client)
        await client.ping()
