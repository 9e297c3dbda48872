"""Where a peer is: a transport that nobody speaks over yet, or the connection over it."""

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.transport import Transport


class Peer:
    """A peer that can be reached by a transport.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once one was begun.
    """

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.connection: Connection | None = None

    async def aclose(self) -> None:
        """End the conversation and the transport; harmless when called again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()
