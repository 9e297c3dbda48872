"""Serve clients over a transport, and name the capabilities that a handler needs."""

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar, cast

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.transport import Transport
from mcp_runtime.errors import MissingCapability
from mcp_runtime.functions import blocks
from mcp_runtime.handlers import Context, ServerHandlers, connections_of
from mcp_runtime.handshake.server import start_server
from mcp_runtime.protocol.capabilities import declares
from mcp_runtime.settings import ServerOptions

__all__ = [
    "Connection",
    "ServerHandlers",
    "ServerOptions",
    "connections_of",
    "requires",
    "serve",
    "start_server",
]


HandlerT = TypeVar("HandlerT", bound=Callable[..., Any])


def requires(*capabilities: str, only: Collection[str] = ()) -> Callable[[HandlerT], HandlerT]:
    """Declare which capabilities a client must have for a handler to run; several decorators add up.

    Clients that did not declare them are answered with error -32021 and ``requiredCapabilities`` in the modern era, and
    in the legacy era with -32600 and a message that names what is missing.

    Args:
        capabilities: the paths of the capabilities, such as ``"elicitation.form"`` or ``"sampling.tools"``.
        only: the names of the tools or prompts, or the URIs of the resources, that need it; by default all.

    Raises:
        TypeError: `only` is a string instead of a collection of strings.
        ValueError: no capability is given.
    """
    if isinstance(only, str):
        raise TypeError(f"only: must be a collection of names, such as [{only!r}]")
    if not capabilities or not all(capabilities):
        raise ValueError("requires() needs the path of a capability, such as 'elicitation.form'")
    names = frozenset(only)

    def decorate(handler: HandlerT) -> HandlerT:
        def check(*args: Any) -> None:
            _check(capabilities, names, *args[-2:])

        @wraps(handler)
        async def checked(*args: Any) -> Any:
            check(*args)
            return await handler(*args)

        @wraps(handler)
        def checked_in_thread(*args: Any) -> Any:
            check(*args)
            return handler(*args)

        return cast("HandlerT", checked_in_thread if blocks(handler) else checked)

    return decorate


def _check(capabilities: Collection[str], names: Collection[str], params: Any, ctx: Context[Any]) -> None:
    if names and getattr(params, "name", getattr(params, "uri", None)) not in names:
        return
    requester = ctx.requester
    peer = requester.side.other
    missing = [f"{peer.value}.{path}" for path in capabilities if not declares(requester.declared[peer], path)]
    if missing:
        raise MissingCapability(missing[0], ctx.exchange.method.name, *missing[1:])


async def serve(transport: Transport, *servers: ServerHandlers) -> str:
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
