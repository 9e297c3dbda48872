"""A vanished peer is detected, and a quiet one is not disconnected."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.connection import Connection, Exchange
from mcp_runtime.core.connection.calls import Proceed
from mcp_runtime.core.connection.transport import ANSWER_SENT, Receiver, Sent, Transport
from mcp_runtime.core.errors import ConnectionClosed, PeerError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.protocol.dispatch import State
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.memory import memory_pair
from support.programs import quick_python
from support.talk import raw
from support.together import together

WATCHFUL = ClientOptions(ping_interval=0.1, ping_timeout=0.1)
SILENT = "the peer was silent for 0.1 s and did not answer a ping within 0.1 s"

STALLED = """
import json, sys, time
request = json.loads(sys.stdin.readline())
info = {"name": "stalled", "version": "0"}
result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
time.sleep(60)
"""


class Idle(v.Server):
    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        await asyncio.sleep(60)
        return v.ListToolsResult(tools=[])


class Watchful(Idle):
    options = ServerOptions(ping_interval=0.1, ping_timeout=0.1)


class Patient(Idle):
    options = ServerOptions(ping_interval=0.1, ping_timeout=5)


class Clogged(Transport):
    """A transport whose peer has stopped reading: what is sent waits forever."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._is_clogged = False
        self._closed = asyncio.Event()

    def clog(self) -> None:
        self._is_clogged = True

    async def start(self, receiver: Receiver) -> None:
        await self._inner.start(receiver)

    def send(self, message: bytes, about: Sent = ANSWER_SENT) -> None:
        if not self._is_clogged:
            self._inner.send(message)

    async def drain(self) -> None:
        if self._is_clogged:
            await self._closed.wait()

    def pause_reading(self) -> None:
        self._inner.pause_reading()

    def resume_reading(self) -> None:
        self._inner.resume_reading()

    async def close(self) -> None:
        self._closed.set()
        await self._inner.close()


async def closed(connection: Connection) -> tuple[str, float]:
    """Wait for the end of a connection; return the reason and how long it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.timeout(15):
        return await connection.wait_closed(), loop.time() - begun


@pytest.mark.slow
async def test_a_hanging_process_is_detected(tmp_path: Path) -> None:
    program = tmp_path / "stalled.py"
    program.write_text(STALLED, "utf-8")
    async with connect_stdio(quick_python(), program) as peer:
        client = await v.Client.open(peer, options=WATCHFUL)
        reason, _ = await closed(client.connection)
        assert reason == SILENT


@pytest.mark.usefixtures("virtual_time")
class TestClient:
    async def test_a_server_that_stops_reading_is_detected(self) -> None:
        here, there = memory_pair()
        server = await start_server(there, Idle())
        client = await v.Client.open(Peer(here), options=WATCHFUL)
        there.pause_reading()
        call = asyncio.create_task(client.list_tools())
        reason, seconds = await closed(client.connection)
        assert reason == SILENT == client.connection.closed_because
        assert seconds > 0.15
        assert client.connection.state is State.CLOSED
        with pytest.raises(ConnectionClosed, match="did not answer a ping"):
            await call
        with pytest.raises(ConnectionClosed, match="did not answer a ping"):
            await client.list_tools()
        await server.wait_closed()

    async def test_a_stuck_transport_is_detected(self) -> None:
        here, there = memory_pair()
        server = await start_server(there, Idle())
        transport = Clogged(here)
        client = await v.Client.open(Peer(transport), options=WATCHFUL)
        transport.clog()
        reason, _ = await closed(client.connection)
        assert reason == SILENT
        await server.wait_closed()

    async def test_a_responsive_server_is_not_disconnected(self) -> None:
        seen: list[str] = []
        options = ClientOptions(
            ping_interval=0.05, ping_timeout=0.1, trace=lambda way, message: seen.append(f"{way} {message.decode()}")
        )
        async with together(v.Client, Idle(), options=options) as client:
            seen.clear()
            await asyncio.sleep(0.4)
            assert client.connection.closed_because is None
        pings = [line for line in seen if line.startswith("sent") and '"ping"' in line]
        assert 2 <= len(pings) <= 8

    async def test_messages_are_signs_of_life(self) -> None:
        seen: list[bytes] = []
        options = ClientOptions(ping_interval=0.2, trace=lambda way, message: seen.append(message))
        async with together(v.Client, Idle(), options=options) as client:
            for _ in range(10):
                await client.ping()
                await asyncio.sleep(0.05)
            assert [json.loads(message).get("id") for message in seen if b'"ping"' in message] == [*range(2, 12)]

    async def test_a_ping_that_was_not_sent_proves_nothing(self) -> None:
        refused: list[str] = []

        async def refuse(exchange: Exchange, proceed: Proceed) -> Any:
            if exchange.method.name != "ping":
                return await proceed()
            refused.append(exchange.method.name)
            raise PeerError(429, "not now")

        options = ClientOptions(ping_interval=0.1, ping_timeout=0.05, middleware=(refuse,))
        async with together(v.Client, Idle(), options=options) as client:
            await asyncio.sleep(0.35)
            assert client.connection.closed_because is None
        assert 2 <= len(refused) <= 4

    async def test_pings_are_off_by_default(self) -> None:
        assert ClientOptions().ping_interval is None
        assert ServerOptions().ping_interval is None
        here, there = memory_pair()
        server = await start_server(there, Idle())
        client = await v.Client.open(Peer(here))
        there.pause_reading()
        await asyncio.sleep(0.3)
        assert client.connection.closed_because is None
        await client.connection.aclose()
        await server.wait_closed()


@pytest.mark.usefixtures("virtual_time")
class TestServer:
    async def test_a_vanished_client_is_detected(self) -> None:
        async with raw(Watchful()) as line:
            await line.shake_hands("2025-11-25")
            reason, _ = await closed(line.server)
        assert reason == SILENT
        assert "ping" in [message.get("method") for message in line.got]

    async def test_an_error_is_an_answer_too(self) -> None:
        async with raw(Patient()) as line:
            await line.shake_hands("2025-11-25")
            answered: set[Any] = set()
            for _ in range(40):
                await asyncio.sleep(0.01)
                for message in line.got:
                    if message.get("method") == "ping" and message["id"] not in answered:
                        answered.add(message["id"])
                        line.tell(id=message["id"], error={"code": -32601, "message": "what?"})
            assert line.server.closed_because is None
            assert len(answered) >= 2
