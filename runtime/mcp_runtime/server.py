"""Serve clients over a transport."""

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.transport import Transport
from mcp_runtime.handlers import ServerHandlers, connections_of
from mcp_runtime.handshake.server import AnyServer, start_server
from mcp_runtime.requires import requires
from mcp_runtime.settings import ServerOptions

__all__ = [
    "AnyServer",
    "Connection",
    "ServerHandlers",
    "ServerOptions",
    "connections_of",
    "requires",
    "serve",
    "start_server",
]


async def serve(transport: Transport, *servers: AnyServer) -> str:
    """Serve one client until it leaves; returns why the connection ended.

    Args:
        transport: leads to the client.
        servers: one object of a generated `Server` per revision, or one that is bridged (`mcp_runtime.bridge`); the
            client's wish decides which one answers, in the modern era with each request.

    Raises:
        ValueError: two servers are of the same revision, or there is none; or results are to be kept that cannot be.
        ConnectionClosed: the client cannot be reached.
    """
    connection = await start_server(transport, *servers)
    try:
        return await connection.wait_closed()
    finally:
        await connection.aclose()
