"""A client without a runtime: it sends what it is told, and keeps what comes back."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp_runtime.connection import Connection
from mcp_runtime.server import start_server
from mcp_runtime.transports.memory import MemoryTransport, memory_pair
from support.receiving import OneStream


class RawClient(OneStream):
    """The far end of a server in this process.

    Attributes:
        server: the connection of the server.
        heard_messages: what the server sent, parsed.
    """

    def __init__(self, transport: MemoryTransport, server: Connection) -> None:
        self.transport = transport
        self.server = server
        self.heard_messages: list[Any] = []

    def heard(self, message: bytes) -> None:
        self.heard_messages.append(json.loads(message))

    def connection_lost(self, reason: Exception | None) -> None:
        pass

    def send(self, text: bytes) -> None:
        """Send any text."""
        self.transport.send(text)

    def request(self, id_: int | str, method: str, **params: Any) -> None:
        """Send a request."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode())

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification."""
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def answers(self, id_: int | str) -> list[Any]:
        """Return the answers to a request."""
        return [m for m in self.heard_messages if m.get("id") == id_ and "method" not in m]


@asynccontextmanager
async def raw_client(server: Any, revision: str = "2025-11-25", **capabilities: Any) -> AsyncGenerator[RawClient]:
    """Open a session with a server, by hand."""
    here, there = memory_pair()
    client = RawClient(here, await start_server(there, server))
    await here.start(client)
    info = {"name": "raw", "version": "0"}
    client.request("hello", "initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=info)
    client.notify("notifications/initialized")
    yield client
    await here.close()
    await client.server.wait_closed()
