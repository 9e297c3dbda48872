"""List the tools of a live server, given as a program or a URL."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.target import Said, Target, name_of, opened, probe_timeout, talk, target_of
from mcp_bindgen.tool_clients.contract import Contract, make_contract, read_contract
from mcp_bindgen.tool_clients.servers import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A server's name and its tools as plain JSON.

    `gated` names the tools that it shows only to clients which declare capabilities.
    """

    server: str
    version: str
    revision: str
    tools: tuple[dict[str, Any], ...]
    gated: frozenset[Any] = frozenset()


def list_live(target: Target, *, timeout: float, find_gated: bool = False) -> Listing:
    """Start or reach a server, ask for all its tools in the newest revision that it speaks, and leave it.

    All client capabilities are declared, so that no tool is hidden. Requests of the server in the meantime are refused:
    elicitation is declined, sampling is an error, and there are no roots.

    Args:
        target: how to start it, or where it is.
        timeout: seconds for all of it.
        find_gated: start it again without capabilities, to find the tools that it hides then.

    Raises:
        InputError: the program cannot be run, or the URL not be reached; or the server does not speak the protocol, or
            does not answer in time.
    """
    return talk(
        target,
        lambda said: _list_all(target, said, find_gated, probe_timeout(timeout)),
        timeout=timeout,
        late="did not list its tools",
        failed="the server's tools cannot be listed",
    )


async def _list_all(target: Target, said: Said, find_gated: bool, probe: float) -> Listing:
    listing = await _list(target, said, probe, declares=True)
    if not find_gated:
        return listing
    shown = {str(tool.get("name")) for tool in (await _list(target, said, probe, declares=False)).tools}
    gated = frozenset(tool.get("name") for tool in listing.tools if str(tool.get("name")) not in shown)
    return replace(listing, gated=gated)


async def _list(target: Target, said: Said, probe: float, *, declares: bool) -> Listing:
    from mcp_runtime.tools import list_tools

    refusal = "the tools are only listed" if declares else None
    packages: Sequence[Any] = packages_of(reversed(revisions()))
    async with opened(target, said, packages, refusal, require=("tools",), probe_timeout=probe) as client:
        connection = client.connection
        tools = [tool async for tool in list_tools(client)]
        info = connection.peer_info
        return Listing(
            server=str(info.get("name", "")),
            version=str(info.get("version", "")),
            revision=connection.revision,
            tools=tuple(tools),
        )


def contract_of(server: Server, timeout: float, diagnostics: Diagnostics, *, find_gated: bool = False) -> Contract:
    """Return the contract of a live server, or of a file.

    Raises:
        InputError: the tools cannot be listed or read.
    """
    if server.source is not None:
        return read_contract(server.source, diagnostics)
    target = target_of(server)
    listing = list_live(target, timeout=timeout, find_gated=find_gated)
    return make_contract(
        listing.tools,
        server=listing.server,
        version=listing.version,
        where=Location(source=listing.server or name_of(target)),
        diagnostics=diagnostics,
        gated=listing.gated,
    )
