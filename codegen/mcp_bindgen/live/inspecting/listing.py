"""List the tools of a live server, given as a program or a URL."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp_bindgen.diagnostics import Diagnostics, Location
from mcp_bindgen.live.bindings import packages_of, revisions
from mcp_bindgen.live.output import ServerOutput
from mcp_bindgen.live.target import Target, name_of, opened, probe_timeout, talk, target_of
from mcp_bindgen.tool_clients.contract import Contract, make_contract, read_contract
from mcp_bindgen.tool_clients.servers import Server


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
