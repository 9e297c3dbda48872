"""Conversations of both eras: how each begins, and what each request of the modern era carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_bindgen.check.peer import PAUSE, Peer, list_of, object_of
from mcp_bindgen.check.requirements import LEGACY

_META: Final = "io.modelcontextprotocol/"
CLIENT: Final = {"name": "mcp-bindgen-check", "version": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation in one revision: the client, the revision, and what the server declared.

    `has_legacy` says whether the server also speaks a revision of the legacy era.
    """

    peer: Peer
    revision: str
    capabilities: Mapping[str, Any]
    server: Mapping[str, Any]
    has_legacy: bool = False

    @property
    def is_legacy(self) -> bool:
        """Whether the conversation began with a handshake."""
        return self.revision in LEGACY

    async def ask(
        self, method: str, params: Mapping[str, Any] | None = None, *, is_valid: bool = True
    ) -> dict[str, Any]:
        """Send a request in the form of this revision; return the answer.

        Raises:
            Silent: the server does not answer.
        """
        if self.is_legacy:
            return await self.peer.ask(method, None if params is None else dict(params), is_valid=is_valid)
        return await self.peer.ask(method, {"_meta": meta(self.revision), **(params or {})}, is_valid=is_valid)


def meta(revision: str) -> dict[str, Any]:
    """Return the metadata of a request of the modern era (basic, "_meta")."""
    return {
        f"{_META}protocolVersion": revision,
        f"{_META}clientCapabilities": {},
        f"{_META}clientInfo": CLIENT,
    }


async def greet(peer: Peer, revision: str) -> dict[str, Any]:
    """Send the first request of a revision, and return the answer.

    Raises:
        Silent: the server does not answer.
    """
    if revision in LEGACY:
        return await peer.ask("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT})
    return await peer.ask("server/discover", {"_meta": meta(revision)})


async def begin(peer: Peer, revision: str) -> Talk | None:
    """Begin a conversation; None if the server does not speak the revision, which it may decline.

    Raises:
        Silent: the server does not answer.
    """
    result = object_of((await greet(peer, revision)).get("result"))
    if revision in LEGACY:
        if result.get("protocolVersion") != revision:
            return None
        peer.revision = revision
        await peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await peer.settle(PAUSE)
    elif revision not in list_of(result.get("supportedVersions")):
        return None
    return Talk(
        peer=peer,
        revision=revision,
        capabilities=object_of(result.get("capabilities")),
        server=object_of(result.get("serverInfo"))
        or object_of(object_of(result.get("_meta")).get(f"{_META}serverInfo")),
    )
