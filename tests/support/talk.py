"""A real client and server of one revision, connected in memory, with access to every message."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from mcp_runtime.core.connection import Connection
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import Handlers
from mcp_runtime.memory import MemoryTransport, memory_pair
from support.receiving import OneStream

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
_ADDED = ("_meta", "cacheScope", "resultType", "ttlMs")
"""What a server of the modern era adds to results."""


def of_sender(revision: str, capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` in which a modern-era request declares the revision and capabilities of its sender."""
    return {f"{PREFIX}protocolVersion": revision, f"{PREFIX}clientCapabilities": capabilities}


def plain(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without the properties that a modern-era server adds."""
    return {name: value for name, value in result.items() if name not in _ADDED}


def idle(revision: str) -> str:
    """Return a request that every server answers."""
    return "server/discover" if revision == MODERN else "ping"


def bindings(revision: str) -> Any:
    """Import the bindings of a revision."""
    return import_module(f"mcp_bindings.v{revision.replace('-', '_')}")


@dataclass(slots=True)
class Talk:
    """Both ends of a conversation.

    `sent` and `received` are the messages that the client sent and received, parsed. `errors` are the errors that its
    connection reported, and `complaints` those that the server's connection reported.
    """

    client: Any
    server: Connection
    sent: list[Any] = field(default_factory=list[Any])
    received: list[Any] = field(default_factory=list[Any])
    errors: list[McpError] = field(default_factory=list[McpError])
    complaints: list[McpError] = field(default_factory=list[McpError])

    def note(self, way: str, message: bytes) -> None:
        """Record a message that the client's trace hook saw."""
        (self.sent if way == "sent" else self.received).append(json.loads(message))


@asynccontextmanager
async def talk(
    server: Any,
    *,
    handlers: Handlers | None = None,
    client: Callable[..., ClientOptions] = ClientOptions,
    **options: Any,
) -> AsyncGenerator[Talk]:
    """Connect a client of the server's revision to it.

    Args:
        server: an instance of a generated `Server`.
        handlers: answers the requests of the server.
        client: returns the options of the client; called with the trace hook.
        options: more options of the client.
    """
    here, there = memory_pair()
    held: list[Talk] = []
    early: list[tuple[str, bytes]] = []

    def trace(way: str, message: bytes) -> None:
        if held:
            held[0].note(way, message)
        else:
            early.append((way, message))

    connection = await start_server(there, server)
    complaints: list[McpError] = []
    connection.on_error(complaints.append)
    package = import_module(server.__binding__.package)
    opened = await package.Client.open(Peer(here), handlers=handlers, options=client(trace=trace, **options))
    conversation = Talk(client=opened, server=connection, complaints=complaints)
    opened.connection.on_error(conversation.errors.append)
    for way, message in early:
        conversation.note(way, message)
    held.append(conversation)
    before = asyncio.all_tasks()
    try:
        yield conversation
    finally:
        await opened.connection.aclose()
        await connection.wait_closed()
        assert not {task for task in asyncio.all_tasks() - before if not task.done()}


@asynccontextmanager
async def raw(server: Any, *more: Any) -> AsyncGenerator["Raw"]:
    """Connect to a server without a client: messages are raw bytes."""
    here, there = memory_pair()
    connection = await start_server(there, server, *more)
    line = Raw(connection)
    connection.on_error(line.errors.append)
    await here.start(line)
    line.send, line.transport = here.send, here
    try:
        yield line
    finally:
        await here.close()
        await connection.wait_closed()


class Raw(OneStream):
    """A peer that sends raw bytes.

    `got` holds the messages that it received, parsed, and `meta` the `_meta` of its requests in the modern era.
    """

    def __init__(self, server: Connection) -> None:
        self.server = server
        self.meta: Mapping[str, Any] = {}
        self.got: list[Any] = []
        self.errors: list[McpError] = []
        self.send: Callable[[bytes], None]
        self.transport: MemoryTransport
        self._arrived = asyncio.Event()

    def receive(self, message: bytes) -> None:
        """Keep a message."""
        self.got.append(json.loads(message))
        self._arrived.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """Wake the waiting tests."""
        self._arrived.set()

    def tell(self, **members: Any) -> None:
        """Send one message."""
        params = members.get("params", {})
        if self.meta and {"id", "method"} <= members.keys() and is_object(params):
            members["params"] = {**params, "_meta": {**self.meta, **params.get("_meta", {})}}
        self.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    async def ask(self, method: str, params: Any = None, id_: Any = 1) -> Any:
        """Send a request and wait for its answer."""
        self.tell(id=id_, method=method, **({} if params is None else {"params": params}))
        return await self.answer(id_)

    async def arrived(self) -> Any:
        """Wait for a message, and remove it from the received ones."""
        async with asyncio.timeout(30):
            while not self.got:
                self._arrived.clear()
                await self._arrived.wait()
        return self.got.pop(0)

    async def answer(self, id_: Any) -> Any:
        """Wait for the answer of a request."""
        async with asyncio.timeout(30):
            while True:
                for message in self.got:
                    if is_object(message) and message.get("id") == id_ and "method" not in message:
                        return message
                self._arrived.clear()
                await self._arrived.wait()

    async def shake_hands(self, revision: str, **capabilities: Any) -> Any:
        """Do the handshake, or its modern-era counterpart; returns the result."""
        if revision == MODERN:
            self.meta = of_sender(revision, capabilities)
            return (await self.ask("server/discover", id_="hello"))["result"]
        info = {"name": "raw", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": info}
        answer = await self.ask("initialize", params, id_="hello")
        self.tell(method="notifications/initialized")
        return answer["result"]


__all__ = [
    "LEGACY",
    "MODERN",
    "PREFIX",
    "Raw",
    "ServerOptions",
    "Talk",
    "bindings",
    "idle",
    "of_sender",
    "plain",
    "raw",
    "talk",
]
