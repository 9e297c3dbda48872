"""Look at all servers of a configuration at once."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_bindgen.live.target import Command, Endpoint, authorizer, with_remedy


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
