"""Servers and clients that speak their own revision only."""

from dataclasses import replace
from typing import Any, Final, TypeVar

from mcp_runtime.core.binding import Revisions
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.settings import ClientOptions

OWN: Final = ClientOptions(revisions="own")
"""Options of a client that is not bridged."""

ServerT = TypeVar("ServerT", bound=ServerHandlers)


def own(server: ServerT) -> ServerT:
    """Let a server speak its own revision only."""
    return speaking(server, "own")


def speaking(server: ServerT, revisions: Revisions) -> ServerT:
    """Let a server speak some revisions."""
    changed: Any = server
    changed.options = replace(server.effective_options(), revisions=revisions)
    return server
