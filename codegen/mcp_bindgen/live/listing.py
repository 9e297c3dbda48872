"""Ask a live server, which is a program, for its tools."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.diagnostics import InputError, Location

STDERR_LINES = 5
"""How many lines are shown when it fails: of its standard error, and on what was wrong with its messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a server says: who it is, and its tools as plain JSON."""

    server: str
    version: str
    revision: str
    tools: tuple[dict[str, Any], ...]


def list_live(command: Sequence[str], *, timeout: float) -> Listing:
    """Start a server, ask for all its tools in the newest revision that it speaks, and end it.

    Args:
        command: the program and its arguments.
        timeout: seconds for all of it.

    Raises:
        InputError: the program cannot be run, does not speak the protocol, or does not answer in time.
    """
    where = Location(source=command[0])
    try:
        from mcp_runtime.errors import McpError
    except ImportError as error:
        raise InputError.at(where, f"the runtime cannot be imported: {error}") from None
    said: list[str] = []
    try:
        return asyncio.run(asyncio.wait_for(_list(command, said), timeout))
    except TimeoutError:
        raise InputError.at(where, f"the server did not list its tools within {timeout:g} s{_said(said)}") from None
    except McpError as error:
        raise InputError.at(where, f"the server's tools cannot be listed: {error}") from None


async def _list(command: Sequence[str], said: list[str]) -> Listing:
    from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
    from mcp_runtime.client import open_any
    from mcp_runtime.tools import list_tools
    from mcp_runtime.transports.stdio import connect_stdio

    def listen(line: str) -> None:
        said.append(line)
        del said[:-STDERR_LINES]

    async with connect_stdio(*command, stderr=listen) as peer:
        client = await open_any(
            peer,
            v2025_11_25.Client,
            v2025_06_18.Client,
            v2025_03_26.Client,
            v2024_11_05.Client,
            require=("tools",),
        )
        connection = client.connection
        connection.on_error(lambda error: listen(str(error)))
        tools = [tool async for tool in list_tools(client)]
        info = connection.peer_info
        return Listing(
            server=str(info.get("name", "")),
            version=str(info.get("version", "")),
            revision=connection.revision,
            tools=tuple(tools),
        )


def _said(lines: Sequence[str]) -> str:
    return f"; before that: {' | '.join(line.strip() for line in lines)}" if lines else ""
