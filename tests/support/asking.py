"""A client of 2026-07-28 that sends raw bytes and is asked for input during its requests."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.handshake.server import start_server
from support.channels import Stream, Streams
from support.posting import answer

PREFIX = "io.modelcontextprotocol/"
FORM = v.ElicitRequestFormParamsRequestedSchema(properties={})
YES: dict[str, Any] = {"action": "accept", "content": {}}


def meta(**more: Any) -> dict[str, Any]:
    """Return the `_meta` of a request from a client that can answer forms."""
    said: dict[str, Any] = {"protocolVersion": "2026-07-28", "clientCapabilities": {"elicitation": {}}, **more}
    return {f"{PREFIX}{name}": value for name, value in said.items()}


class Line:
    """A client that sends raw bytes: `call` sends a request over its own channel and returns the response."""

    def __init__(self, streams: Streams, connection: Connection) -> None:
        self.streams = streams
        self.connection = connection
        self.next_id = 0

    async def call(self, name: str, *, channel: Stream | None = None, **params: Any) -> Any:
        return (await self.over(channel or Stream(), name, **params))[-1]

    async def over(
        self,
        channel: Stream,
        name: str,
        *,
        method: str = "tools/call",
        _meta: Any = None,
        args: Any = None,
        **params: Any,
    ) -> list[Any]:
        self.next_id += 1
        request_params = {"name": name, "_meta": _meta or meta(), **({"arguments": args} if args else {}), **params}
        self.streams.deliver(channel, id=self.next_id, method=method, params=request_params)
        await answer(channel, self.next_id)
        return list(channel.got)


@asynccontextmanager
async def line(server: ServerHandlers) -> AsyncGenerator[Line]:
    """Connect a client to a server; fail if either leaves a task behind."""
    before = asyncio.all_tasks()
    streams = Streams()
    connection = await start_server(streams, server)
    try:
        yield Line(streams, connection)
    finally:
        await connection.aclose()
        await asyncio.sleep(0)
        assert not {task for task in asyncio.all_tasks() - before if not task.done()}


def asked(message: Any) -> tuple[dict[str, Any], str]:
    """Return the questions in a result, keyed by their messages, and its state."""
    result = message["result"]
    assert result["resultType"] == "input_required" and "ttlMs" not in result
    assert result["_meta"][f"{PREFIX}serverInfo"]
    v.InputRequiredResult.model_validate(result)
    requests: dict[str, Any] = result["inputRequests"]
    return {request["params"]["message"]: key for key, request in requests.items()}, result["requestState"]


def text(message: Any) -> str:
    """Return the text of a tool's result."""
    return str(message["result"]["content"][0]["text"])


class Known(Stream):
    """A channel whose transport knows the principal."""

    def __init__(self, principal: str) -> None:
        super().__init__()
        self.principal = Principal(principal)
        self.headers = {}


def altered(state: str, place: int) -> str:
    """Return a state with one character changed."""
    return state[:place] + ("x" if state[place] != "x" else "y") + state[place + 1 :]
