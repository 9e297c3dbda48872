"""Streamable HTTP: an MCP endpoint as an ASGI application, and clients of one (specification: basic/transports)."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Unpack

from mcp_runtime.transports.http.events import EventStore, MemoryEventStore
from mcp_runtime.transports.http.limits import HttpLimits

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer
    from mcp_runtime.peer import Peer
    from mcp_runtime.transports.http.app import HttpApp
    from mcp_runtime.transports.http.asgi import Scope
    from mcp_runtime.transports.http.wire import HttpClientOptions

__all__ = ["EventStore", "HttpLimits", "MemoryEventStore", "asgi_app", "connect_http"]


def asgi_app(
    *servers: "AnyServer",
    hosts: Iterable[str] | None = None,
    origins: Iterable[str] = (),
    trusted_proxies: Iterable[str] = (),
    principal: "Callable[[Scope], str | None] | None" = None,
    events: EventStore | None = None,
    resumable: bool = True,
    limits: HttpLimits | None = None,
) -> "HttpApp":
    """Make an MCP endpoint: an ASGI application that answers every path which is routed to it.

    Mount it in an application of Starlette or FastAPI, whose ``lifespan`` is then `HttpApp.lifespan`, or run it alone.

    Args:
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.
        hosts: the hosts that requests may name, with or without a port; by default those of this machine. There are
            no wildcards.
        origins: the origins of web pages that may call the endpoint, beside those on these hosts.
        trusted_proxies: addresses of proxies whose ``X-Forwarded-Host`` is believed; that of others is ignored.
        principal: says who sends a request, from its ASGI scope; a session belongs to whoever began it.
        events: keeps what was sent on streams; by default a `MemoryEventStore`.
        resumable: whether events are kept at all, so that clients can resume streams.
        limits: what clients may cost.

    Raises:
        TypeError: something else than an object of a generated `Server` is given.
        ValueError: two servers are of the same revision, or there is none; or a host or origin is not one.
    """
    from mcp_runtime.transports.http.app import HttpApp
    from mcp_runtime.transports.http.checks import Places

    if resumable and events is None:
        events = MemoryEventStore()
    return HttpApp(
        servers,
        places=Places.of(hosts, origins, trusted_proxies),
        principal=principal,
        events=events if resumable else None,
        limits=limits or HttpLimits(),
    )


@asynccontextmanager
async def connect_http(url: str, **options: "Unpack[HttpClientOptions]") -> AsyncGenerator["Peer"]:
    """Reach a server over HTTP, for as long as the context lasts; then the session is ended.

    Nothing is connected before the peer is first spoken to. Needs the extra ``mcp-bindgen[http]``.

    Args:
        url: the server's endpoint: ``https://example.com/mcp``.
        options: see `HttpClientOptions`.

    Raises:
        ValueError: the URL is not one of HTTP.
    """
    from mcp_runtime.peer import Peer
    from mcp_runtime.transports.http.client import HttpClientTransport

    peer = Peer(HttpClientTransport(url, **options))
    try:
        yield peer
    finally:
        await peer.aclose()
