"""Ask a live server, which is a program or has a URL, for its tools."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from mcp_bindgen.diagnostics import InputError, Location
from mcp_bindgen.emit.python.package import revision_folder
from mcp_bindgen.ingest.revisions import legacy_revisions

STDERR_LINES = 12
"""How many lines are shown when it fails: of its standard error, and on what was wrong with its messages."""
_REFUSED = -1
"""The error code of a user who refuses sampling (specification, client/sampling)."""
_CAPABILITIES: Mapping[str, Any] = {
    "sampling": {"tools": {}, "context": {}},
    "elicitation": {"form": {}, "url": {}},
    "roots": {"listChanged": True},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a server is started.

    Attributes:
        words: the program and its arguments.
        env: environment variables to set for it.
        cwd: its working directory; None for ours.
    """

    words: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a server is reached over HTTP.

    Attributes:
        url: its URL.
        headers: headers of every request, which may be secret.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server says: who it is, and its tools as plain JSON.

    `gated` names the tools that it shows only to clients which declare capabilities.
    """

    server: str
    version: str
    revision: str
    tools: tuple[dict[str, Any], ...]
    gated: frozenset[Any] = frozenset()


def list_live(target: Command | Endpoint, *, timeout: float, find_gated: bool = False) -> Listing:
    """Start or reach a server, ask for all its tools in the newest revision that it speaks, and leave it.

    All client capabilities are declared, so that no tool is hidden. What the server asks meanwhile is refused:
    elicitation is declined, sampling is an error, and there are no roots.

    Args:
        target: how to start it, or where it is.
        timeout: seconds for all of it.
        find_gated: start it once more and declare nothing, to find the tools that it hides then.

    Raises:
        InputError: the program cannot be run, or the URL not be reached; or the server does not speak the protocol, or
            does not answer in time.
    """
    where = Location(source=name_of(target))
    try:
        from mcp_runtime.errors import McpError
    except ImportError as error:
        raise InputError.at(where, f"the runtime cannot be imported: {error}") from None
    said: list[str] = []
    try:
        return asyncio.run(asyncio.wait_for(_list_all(target, said, find_gated), timeout))
    except TimeoutError:
        message = f"the server did not list its tools within {timeout:g} s"
        raise InputError.at(where, message, lines=said) from None
    except ValueError as error:
        raise InputError.at(where, str(error)) from None
    except McpError as error:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        lines = said or rest
        # The last words of a server that died are in the message as well.
        first = first.partition(lines[0])[0].rstrip(" :;") if lines and lines[0] in first else first
        raise InputError.at(where, f"the server's tools cannot be listed: {first}", lines=lines) from None


def name_of(target: Command | Endpoint) -> str:
    """Return what a server is called in messages: its program, or its URL without what may be secret."""
    if isinstance(target, Command):
        return target.words[0]
    parts = urlsplit(target.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


async def _list_all(target: Command | Endpoint, said: list[str], find_gated: bool) -> Listing:
    listing = await _list(target, said, declares=True)
    if not find_gated:
        return listing
    shown = {str(tool.get("name")) for tool in (await _list(target, said, declares=False)).tools}
    gated = frozenset(tool.get("name") for tool in listing.tools if str(tool.get("name")) not in shown)
    return Listing(
        server=listing.server, version=listing.version, revision=listing.revision, tools=listing.tools, gated=gated
    )


async def _list(target: Command | Endpoint, said: list[str], *, declares: bool) -> Listing:
    from mcp_runtime.client import ClientOptions, open_any
    from mcp_runtime.tools import list_tools

    def listen(line: str) -> None:
        said.append(line.rstrip())
        del said[:-STDERR_LINES]

    def complain(error: BaseException) -> None:
        listen(str(error))

    bindings = [_binding(revision_folder(revision)) for revision in reversed(legacy_revisions())]
    handlers = [_refusing(binding) for binding in bindings] if declares else []
    options = ClientOptions(capabilities=_CAPABILITIES) if declares else ClientOptions()
    async with _connect(target, listen) as peer:
        client = await open_any(
            peer, *(binding.Client for binding in bindings), handlers=handlers, options=options, require=("tools",)
        )
        connection = client.connection
        connection.on_error(complain)
        tools = [tool async for tool in list_tools(client)]
        info = connection.peer_info
        return Listing(
            server=str(info.get("name", "")),
            version=str(info.get("version", "")),
            revision=connection.revision,
            tools=tuple(tools),
        )


def _connect(target: Command | Endpoint, listen: Callable[[str], None]) -> AbstractAsyncContextManager[Any]:
    if isinstance(target, Endpoint):
        from mcp_runtime.transports.http import connect_http

        return connect_http(target.url, headers=target.headers)
    from mcp_runtime.transports.stdio import connect_stdio

    return connect_stdio(*target.words, stderr=listen, env=target.env, cwd=target.cwd)


def _binding(name: str) -> Any:
    return import_module(f"mcp_bindings.{name}")


def _refusing(binding: Any) -> Any:
    """Return handlers that declare all they can, and open, show and allow nothing."""
    from mcp_runtime.errors import PeerError

    async def list_roots(self: Any, params: Any, ctx: Any) -> Any:
        return binding.ListRootsResult(roots=[])

    async def create_message(self: Any, params: Any, ctx: Any) -> Any:
        raise PeerError(_REFUSED, "refused: the tools are only listed")

    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        return binding.ElicitResult(action="decline")

    known = {"list_roots": list_roots, "create_message": create_message, "elicit": elicit}
    answers = {name: handler for name, handler in known.items() if hasattr(binding.ClientHandlers, name)}
    return type("Refusing", (binding.ClientHandlers,), answers)()
