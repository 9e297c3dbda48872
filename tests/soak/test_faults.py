"""One side is killed or falls silent during a thousand requests: every call ends, and nothing is left."""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.core.errors import ConnectionClosed, McpError, RequestTimeout
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.core.transports.stdio_client import StdioClientTransport
from soak.bad_server import GOOD
from soak.echo_server import CLIENTS
from soak.fire import resident
from soak.scale import SEED, scaled
from support.stdio_peers import eventually, is_running

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

HERE = Path(__file__).parent
CALLS = 1000


async def _outcomes(
    client: v.Client | modern.Client, name: str, options: Callable[[int], CallOptions | None] = lambda number: None
) -> list[v.CallToolResult | modern.CallToolResult | McpError]:
    """Call a tool a thousand times at once; returns how each call ended.

    Args:
        client: makes the calls.
        name: the tool.
        options: returns the options of a call, by its number.
    """

    async def call(number: int) -> v.CallToolResult | modern.CallToolResult | McpError:
        arguments = {"text": "x" * (number % 50), "seconds": 0.001 * (number % 20)}
        try:
            return await client.call_tool(name=name, arguments=arguments, options=options(number))
        except McpError as error:
            return error

    async with asyncio.timeout(60):
        return await asyncio.gather(*(call(number) for number in range(CALLS)))


@pytest.mark.parametrize("era", CLIENTS)
@pytest.mark.parametrize("number", range(scaled(1, 150)))
async def test_the_server_is_killed(number: int, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Time may pass between the end of its output and its exit status.
    monkeypatch.setattr("mcp_runtime.core.transports.stdio_client._LINGER", 30.0)
    random = Random(SEED + number)
    transport = StdioClientTransport(sys.executable, HERE / "echo_server.py")
    peer = Peer(transport)
    client: v.Client | modern.Client = await CLIENTS[era].open(peer)
    assert transport.pid is not None
    moment = random.choice((0.0, random.random() * 0.05, random.random() * 0.3))
    asyncio.get_running_loop().call_later(moment, os.kill, transport.pid, signal.SIGKILL)
    ended: Counter[str] = Counter()
    async with asyncio.timeout(100):
        while "ConnectionClosed" not in ended:
            for outcome in await _outcomes(client, random.choice(("wait", "echo"))):
                if isinstance(outcome, McpError):
                    assert isinstance(outcome, ConnectionClosed), repr(outcome)
                    assert "SIGKILL" in str(outcome), str(outcome)
                ended[type(outcome).__name__] += 1
    assert ended.total() % CALLS == 0
    assert client.connection.open_requests == 0
    await peer.aclose()


@pytest.mark.parametrize("number", range(scaled(1, 50)))
async def test_the_client_is_killed(number: int) -> None:
    random = Random(SEED + number)
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "soak.calling_client")
    client = await asyncio.create_subprocess_exec(*command, cwd=HERE.parent, stdout=pipe)
    assert client.stdout is not None
    server = int(await client.stdout.readline())
    await asyncio.sleep(random.random() * 0.3)
    assert is_running(server)
    client.kill()
    await client.wait()
    await eventually(lambda: not is_running(server))


async def test_a_server_that_stops_reading() -> None:
    before = resident()
    async with connect_stdio(sys.executable, HERE / "bad_server.py", "deaf", grace=0.5) as peer:
        client = await v.Client.open(peer)
        outcomes = await _outcomes(client, "x" * 2000, lambda number: CallOptions(timeout=60 if number < GOOD else 1))
        assert Counter(type(outcome) for outcome in outcomes) == {v.CallToolResult: GOOD, RequestTimeout: CALLS - GOOD}
        assert resident() - before < 30_000
        assert client.connection.closed_because is None


@pytest.mark.parametrize(("how", "why"), [("mute", "closed its output"), ("half", "in the middle of a message")])
async def test_a_server_that_breaks_off(how: str, why: str) -> None:
    async with connect_stdio(sys.executable, HERE / "bad_server.py", how, grace=0.5) as peer:
        client = await v.Client.open(peer)
        outcomes = await _outcomes(client, "x")
        failed = [outcome for outcome in outcomes if isinstance(outcome, McpError)]
        assert len(outcomes) - len(failed) == GOOD
        for error in failed:
            assert isinstance(error, ConnectionClosed)
            assert why in str(error), str(error)
