"""`connect_stdio` and `serve_stdio`: a generated client and a generated server, each in a process of its own."""

import signal
import subprocess
import sys

import pytest

from mcp_bindings.v2025_11_25 import Client, TextContent
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.transports.stdio import connect_stdio
from support.stdio_peers import PEERS

pytestmark = pytest.mark.usefixtures("nothing_left")

SERVER = (sys.executable, str(PEERS / "entry.py"), "print")


async def test_a_client_and_a_server_speak() -> None:
    lines: list[str] = []
    async with connect_stdio(*SERVER, stderr=lines.append) as peer:
        client = await Client.open(peer)
        result = await client.call_tool(name="echo", arguments={"text": "blåbær \u2028"})
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert content.text == "blåbær \u2028"
    assert lines == ["called echo", "served"]


async def test_a_server_that_cannot_be_started_is_an_error_for_people() -> None:
    async with connect_stdio("no-such-command-here") as peer:
        with pytest.raises(McpError, match="cannot start no-such-command-here: no such command"):
            await Client.open(peer)


async def test_a_server_that_dies_at_once_says_why() -> None:
    async with connect_stdio(sys.executable, "-c", "exit('no database')", stderr=lambda _: None) as peer:
        with pytest.raises(McpError, match=r"(?s)exited with status 1.*no database"):
            await Client.open(peer)


async def test_a_connection_that_is_never_used_starts_nothing() -> None:
    async with connect_stdio("no-such-command-here"):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signals_end_a_server_quietly(number: signal.Signals) -> None:
    with subprocess.Popen(
        SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.stdin.flush()
        assert b'"id":1' in process.stdout.readline()
        process.send_signal(number)
        assert process.wait(60) == 0
        assert process.stderr.read() == b"served\n"
        assert process.stdout.read() == b""
