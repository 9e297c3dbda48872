"""Notifies clients that a list has changed, from any thread."""

import asyncio

from mcp_runtime.features.subscriptions import list_changed
from mcp_runtime.handlers import ServerHandlers, connections_of


def tell(server: ServerHandlers, loop: asyncio.AbstractEventLoop, area: str) -> None:
    """Schedule a notification of the clients of a server.

    Args:
        server: the server.
        loop: the event loop that serves them.
        area: the list that changed: ``tools``, ``prompts``, ``resources``.
    """
    if not loop.is_closed():
        loop.call_soon_threadsafe(_spawn, server, area)


def _spawn(server: ServerHandlers, area: str) -> None:
    for connection in connections_of(server)[:1]:
        connection.spawn(list_changed(server, area))
