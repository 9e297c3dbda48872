"""Streamable HTTP: an MCP endpoint as an ASGI application, and clients of one (specification: basic/transports)."""

from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypedDict, Unpack

from mcp_runtime.transports.http.events import Event, EventStore, MemoryEventStore
from mcp_runtime.transports.http.limits import HttpLimits

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer
    from mcp_runtime.peer import Peer
    from mcp_runtime.transports.http.app import HttpApp
    from mcp_runtime.transports.http.asgi import Scope
    from mcp_runtime.transports.http.sse_client import SseClientOptions
    from mcp_runtime.transports.http.sse_server import SseApp
    from mcp_runtime.transports.http.wire import HttpClientOptions

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
    "serve_http",
    "sse_app",
]


class SseServerOptions(TypedDict, total=False):
    """How HTTP+SSE is served.

    Attributes:
        hosts: see `HttpServerOptions`.
        origins: see there.
        trusted_proxies: see there.
        principal: see there.
        limits: what clients may cost.
    """

    hosts: Iterable[str] | None
    origins: Iterable[str]
    trusted_proxies: Iterable[str]
    principal: "Callable[[Scope], str | None] | None"
    limits: HttpLimits


class HttpServerOptions(TypedDict, total=False):
    """How an endpoint is served.

    Attributes:
        hosts: the hosts that requests may name, with or without a port; by default those of this machine. There are
            no wildcards.
        origins: the origins of web pages that may call the endpoint, beside those on these hosts.
        trusted_proxies: addresses of proxies whose ``X-Forwarded-Host`` is believed; that of others is ignored.
        principal: says who sends a request, from its ASGI scope; a session belongs to whoever began it.
        events: keeps what was sent on streams; by default a `MemoryEventStore`, None to keep nothing, so that no
            stream can be resumed.
        stateless: whether each request stands alone: there are no sessions, and nothing is asked of clients.
        limits: what clients may cost.
    """

    hosts: Iterable[str] | None
    origins: Iterable[str]
    trusted_proxies: Iterable[str]
    principal: "Callable[[Scope], str | None] | None"
    events: EventStore | None
    stateless: bool
    limits: HttpLimits


def asgi_app(*servers: "AnyServer", **options: "Unpack[HttpServerOptions]") -> "HttpApp":
    """Make an MCP endpoint: an ASGI application that answers every path which is routed to it.

    Mount it in an application of Starlette or FastAPI, whose ``lifespan`` is then `HttpApp.lifespan`, or run it alone.

    Args:
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.
        options: see `HttpServerOptions`.

    Raises:
        TypeError: something else than an object of a generated `Server` is given.
        ValueError: two servers are of the same revision, or there is none; or a host or origin is not one.
    """
    from mcp_runtime.transports.http.app import HttpApp
    from mcp_runtime.transports.http.checks import Places

    return HttpApp(
        servers,
        places=Places.of(options.get("hosts"), options.get("origins", ()), options.get("trusted_proxies", ())),
        principal=options.get("principal"),
        events=options["events"] if "events" in options else MemoryEventStore(),
        is_stateless=options.get("stateless", False),
        limits=options.get("limits") or HttpLimits(),
    )


def serve_http(
    *servers: "AnyServer",
    host: str = "127.0.0.1",
    port: int = 8000,
    path: str = "/mcp",
    health: str = "/health",
    sse: str = "",
    grace: float = 10.0,
    started: Callable[[str], None] | None = None,
    **options: "Unpack[HttpServerOptions]",
) -> None:
    """Serve clients over HTTP until SIGINT or SIGTERM. Needs the extra ``mcp-bindgen[http]``.

    Args:
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.
        host: the address to listen on; one that others can reach needs ``hosts``.
        port: the port, 0 for any that is free.
        path: where the endpoint is.
        health: where a page says whether the server is well (200) or stopping (503); empty for none. It tells how
            many sessions there are, and checks no Host.
        sse: where HTTP+SSE is offered beside the endpoint, for clients of 2024-11-05; empty for nowhere. See `sse_app`.
        grace: seconds in which calls may finish when the server is to end.
        started: is told the URL, without the path, once clients can connect.
        options: see `asgi_app`.

    Raises:
        TypeError, ValueError, UnsupportedRevision: as `asgi_app`; or the host is not only this machine's, and no hosts
            are named; or there is no such port.
    """
    from mcp_runtime.transports.http.serving import Site, check_address, run

    check_address(host, port, options.get("hosts") is not None)
    shared: SseServerOptions = {
        "hosts": options.get("hosts"),
        "origins": options.get("origins", ()),
        "trusted_proxies": options.get("trusted_proxies", ()),
        "principal": options.get("principal"),
        "limits": options.get("limits") or HttpLimits(),
    }
    site = Site(asgi_app(*servers, **options), path, health, (sse_app(*servers, **shared), sse) if sse else None)
    run(site, host=host, port=port, grace=grace, started=started)


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

    transport = HttpClientTransport(url, **options)
    peer = Peer(transport, transport.older)
    try:
        yield peer
    finally:
        await peer.aclose()


def sse_app(*servers: "AnyServer", **options: "Unpack[SseServerOptions]") -> "SseApp":
    """Serve clients of 2024-11-05, whose transport over HTTP was HTTP+SSE, which is deprecated: an ASGI application.

    It answers every path that is routed to it, in any revision that has a handshake. Offer it beside `asgi_app`, at
    another path, only for clients that cannot be updated.

    Args:
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.
        options: see `SseServerOptions`.

    Raises:
        TypeError, ValueError: as `asgi_app`.
    """
    from mcp_runtime.transports.http.checks import Places
    from mcp_runtime.transports.http.sse_server import SseApp

    return SseApp(
        servers,
        places=Places.of(options.get("hosts"), options.get("origins", ()), options.get("trusted_proxies", ())),
        principal=options.get("principal"),
        limits=options.get("limits") or HttpLimits(),
    )


@asynccontextmanager
async def connect_sse(url: str, **options: "Unpack[SseClientOptions]") -> AsyncGenerator["Peer"]:
    """Reach a server over HTTP+SSE, the deprecated transport of 2024-11-05, for as long as the context lasts.

    Nothing is connected before the peer is first spoken to. Needs the extra ``mcp-bindgen[http]``.

    Args:
        url: where the server's stream is: ``https://example.com/sse``.
        options: see `SseClientOptions`.

    Raises:
        ValueError: the URL is not one of HTTP.
    """
    from mcp_runtime.peer import Peer
    from mcp_runtime.transports.http.sse_client import SseClientTransport

    def transport() -> SseClientTransport:
        return SseClientTransport(url, **options)

    peer = Peer(transport(), again=transport)
    try:
        yield peer
    finally:
        await peer.aclose()
