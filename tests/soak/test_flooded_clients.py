"""Clients flooded by their server process, and subscribers, one of which does not read."""

import asyncio
import json
import logging
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.client import ClientOptions
from mcp_runtime.errors import RequestTimeout
from mcp_runtime.features.subscriptions import list_changed
from mcp_runtime.middleware.validate import Validate
from mcp_runtime.server import ServerOptions
from mcp_runtime.stub import CallOptions
from mcp_runtime.transports.stdio import connect_stdio
from soak.fire import resident
from soak.flood_server import FloodServer
from soak.scale import scaled
from support.tcp import serve_tcp

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

SERVER = Path(__file__).with_name("flooding_server.py")
LIMIT_MB = 64


class Busy(v.ClientHandlers):
    """Never ends."""

    async def create_message(
        self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
    ) -> v.CreateMessageResult | v.CreateTaskResult:
        await asyncio.sleep(3600)
        raise AssertionError

    async def on_logging_message(self, params: v.LoggingMessageNotificationParams, ctx: v.ClientContext) -> None:
        await asyncio.sleep(3600)


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Only ask for reports."""


@pytest.mark.parametrize("kind", ["requests", "notifications", "progress", "answers"])
async def test_a_server_that_floods_its_client(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "mcp_runtime")
    options = ClientOptions(max_bytes=LIMIT_MB << 20)
    # A flooding server does not read; after 1 MB of refusals its client would wait for it to do so.
    count = scaled(3_000, 6_000 if kind == "requests" else 30_000)
    command = (sys.executable, SERVER, kind, str(count))
    async with connect_stdio(*command) as peer:
        client = await v.Client.open(peer, handlers=Busy(), options=options)
        await client.ping()
        before = resident()
        result = await client.call_tool(name="x", options=CallOptions(progress=_ignore, timeout=100))
        assert isinstance(result.content[0], v.TextContent)
        grown = (resident() - before) // 1024
        print(f"memory +{grown} MB, {len(caplog.text)} characters of log")
        assert grown < LIMIT_MB + 40
        assert len(caplog.text) < 200_000
        await client.ping()


async def test_a_lookup_that_is_never_answered_ends_with_its_call() -> None:
    options = ClientOptions(middleware=(Validate(),))
    async with connect_stdio(sys.executable, SERVER, "lists", "0") as peer:
        client = await v.Client.open(peer, options=options)
        async with asyncio.timeout(60):
            with pytest.raises(RequestTimeout, match="tools/call"):
                await client.call_tool(name="x", options=CallOptions(timeout=0.5))


class Subscriber:
    """A client over a socket that can stop reading."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.received = 0

    async def open(self) -> None:
        """Do the handshake."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 16)
        self._writer.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        info = {"name": "x", "version": "0"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        self._send(id=1, method="initialize", params=hello)
        await self._reader.readline()
        self._send(method="notifications/initialized")
        self._send(id=2, method="ping")
        await self._reader.readline()

    async def read(self) -> None:
        """Count the received messages."""
        while await self._reader.readline():
            self.received += 1

    async def close(self) -> None:
        """Disconnect."""
        self._writer.transport.abort()
        await asyncio.sleep(0)

    def _send(self, **message: Any) -> None:
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


class Listed(FloodServer):
    """Announces changes."""

    options = ServerOptions(name="listed", list_changed=True)


async def test_a_subscriber_that_does_not_read_delays_no_other() -> None:
    server = Listed()
    async with serve_tcp(server) as port:
        clients = [Subscriber(port) for _ in range(5)]
        for client in clients:
            await client.open()
        others = clients[1:]
        reading = [asyncio.create_task(client.read()) for client in others]
        number = scaled(30_000, 1_000_000)
        for _ in range(number):
            assert await list_changed(server, "tools") == 5
        async with asyncio.timeout(scaled(100, 600)):
            while min(client.received for client in others) < number:
                await asyncio.sleep(0.01)
        for client in clients:
            await client.close()
        await asyncio.gather(*reading, return_exceptions=True)
