"""Servers, clients and peers of any revision, each made for one test."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.core.stub import Handlers
from mcp_runtime.memory import memory_pair
from support.receiving import OneStream
from support.talk import MODERN, PREFIX, bindings


def make_server(revision: str, options: ServerOptions | None = None, **handlers: Any) -> Any:
    """Return a server of a revision with only these handlers, by the names of the generated methods."""
    return type("Made", (bindings(revision).Server,), {"options": options or ServerOptions(), **handlers})()


def make_handlers(revision: str, **handlers: Any) -> Any:
    """Return the client handlers of a revision, with only these methods."""
    return type("MadeHandlers", (bindings(revision).ClientHandlers,), handlers)()


def returns(type_name: str, **members: Any) -> Any:
    """Return a handler that answers with an object of a type of its revision, given by wire names."""

    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        return build(self.__binding__.revision, type_name, **members)

    return handler


def raises(error: Exception) -> Any:
    """Return a handler that raises."""

    async def handler(self: Any, params: Any, ctx: Any) -> Any:
        raise error

    return handler


def build(revision: str, type_name: str, **members: Any) -> Any:
    """Return an object of a type of a revision, given by wire names; constants and defaults may be absent."""
    return getattr(bindings(revision), type_name)(**members)


TEXT = {"type": "text", "text": "done"}
"""A text as tools and prompts return it."""
SUM = {"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}
"""The schema of the arguments of a tool."""


def is_refused(answer: Any, code: int) -> bool:
    """Whether a client refused to answer: with this code, if the revision lets it send one."""
    return "error" in answer and answer["error"]["code"] in (code, None)


class Hold:
    """A handler that a test controls: `begun` is set when it runs, `ended` keeps the reason for its cancellation."""

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
    """A server that sends raw bytes: it answers the handshake, and otherwise sends only what the test says.

    `got` contains the messages that it received, parsed, and `errors` the protocol errors that the client reported.
    """

    def __init__(self, revision: str, capabilities: dict[str, Any]) -> None:
        self.revision = revision
        self.capabilities = capabilities
        self.got: list[Any] = []
        self.errors: list[McpError] = []
        self.client: Any = None
        self.send: Callable[[bytes], None]
        self._arrived = asyncio.Event()

    def receive(self, message: bytes) -> None:
        """Keep a message, and answer the handshake."""
        self.got.append(json.loads(message))
        method = self.got[-1].get("method") if is_object(self.got[-1]) else None
        if method == "initialize":
            info = {"name": "raw", "version": "0"}
            result = {"protocolVersion": self.revision, "capabilities": self.capabilities, "serverInfo": info}
            self.tell(id=self.got[-1]["id"], result=result)
        elif method == "server/discover":
            result = {"supportedVersions": [self.revision], "capabilities": self.capabilities}
            self.tell(id=self.got[-1]["id"], result=result)
        self._arrived.set()

    def connection_lost(self, reason: Exception | None) -> None:
        """Wake the waiting tests."""
        self._arrived.set()

    @property
    def declared(self) -> Any:
        """The capabilities that the client declared."""
        params = self.got[0]["params"]
        return params["_meta"][f"{PREFIX}clientCapabilities"] if self.revision == MODERN else params["capabilities"]

    def tell(self, **members: Any) -> None:
        """Send one message."""
        self.send(json.dumps({"jsonrpc": "2.0", **members}).encode())

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> Any:
        """Wait for a message."""
        async with asyncio.timeout(30):
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
        """Ask the client, and wait for its answer; in the modern era the question is the result of its call.

        In the modern era clients send no errors: if the client refuses to answer, its call ends with an exception,
        which is returned as an ``error``; it has a code if the handler of the client gave it one.
        """
        asked = {"method": method, **({} if params is None else {"params": params})}
        if self.revision == MODERN:
            return await self._ask_inside(asked)
        self.tell(id=id_, **asked)
        return await self.until(lambda message: message.get("id") == id_ and "method" not in message)

    async def _ask_inside(self, asked: dict[str, Any]) -> Any:
        call = asyncio.ensure_future(self.client.call_tool(name="ask"))
        first = await self._call()
        self.tell(id=first["id"], result={"resultType": "input_required", "inputRequests": {"q": asked}})
        retried = asyncio.ensure_future(self._call())
        await asyncio.wait((call, retried), return_when=asyncio.FIRST_COMPLETED)
        if call.done():
            retried.cancel()
            error = call.exception()
            return {"error": {"code": getattr(error, "code", None), "message": str(error)}}
        again = await retried
        self.tell(id=again["id"], result={"resultType": "complete", "content": []})
        await call
        return {"result": again["params"]["inputResponses"]["q"]}

    async def _call(self) -> Any:
        """Wait for the next tool call, and remove it from the received messages."""
        call = await self.asked("tools/call")
        self.got.remove(call)
        return call


@asynccontextmanager
async def answering(
    revision: str,
    *,
    handlers: Handlers | None = None,
    capabilities: dict[str, Any] | None = None,
    own: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[RawServer]:
    """Connect a client of a revision to a server that sends raw bytes.

    Args:
        revision: the revision that both speak.
        handlers: answers what the server asks.
        capabilities: what the server declares.
        own: capabilities that the client declares in addition to those of its handlers.
        options: more options of the client.
    """
    here, there = memory_pair()
    asks: dict[str, Any] = {"tools": {}} if revision == MODERN else {}
    server = RawServer(revision, asks if capabilities is None else capabilities)
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
