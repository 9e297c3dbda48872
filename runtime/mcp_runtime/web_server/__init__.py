"""Serving over HTTP beyond the endpoint itself.

`serve_http` is a program: uvicorn, a health page, and a shutdown that lets calls finish. `sse_app` is the endpoint of
HTTP+SSE, the transport of 2024-11-05.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from mcp_runtime.core.functions import refuse_unknown
from mcp_runtime.core.transports.http import HttpServerOptions, SseServerOptions, asgi_app, http_extra

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers
    from mcp_runtime.web_server.sse import SseApp

__all__ = ["serve_http", "sse_app"]


def serve_http(
    *servers: "ServerHandlers",
    host: str = "127.0.0.1",
    port: int = 8000,
    path: str = "/mcp",
    health: str = "/health",
    shows_sessions: bool = False,
    sse: str = "",
    grace: float = 10.0,
    started: Callable[[str], None] | None = None,
    **options: Unpack[HttpServerOptions],
) -> None:
    """Serve clients over HTTP until SIGINT or SIGTERM. Needs the extra ``mcp-bindings[http]``.

    Args:
        servers: one instance of a generated `Server` per revision; the client's choice decides which one answers.
        host: the address to listen on; one that other machines can reach needs ``hosts``.
        port: the port; 0 for any free one.
        path: the path of the endpoint.
        health: the path of a page that reports whether the server is healthy (200) or stopping (503); empty for none.
            Like the endpoint, it refuses a Host that is not one of ``hosts``.
        shows_sessions: whether that page gives the number of sessions.
        sse: the path of HTTP+SSE, for clients of 2024-11-05; empty for none. See `sse_app`.
        grace: seconds in which calls may finish when the server shuts down.
        started: called with the URL, without the path, once clients can connect.
        options: see `asgi_app`.

    Raises:
        TypeError, ValueError, UnsupportedRevision: as for `asgi_app`; or `host` is reachable from other machines and no
            hosts are given; or the port is not valid.
        OSError: it cannot listen on that address and port.
        ModuleNotFoundError: the extra is not installed.
    """
    refuse_unknown(options, {*HttpServerOptions.__optional_keys__, *(serve_http.__kwdefaults__ or ())})
    with http_extra():
        from mcp_runtime.web_server.serving import Site, check_address, run
        from mcp_runtime.web_server.sse import SseApp

    check_address(host, port, options.get("hosts") is not None)
    old = (SseApp(servers, options), sse) if sse else None
    site = Site(asgi_app(*servers, **options), path, health, old, shows_sessions=shows_sessions)
    run(site, host=host, port=port, grace=grace, started=started)


def sse_app(*servers: "ServerHandlers", **options: Unpack[SseServerOptions]) -> "SseApp":
    """Create an ASGI application for clients of 2024-11-05 with their HTTP+SSE transport, which is deprecated.

    It answers every path routed to it, in any revision with a handshake. Offer it next to `asgi_app`, at another path,
    only for clients that cannot be updated.

    Args:
        servers: one instance of a generated `Server` per revision; the client's choice decides which one answers.
        options: see `SseServerOptions`.

    Raises:
        TypeError, ValueError: as for `asgi_app`.
    """
    from mcp_runtime.web_server.sse import SseApp

    refuse_unknown(options, SseServerOptions.__optional_keys__)
    return SseApp(servers, options)
