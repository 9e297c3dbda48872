"""A gateway: it serves clients of any legacy revision and forwards their requests to a server of any other.

It is written once, for 2025-11-25. Both of its sides are bridged, so that a client of 2024-11-05 can talk to a server
of 2025-11-25, or the other way round. Properties that neither revision declares pass through unchanged.

python examples/gateway_proxy.py COMMAND [ARGUMENT ...]        # the command that starts the server
"""

import argparse
import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from mcp_bindings import (
    AnyMethod,
    CallOptions,
    ClientOptions,
    Connection,
    Direction,
    MissingCapability,
    NotificationMethod,
    PeerError,
    RequestMethod,
    ServerOptions,
    connect_stdio,
)
from mcp_bindings.v2025_11_25 import METHODS, Client, ClientContext, ClientHandlers, Context, Server
from mcp_runtime.transports import StdioServerTransport, serve

HANDLED_BY_EACH_SIDE = (
    "initialize",
    "ping",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
)
NOT_FOUND = -32601


class Upstream(ClientHandlers):
    """Forwards the server's requests to the client."""

    client: Connection | None = None

    def connected(self, connection: Connection) -> None:
        forward_all(connection, Direction.SERVER_TO_CLIENT, lambda: self.client)


class Gateway(Server):
    """Forwards the client's requests, and declares what the server offers."""

    def __init__(self, upstream: Client, back: Upstream) -> None:
        self.upstream = upstream.connection
        self.back = back
        offered = {name: value for name, value in upstream.capabilities.items() if name != "tasks"}
        info = self.upstream.peer_info
        self.options = ServerOptions(
            name=info["name"],
            version=info["version"],
            instructions=self.upstream.instructions,
            logging=False,  # The server's messages pass through; the gateway has none itself.
            capabilities=offered,
        )

    def connected(self, connection: Connection) -> None:
        self.back.client = connection
        forward_all(connection, Direction.CLIENT_TO_SERVER, lambda: self.upstream)


def forward_all(connection: Connection, direction: Direction, to: Callable[[], Connection | None]) -> None:
    """Forward the messages in a direction, except those that each side handles itself."""
    for method in METHODS.values():
        if method.direction is direction and method.name not in HANDLED_BY_EACH_SIDE:
            connection.handle(method, partial(forward, method, to))


async def forward(
    method: AnyMethod, to: Callable[[], Connection | None], params: Any, ctx: Context | ClientContext
) -> Any:
    """Forward a message, and return the answer; an error is forwarded unchanged."""
    target = to()
    if target is None:
        raise PeerError(NOT_FOUND, "no client is connected")
    try:
        if isinstance(method, NotificationMethod):
            return await target.notify(method, params)
        return await ask(method, target, params, ctx)
    except PeerError as error:
        raise PeerError(error.code, error.message, error.data) from error
    except MissingCapability as error:
        # `MissingInRevision` is one: the other side uses a revision without this method.
        raise PeerError(NOT_FOUND, str(error)) from error


def ask(
    method: RequestMethod[Any, Any], target: Connection, params: Any, ctx: Context | ClientContext
) -> Coroutine[Any, Any, Any]:
    """Ask the other side, and report its progress to the requester."""

    def progress(done: float, total: float | None, message: str | None) -> None:
        ctx.connection.spawn(ctx.report_progress(done, total, message))

    wants_progress = "progressToken" in ctx.meta
    return target.request(method, params, CallOptions(progress=progress) if wants_progress else None)


async def main(command: str, arguments: list[str]) -> None:
    back = Upstream()
    abilities: dict[str, Any] = {"sampling": {}, "elicitation": {}, "roots": {"listChanged": True}}
    options = ClientOptions(name="gateway", capabilities=abilities)
    async with connect_stdio(command, *arguments) as peer:
        upstream = await Client.open(peer, handlers=back, options=options)
        await serve(StdioServerTransport(), Gateway(upstream, back))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", help="the command that starts the server")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    asyncio.run(main(**vars(parser.parse_args())))
