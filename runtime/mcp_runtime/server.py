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
    """Serve one client until it disconnects; return why the connection ended.

    Args:
        transport: the transport to the client.
        servers: one object of a generated `Server` per revision, or a bridged one (`mcp_runtime.bridge`). The client's
            choice decides which one answers; in the modern era, with each request.

    Raises:
        ValueError: there is no server, two servers have the same revision, or a method in `ServerOptions.cache` has no
            results that can be cached.
        ConnectionClosed: the client cannot be reached.
    """
    connection = await start_server(transport, *servers)
    try:
        return await connection.wait_closed()
    finally:
        await connection.aclose()
