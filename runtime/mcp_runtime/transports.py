"""Transports: those included, with their options, and the interface of custom transports."""

from mcp_runtime.core.connection.transport import (
    ACCEPTED,
    Channel,
    Outcome,
    Receiver,
    Sent,
    Transport,
    TransportError,
    Verdict,
)
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.server import serve, serving
from mcp_runtime.core.transports.http import (
    Event,
    EventStore,
    HttpLimits,
    HttpServerOptions,
    MemoryEventStore,
    SseServerOptions,
    asgi_app,
    connect_http,
    connect_sse,
)
from mcp_runtime.core.transports.reader import LineFramer, TooLong
from mcp_runtime.core.transports.stdio import StdioServerOptions, StdioServerTransport, connect_stdio, serve_stdio
from mcp_runtime.core.transports.stdio_client import StdioClientOptions, StdioClientTransport
from mcp_runtime.memory import MemoryTransport, connect_memory, memory_pair
from mcp_runtime.web_server import serve_http, sse_app

__all__ = [
    "ACCEPTED",
    "Channel",
    "Event",
    "EventStore",
    "HttpLimits",
    "HttpServerOptions",
    "LineFramer",
    "MemoryEventStore",
    "MemoryTransport",
    "Outcome",
    "Receiver",
    "Sent",
    "SseServerOptions",
    "StdioClientOptions",
    "StdioClientTransport",
    "StdioServerOptions",
    "StdioServerTransport",
    "TooLong",
    "Transport",
    "TransportError",
    "Verdict",
    "asgi_app",
    "connect_http",
    "connect_memory",
    "connect_sse",
    "connect_stdio",
    "memory_pair",
    "serve",
    "serve_http",
    "serve_stdio",
    "serving",
    "sse_app",
    "start_server",
]
