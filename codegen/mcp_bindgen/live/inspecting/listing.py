"""List the tools of a live server, given as a program or a URL, or of all servers of a configuration."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from mcp_bindgen.ir.diagnostics import Diagnostics, Location
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.live.target import (
    Command,
    Endpoint,
    Target,
    authorizer,
    name_of,
    opened,
    probe_timeout,
    talk,
    target_of,
    with_remedy,
)
from mcp_bindgen.tool_clients.contract import Contract, make_contract, read_contract
from mcp_bindgen.tool_clients.servers import Server

Table: TypeAlias = Callable[[Sequence[str], Iterable[Sequence[str]]], str]
"""Lays out rows below their headings."""
MAX_UNUSABLE: Final = 20
"""How many items of one server that are not valid are shown."""


def contract_of(server: Server, timeout: float, diagnostics: Diagnostics, *, find_gated: bool = False) -> Contract:
    """Return the contract of a file, or of a live server, in the newest revision that it speaks.

    All client capabilities are declared, so that no tool is hidden. Requests of the server in the meantime are refused:
    elicitation is declined, sampling is an error, and there are no roots.

    Args:
        server: how to start it, or where it is.
        timeout: seconds for all of it.
        diagnostics: collects what is odd about the tools.
        find_gated: start it again without capabilities, to find the tools that it hides then.

    Raises:
        InputError: the tools cannot be listed or read.
    """
    if server.source is not None:
        return read_contract(server.source, diagnostics)
    target, probe = target_of(server), probe_timeout(timeout)

    async def listed(said: ServerOutput) -> Contract:
        info, tools, unusable = await _list(target, said, probe, declares=True)
        for one in unusable:
            diagnostics.warning(Location(source=str(info.get("name") or name_of(target))), f"{one}; skipped")
        shown = (await _list(target, said, probe, declares=False))[1] if find_gated else tools
        names = {str(tool.get("name")) for tool in shown}
        contract = make_contract(
            tools,
            server=str(info.get("name", "")),
            version=str(info.get("version", "")),
            where=Location(source=str(info.get("name") or name_of(target))),
            diagnostics=diagnostics,
            gated=frozenset(tool.get("name") for tool in tools if str(tool.get("name")) not in names),
        )
        return replace(contract, invalid={one.name: one.reason for one in unusable if one.name})

    late, failed = "did not list its tools", "the server's tools cannot be listed"
    return talk(target, listed, timeout=timeout, late=late, failed=failed)


async def _list(
    target: Target, said: ServerOutput, probe: float, *, declares: bool
) -> tuple[Mapping[str, Any], list[dict[str, Any]], Sequence[Any]]:
    """Return the name and version of a server, its tools, and what it lists that is not valid."""
    from mcp_runtime.tools import list_tools

    refusal = "the tools are only listed" if declares else None
    packages: Sequence[Any] = packages_of(reversed(revisions()))
    unusable: list[Any] = []
    async with opened(target, said, packages, refusal, require=("tools",), probe_timeout=probe) as client:
        listing = list_tools(client, on_page=lambda _, left_out: unusable.extend(left_out))
        return client.connection.peer_info, [tool async for tool in listing], unusable


def look(
    file: Path, timeout: float, inputs: Callable[[Mapping[str, Any]], str], step: Callable[[str], None]
) -> dict[str, dict[str, Any]]:
    """Connect all servers of a file, and return the state, error, revision, tools and unusable items of each.

    Args:
        file: the configuration.
        timeout: seconds that each server has to be ready, unless its entry says less.
        inputs: asks for the values of ``inputs``.
        step: announces what is done.

    Raises:
        ValueError: the configuration cannot be read.
    """
    from mcp_runtime.host.config import read_file

    entries = read_file(file, inputs)
    required = {entry.name for entry in entries if entry.is_required}
    # Each server is shown, also if a required one fails.
    tried = [
        replace(entry, is_required=False, startup_timeout=min(timeout, entry.startup_timeout)) for entry in entries
    ]
    step(f"connecting {', '.join(entry.name for entry in tried)}")
    log = logging.getLogger("mcp_runtime")
    level = log.level
    log.setLevel(logging.CRITICAL)  # The table has the errors.
    try:
        seen = asyncio.run(_connected(tried, timeout))
    finally:
        log.setLevel(level)
    return {name: {**one, "required": name in required} for name, one in seen.items()}


async def _connected(entries: Any, timeout: float) -> dict[str, dict[str, Any]]:
    from mcp_bindings import Client
    from mcp_runtime.host import Host, read_only

    def tokens(entry: Any) -> Any:
        return authorizer(Endpoint(url=entry.url, headers=entry.headers))

    async with Host(entries, Client, wait=2 * timeout, policy=read_only, auth=tokens) as host:
        tools = host.catalogue.values()
        return {
            name: {
                "state": server.state,
                "error": _with_remedy(server.error, server.entry),
                "revision": server.revision,
                "tools": [tool.name for tool in tools if tool.server == name],
                "unusable": [f"{each}: {item}" for each, items in server.unusable.items() for item in items],
            }
            for name, server in host.servers.items()
        }


def _with_remedy(error: str | None, entry: Any) -> str | None:
    return error and with_remedy(error, Endpoint(url=entry.url) if entry.url else Command(words=entry.command))


def servers_text(seen: Mapping[str, Mapping[str, Any]], table: Table) -> str:
    """Return the servers of a configuration, with their tools; `table` lays out rows."""
    rows = [
        (name, one["state"], one["revision"], str(len(one["tools"])), one["error"] or "") for name, one in seen.items()
    ]
    lines = [table(("server", "state", "revision", "tools", "error"), rows)]
    lines += [f"  {tool}" for one in seen.values() for tool in one["tools"]]
    for name, one in seen.items():
        unusable: list[str] = one["unusable"]
        lines += [f"  {name}: {line}" for line in unusable[:MAX_UNUSABLE]]
        if len(unusable) > MAX_UNUSABLE:
            lines.append(f"  {name}: {len(unusable) - MAX_UNUSABLE} more items are not valid (--format json has all)")
    return "\n".join(lines)
