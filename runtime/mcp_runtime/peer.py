"""A peer: a transport not yet in use, or the connection over it."""

from collections.abc import Callable

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.transport import Transport

__all__ = ["Peer"]


class Peer:
    """A peer that can be reached over a transport.

    Args:
        transport: carries the messages.
        again: returns another transport to the same peer, restarting it if necessary, or None if there is no other;
            None if there never is.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once it has begun; None before.
    """

    def __init__(self, transport: Transport, again: Callable[[], Transport | None] | None = None) -> None:
        self.transport = transport
        self._again = again
        self.connection: Connection | None = None

    def renew(self) -> bool:
        """Replace a lost transport with a new one; return whether that was possible."""
        found = self._again() if self._again is not None else None
        self.transport = found or self.transport
        return found is not None

    async def aclose(self) -> None:
        """Close the conversation and the transport; safe to call again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()
