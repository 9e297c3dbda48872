"""The skills of all servers of a host, each under a name that is unique among them."""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_runtime.core.errors import McpError, MissingCapability, clipped

_log: Final = logging.getLogger("mcp_runtime.host")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSkill:
    """A skill that a server lists. Its frontmatter is the server's own claim until it is loaded.

    Attributes:
        name: its name; where several skills have it, with the server in front, then with its whole path or URI.
        server: the name of its server in the configuration.
        entry: its entry in ``skills/list``.
    """

    name: str
    server: str
    entry: Any


async def skills_of(clients: Mapping[str, Any]) -> Mapping[tuple[str, str], HostSkill]:
    """Return the skills that servers list, by server and URI; a server that fails is logged and left out."""
    from mcp_runtime.extensions.skills import iter_skills

    async def listed(server: str, client: Any) -> list[tuple[str, Any]]:
        try:
            return [(server, entry) async for entry in iter_skills(client)]
        except MissingCapability:
            return []
        except McpError as error:
            _log.warning("%s: skills: %s", clipped(server, 100), clipped(str(error)))
            return []

    lists = await asyncio.gather(*(listed(*one) for one in clients.items()))
    found = {(server, entry.uri): entry for entries in lists for server, entry in entries}
    spellings = {key: _spellings(*key, entry.frontmatter) for key, entry in found.items()}
    known = Counter(name for names in spellings.values() for name in set(names))
    return {
        key: HostSkill(
            name=next((name for name in spellings[key] if known[name] == 1), spellings[key][-1]),
            server=key[0],
            entry=entry,
        )
        for key, entry in found.items()
    }


def _spellings(server: str, uri: str, frontmatter: Mapping[str, Any]) -> list[str]:
    path = uri.partition("://")[2].rpartition("/")[0]
    return [str(frontmatter.get("name")), f"{server}/{frontmatter.get('name')}", f"{server}/{path}", f"{server}/{uri}"]
