"""Servers, clients and peers of any revision, each made for one test."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_runtime.client import ClientOptions
from mcp_runtime.errors import McpError
from mcp_runtime.peer import Peer
from mcp_runtime.protocol.jsonrpc import is_object
from mcp_runtime.server import ServerOptions
from mcp_runtime.stub import Handlers
from mcp_runtime.transports.memory import memory_pair
from support.receiving import OneStream
from support.talk import bindings


def make_server(revision: str, options: ServerOptions | None = None, **handlers: Any) -> Any:
    """Return a server of a revision that has just these handlers, by the names of the generated methods."""
    return type("Made", (bindings(revision).Server,), {"options": options or ServerOptions(), **handlers})()


def make_handlers(revision: str, **handlers: Any) -> Any:
    """Return what answers for a client of a revision, with just these handlers."""
    return type("MadeHandlers", (bindings(revision).ClientHandlers,), handlers)()


def returns(type_name: str, **members: Any) -> Any:
    """Return a handler that answers with an object of a type of its revision, given by wire names."""

    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        return made(self.__binding__.revision, type_name, **members)

    return handler


def raises(error: Exception) -> Any:
    """Return a handler that raises."""

    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        raise error

    return handler


def made(revision: str, type_name: str, **members: Any) -> Any:
    """Return an object of a type of a revision, given by wire names."""
    return getattr(bindings(revision), type_name).model_validate(members)


TEXT = {"type": "text", "text": "done"}
"""A text as tools and prompts return it."""
SUM = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
"""The schema of the arguments of a tool."""


class Hold:
    """A handler that a test can hold on to: `begun` says that it runs, `ended` keeps why it was cancelled."""

    def __init__(self, type_name: str = "CallToolResult", **members: Any) -> None:
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.ended: list[str | None] = []
        self.contexts: list[Any] = []
        answer = returns(type_name, **(members or {"content": [TEXT]}))

        async def handler(server: Any, params: Any, ctx: Any) -> Any:
            self.contexts.append(ctx)
            self.begun.set()
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.ended.append(ctx.cancel_reason)
                raise
            return await answer(server, params, ctx)

        self.handler = handler


class RawServer(OneStream):
    """A server that speaks bytes: it answers the handshake, and else only what the test says.

    `got` is what it received, parsed, and `errors` what the client complained of.
    """

    def __init__(self, revision: str, capabilities: dict[str, Any]) -> None:
        self.revision = revision
        self.capabilities = capabilities
        self.got: list[Any] = []
        self.errors: list[McpError] = []
        self.client: Any = None
        self.send: Callable[[bytes], None]
        self._arrived = asyncio.Event()

    def heard(self, message: bytes) -> None:
        """Keep a message, and answer the handshake."""
        self.got.append(json.loads(message))
        if is_object(self.got[-1]) and self.got[-1].get("method") == "initialize":
            info = {"name": "raw", "version": "0"}
            result = {"protocolVersion": self.revision, "capabilities": self.capabilities, "serverInfo": info}
            self.tell(id=self.got[-1]["id"], result=result)
        self._arrived.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """Wake who waits."""
        self._arrived.set()

    def tell(self, **members: Any) -> None:
        """Send one message."""
        self.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        """Wait for a message."""
        async with asyncio.timeout(5):
            while True:
                for message in self.got:
                    if is_object(message) and wanted(message):
                        return message
                self._arrived.clear()
                await self._arrived.wait()

    async def asked(self, method: str) -> Any:
        """Wait for a message of a method."""
        return await self.until(lambda message: message.get("method") == method)

    async def ask(self, method: str, params: Any = None, id_: Any = "s1") -> Any:
        """Send a request and wait for its answer."""
        self.tell(id=id_, method=method, **({} if params is None else {"params": params}))
        return await self.until(lambda message: message.get("id") == id_ and "method" not in message)


@asynccontextmanager
async def answering(
    revision: str,
    *,
    handlers: Handlers | None = None,
    capabilities: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[RawServer]:
    """Connect a client of a revision to a server that speaks bytes.

    Args:
        revision: the revision that both speak.
        handlers: answers what the server asks.
        capabilities: what the server declares.
        own: what the client declares besides what its handlers say.
        options: further options of the client.
    """
    here, there = memory_pair()
    server = RawServer(revision, capabilities or {})
    server.send = there.send
    await there.start(server)
    server.client = await bindings(revision).Client.open(
        Peer(here), handlers=handlers, options=ClientOptions(capabilities=own or {}, **options)
    )
    server.client.connection.on_error(server.errors.append)
    try:
        yield server
    finally:
        await server.client.connection.aclose()
        await there.close()
