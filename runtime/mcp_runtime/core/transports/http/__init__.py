"""MCP over HTTP: endpoints as ASGI applications, and client transports (specification: basic/transports).

At the server a request goes one way, through the files of `server/`:

1. `access`: an `Application` reads the headers, checks the host and the origin, and determines the sender.
2. `app`: the type, the accepted types and the body are checked. The body tells the era.
3. In a session, `sessions` finds the connection of the client. In the modern era, all clients have one: `modern`
   compares the headers with the body, and determines the requester.
4. The connection receives the message over a channel of its own, a `streams.Stream`, and a handler runs.
5. What the connection sends on that channel is the response: a single message as JSON, several as events. `outlet` has
   what its client has not read yet; `events` stores what a client may ask for again.

Whatever is wrong is raised as a `Refusal` with a row of `statuses`, the only table of statuses.

The client is in `client/`: `streamable` sends requests and reads their answers, in sessions and without them.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Unpack

from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.transports.http.events import Event, EventStore, MemoryEventStore
from mcp_runtime.core.transports.http.server.access import HttpServerOptions, SseServerOptions
from mcp_runtime.core.transports.http.statuses import HttpLimits

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers
    from mcp_runtime.core.handshake.client import Peer
    from mcp_runtime.core.transports.http.client.endpoint import HttpClientOptions
    from mcp_runtime.core.transports.http.client.posting import SseClientOptions
    from mcp_runtime.core.transports.http.server.app import HttpApp

__all__ = [
    "Event",
    "EventStore",
    "HttpLimits",
    "HttpServerOptions",
    "MemoryEventStore",
    "SseServerOptions",
    "asgi_app",
    "connect_http",
    "connect_sse",
]


def asgi_app(*servers: "ServerHandlers", **options: Unpack[HttpServerOptions]) -> "HttpApp":
    """Create an MCP endpoint: an ASGI application that answers every path routed to it.

    Mount it in a Starlette or FastAPI application, and use `HttpApp.lifespan` as its ``lifespan``; or run it on its
    own.

    Args:
        servers: one instance of a generated `Server` per revision; the client's choice decides which one answers.
        options: see `HttpServerOptions`.

    Raises:
        TypeError: an argument is not an instance of a generated `Server`.
        ValueError: there is no server, two servers have the same revision, or a host or origin is not valid; or there
            are both `auth` and `principal`, or functions that need scopes and no `auth`.
    """
    from mcp_runtime.core.transports.http.server.app import HttpApp

    refuse_unknown(options, HttpServerOptions.__optional_keys__)
    return HttpApp(servers, options)


@asynccontextmanager
async def connect_http(url: str, **options: "Unpack[HttpClientOptions]") -> AsyncGenerator["Peer"]:
    """Connect to a server over HTTP, for as long as the context lasts; then the session is ended.

    The connection is opened when the peer is first used. Needs the extra ``mcp-bindings[http]``.

    Args:
        url: the server's endpoint: ``https://example.com/mcp``.
        options: see `HttpClientOptions`.

    Raises:
        ValueError: the URL is not an HTTP URL.
        ModuleNotFoundError: the extra is not installed.
    """
    from mcp_runtime.core.handshake.client import Peer

    with http_extra():
        from mcp_runtime.core.transports.http.client.endpoint import HttpClientOptions
        from mcp_runtime.core.transports.http.client.streamable import HttpClientTransport

    refuse_unknown(options, HttpClientOptions.__optional_keys__)
    transport = HttpClientTransport(url, **options)
    async with aclosing(Peer(transport, transport.older)) as peer:
        yield peer


@asynccontextmanager
async def connect_sse(url: str, **options: "Unpack[SseClientOptions]") -> AsyncGenerator["Peer"]:
    """Connect to a server over HTTP+SSE, the deprecated transport of 2024-11-05, for as long as the context lasts.

    The connection is opened when the peer is first used. Needs the extra ``mcp-bindings[http]``.

    Args:
        url: the URL of the server's stream: ``https://example.com/sse``.
        options: see `SseClientOptions`.

    Raises:
        ValueError: the URL is not an HTTP URL.
        ModuleNotFoundError: the extra is not installed.
    """
    from mcp_runtime.core.handshake.client import Peer

    with http_extra():
        from mcp_runtime.core.transports.http.client.posting import SseClientOptions, SseClientTransport

    refuse_unknown(options, SseClientOptions.__optional_keys__)
    connect = partial(SseClientTransport, url, **options)
    async with aclosing(Peer(connect(), again=connect)) as peer:
        yield peer


@contextmanager
def http_extra() -> Generator[None]:
    """Name the extra where a library that it installs is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"HTTP needs {error.name}: pip install 'mcp-bindings[http]'"
        raise ModuleNotFoundError(message, name=error.name) from None
