"""One conversation with one peer, on asyncio: incoming and outgoing messages, and what is known of the peer."""

from mcp_runtime.core.connection.calls import Way
from mcp_runtime.core.connection.connection import Connection, Exchange

__all__ = ["Connection", "Exchange", "Way"]
