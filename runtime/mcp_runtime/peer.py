"""Where a peer is: a transport that nobody speaks over yet, or the connection over it."""

from collections.abc import Callable

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.transport import Transport

__all__ = ["Peer"]


class Peer:
    """A peer that can be reached by a transport.

    Args:
        transport: carries the messages.
        again: makes another transport to the same peer, which starts it once more; None if nothing can.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once one was begun.
    """

    def __init__(self, transport: Transport, again: Callable[[], Transport] | None = None) -> None:
        self.transport = transport
        self._again = again
        self.connection: Connection | None = None

    def renew(self) -> bool:
        """Take another transport in place of one that was lost; returns whether there is one."""
        if self._again is None:
            return False
        self.transport = self._again()
        return True

    async def aclose(self) -> None:
        """End the conversation and the transport; harmless when called again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()
