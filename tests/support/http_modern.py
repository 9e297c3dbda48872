"""Hand-made requests of the modern era over HTTP: each is self-contained, with headers that match its body."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import httpx2

from support.http import RawClient, browser, call, request, served

MODERN = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def meta(revision: str = MODERN, **capabilities: Any) -> dict[str, Any]:
    """Return the `_meta` of every request."""
    info = {"name": "raw", "version": "0"}
    return {
        f"{PREFIX}protocolVersion": revision,
        f"{PREFIX}clientInfo": info,
        f"{PREFIX}clientCapabilities": capabilities,
    }


def asked(method: str, params: Any = None, id_: Any = 1, *, said: Any = None) -> dict[str, Any]:
    """Make a request with the usual `_meta`, unless another is given."""
    return request(method, {**(params or {}), "_meta": meta() if said is None else said}, id_)


def called(name: str, id_: Any = 1, *, said: Any = None, **arguments: Any) -> dict[str, Any]:
    """Make a tool call."""
    return asked("tools/call", {"name": name, "arguments": arguments}, id_, said=said)


def headers_for(message: Any) -> dict[str, str]:
    """Return the headers that a message must have; one without a method gets only the header of the revision."""
    if "method" not in message:
        return {"mcp-protocol-version": MODERN}
    params: Any = message.get("params") or {}
    said: Any = params.get("_meta") or {}
    found: dict[str, str] = {
        "mcp-protocol-version": said.get(f"{PREFIX}protocolVersion", MODERN),
        "mcp-method": message["method"],
    }
    if (repeated := NAMED.get(message["method"])) is not None:
        found["mcp-name"] = params[repeated]
    return found


class ModernClient(RawClient):
    """A client without sessions; given headers replace the correct ones, and empty ones are left out."""

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        """Post a message, valid or not."""
        fitting = {} if isinstance(message, bytes) else headers_for(message)
        self.session = self._without(fitting, headers)
        return await super().post(message, **{name: value for name, value in headers.items() if value})

    @asynccontextmanager
    async def stream(self, message: Any = None, **headers: str) -> AsyncGenerator[Any]:
        """Read the response to a request as it arrives."""
        self.session = self._without(headers_for(message), headers)
        async with super().stream(message, **{name: value for name, value in headers.items() if value}) as events:
            yield events

    @staticmethod
    def _without(fitting: dict[str, str], given: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in fitting.items() if name.replace("-", "_") not in given}


@asynccontextmanager
async def modern_client(app: Any, **settings: Any) -> AsyncGenerator[ModernClient]:
    """Serve an endpoint, and yield a client of the modern era."""
    async with served(app, **settings) as url, browser(url) as http:
        yield ModernClient(http)


async def begin_with(
    revision: str, http: httpx2.AsyncClient
) -> tuple[RawClient, Callable[..., dict[str, Any]], Callable[..., dict[str, Any]]]:
    """Return a client of a revision of either era, and functions that build a simple request and a tool call."""
    if revision == MODERN:
        said = {**meta(), f"{PREFIX}logLevel": "debug"}
        return ModernClient(http), partial(asked, "tools/list"), partial(called, said=said)
    client = RawClient(http)
    await client.shake_hands(revision)
    return client, partial(request, "ping"), call
