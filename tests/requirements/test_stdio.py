"""Stdio and custom transports (basic/transports), with real processes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport, TransportError
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from support.roles import TEXT, make_server, returns
from support.stdio_peers import RAW_PEER, Raw, eventually
from support.talk import MODERN, bindings, of_sender

requirement = pytest.mark.requirement
SERVER = str(Path(__file__).with_name("stdio_server.py"))
ODD = "a\nb\r\nc \u2028\u2029\x85 blåbær \U0001f980"
"""A text with all that some programs take for the end of a line."""


@pytest.mark.dear
@requirement("stdio.utf-8", "stdio.one-line")
async def test_a_client_and_a_server_speak_in_any_locale(revision: str) -> None:
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    async with connect_stdio(sys.executable, SERVER, revision, env=environment, stderr=lambda _: None) as peer:
        client = await bindings(revision).Client.open(peer)
        result = await client.call_tool(name="x", arguments={"text": ODD})
        assert result.content[0].text == ODD


@pytest.mark.dear
@requirement("stdio.one-line")
def test_a_message_is_one_line_of_utf_8_and_nothing_else_is_written(revision: str) -> None:
    out, _ = run(revision, [*hello(revision), called(revision, 2, ODD), called(revision, 3, "x")])
    lines = out.split(b"\n")
    assert lines.pop() == b"" and len(lines) == 3
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3]
    assert json.loads(lines[1])["result"]["content"][0]["text"] == ODD


@pytest.mark.dear
@requirement("stdio.stdout-clean")
def test_what_handlers_and_children_print_is_not_on_standard_output(revision: str) -> None:
    out, err = run(revision, [*hello(revision), called(revision, 2, "x")])
    assert b"printed" not in out and all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert b"printed by a handler\n" in err and b"printed by a child\n" in err


def run(revision: str, messages: list[bytes]) -> tuple[bytes, bytes]:
    """Return the output of a server for these messages, each sent after the previous one was answered."""
    with subprocess.Popen(
        (sys.executable, SERVER, revision), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        out = b""
        for message in messages:
            process.stdin.write(message + b"\n")
            process.stdin.flush()
            if b'"id"' in message:
                out += process.stdout.readline()
        rest, err = process.communicate(timeout=60)
        assert process.returncode == 0
        return out + rest, err


def request(id_: int, method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode()


def hello(revision: str) -> list[bytes]:
    """Return the first messages of a client."""
    if revision == MODERN:
        return [request(1, "server/discover", {"_meta": of_sender(revision, {})})]
    said = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    return [request(1, "initialize", said), b'{"jsonrpc":"2.0","method":"notifications/initialized"}']


def called(revision: str, id_: int, text: str) -> bytes:
    meta = {"_meta": of_sender(revision, {})} if revision == MODERN else {}
    return request(id_, "tools/call", {"name": "x", "arguments": {"text": text}, **meta})


KEEPER = """
import json, sys
with open(sys.argv[1], "wb") as kept:
    for line in sys.stdin.buffer:
        kept.write(line)
        kept.flush()
        message = json.loads(line)
        if message.get("method") == "initialize":
            info = {"name": "keeper", "version": "0"}
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
        elif message.get("method") == "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
        elif message.get("id"):
            print("an error, one would think", file=sys.stderr, flush=True)
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}), flush=True)
"""
"""A server that keeps what it reads in a file, and complains on standard error though nothing is wrong."""


@requirement("stdio.supported", "stdio.stdin-clean", "stdio.one-line")
async def test_a_client_writes_nothing_but_messages(revision: str, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    async with connect_stdio(sys.executable, "-c", KEEPER, kept, stderr=lambda _: None) as peer:
        client = await bindings(revision).Client.open(peer)
        print("printed by the client")
        await client.call_tool(name="x", arguments={"text": ODD})
    *lines, last = kept.read_bytes().split(b"\n")
    assert last == b""
    assert [json.loads(line)["method"] for line in lines] == [*beginning(revision), "tools/call"]
    assert json.loads(lines[-1])["params"]["arguments"]["text"] == ODD


def beginning(revision: str) -> list[str]:
    """Return the first methods that our client sends."""
    return ["server/discover"] if revision == MODERN else ["initialize", "notifications/initialized"]


@requirement("stdio.stderr-no-error")
async def test_output_on_standard_error_is_not_an_error(revision: str, tmp_path: Path) -> None:
    lines: list[str] = []
    async with connect_stdio(sys.executable, "-c", KEEPER, tmp_path / "kept", stderr=lines.append) as peer:
        client = await bindings(revision).Client.open(peer)
        assert (await client.call_tool(name="x")).content == []
        assert client.connection.closed_because is None
    assert lines == ["an error, one would think"]


@pytest.fixture
async def peer() -> AsyncIterator[Raw]:
    raw = Raw(StdioClientTransport(*RAW_PEER, grace=0.2, stderr=lambda _: None))
    await raw.transport.start(raw.seen)
    yield raw
    await raw.transport.close()


def exists(pid: int | None) -> bool:
    assert pid is not None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def seconds() -> float:
    return asyncio.get_running_loop().time()


@requirement("stdio.shutdown-input")
async def test_closing_the_input_is_enough_for_a_cooperative_server(peer: Raw, tmp_path: Path) -> None:
    lines: list[str] = []
    raw = Raw(StdioClientTransport(*RAW_PEER, grace=3600, stderr=lines.append))
    await raw.transport.start(raw.seen)
    await raw.transport.close()
    assert lines == ["the input ended"] and not exists(raw.transport.pid)


@requirement("stdio.shutdown-terminate")
async def test_a_server_that_does_not_end_gets_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ignores the end of its input, and reports SIGTERM, which a killed server could not do."""
    lines: list[str] = []
    peer = Raw(StdioClientTransport(*RAW_PEER, grace=60, stderr=lines.append))
    await peer.transport.start(peer.seen)
    await peer.ask(":linger")
    await peer.ask(":obey")
    closing = asyncio.create_task(peer.transport.close())
    await asyncio.sleep(0.2)
    assert not lines
    now = asyncio.get_running_loop().time
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now() + 60)
    await eventually(lambda: lines == ["asked to end"])
    await closing
    assert not exists(peer.transport.pid)


@requirement("stdio.shutdown-kill", "stdio.shutdown-timeout")
async def test_a_server_that_ignores_sigterm_is_killed(peer: Raw) -> None:
    await peer.ask(":linger")
    await peer.ask(":ignore SIGTERM")
    begun = seconds()
    await peer.transport.close()
    assert seconds() - begun > 0.35
    await eventually(lambda: not exists(peer.transport.pid))


@requirement("messages.no-http-authorization")
async def test_credentials_reach_a_server_by_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_TOKEN", "not for everybody")
    raw = Raw(StdioClientTransport(*RAW_PEER, env={"API_KEY": "secret"}))
    await raw.transport.start(raw.seen)
    seen = json.loads(await raw.ask(":env"))
    await raw.transport.close()
    assert seen["API_KEY"] == "secret" and "API_TOKEN" not in seen


class Tube(Transport):
    """A custom transport: each end passes its messages to the other one in the next turn of the event loop."""

    def __init__(self) -> None:
        self.other: Tube
        self.receiver: Receiver | None = None
        self.carried: list[bytes] = []
        self.is_closed = False

    async def start(self, receiver: Receiver) -> None:
        self.receiver = receiver

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        if not self.is_closed:
            self.carried.append(message)
            asyncio.get_running_loop().call_soon(self.other.take, message)

    def take(self, message: bytes) -> None:
        if self.receiver is not None and not self.is_closed:
            self.receiver.message_received(message, self)

    async def drain(self) -> None:
        await asyncio.sleep(0)

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    async def close(self) -> None:
        for end in (self, self.other):
            if not end.is_closed and end.receiver is not None:
                end.is_closed = True
                end.receiver.connection_lost(None if end is self else TransportError("the tube was closed"))


@requirement("stdio.custom-transports")
async def test_a_custom_transport_has_the_same_messages_and_lifecycle(revision: str) -> None:
    here, there = Tube(), Tube()
    here.other, there.other = there, here
    server = await start_server(there, make_server(revision, call_tool=returns("CallToolResult", content=[TEXT])))
    client = await bindings(revision).Client.open(Peer(here))
    assert (await client.call_tool(name="x")).content[0].text == "done"
    sent = [json.loads(message)["method"] for message in here.carried]
    assert sent == [*beginning(revision), "tools/call"]
    await client.connection.aclose()
    assert await server.wait_closed() == "the tube was closed"
    with pytest.raises(ConnectionClosed):
        await client.call_tool(name="x")
