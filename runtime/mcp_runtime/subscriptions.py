"""Who is told of changes (server/resources): subscribers of a resource, and all clients when a list changes."""

from collections.abc import Callable
from typing import Any, Final

from mcp_runtime.binding import Binding
from mcp_runtime.connection import Connection
from mcp_runtime.dispatch import Handler
from mcp_runtime.errors import ConnectionClosed
from mcp_runtime.lifecycle.legacy import State
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.stub import Context, ServerHandlers

SUBSCRIBE: Final = "resources/subscribe"
UNSUBSCRIBE: Final = "resources/unsubscribe"
UPDATED: Final = "notifications/resources/updated"
_FEATURE: Final = "subscriptions"


def install_subscriptions(connection: Connection, binding: Binding) -> None:
    """Keep the URIs that a client subscribes to, once the server's own handlers have agreed; they end with it."""
    uris: set[str] = set()
    connection.features[_FEATURE] = uris
    connection.handle(binding.methods[SUBSCRIBE], _following(connection, binding, SUBSCRIBE, uris.add))
    connection.handle(binding.methods[UNSUBSCRIBE], _following(connection, binding, UNSUBSCRIBE, uris.discard))


def _following(connection: Connection, binding: Binding, name: str, change: Callable[[str], None]) -> Handler:
    """Return a handler that notes the URI of a request once the server's own handler has answered it."""
    own, method = connection.handler(name), binding.methods[name]
    assert isinstance(method, RequestMethod)

    async def handler(params: Any, ctx: Context[Any]) -> Any:
        result = await own(params, ctx) if own else method.result.build({})
        change(params.uri)
        return result

    return handler


def is_subscribed(connection: Connection, uri: str) -> bool:
    """Whether the client of a connection subscribed to a resource, or to one that it is a part of."""
    uris: set[str] = connection.features.get(_FEATURE, set())
    return any(uri == held or uri.startswith(held if held.endswith("/") else f"{held}/") for held in uris)


async def resource_updated(server: ServerHandlers, uri: str) -> int:
    """Tell the subscribers of a resource, and of what it is a part of, that it changed; returns how many they are."""
    from mcp_runtime.server import connections_of

    subscribers = [connection for connection in connections_of(server) if is_subscribed(connection, uri)]
    return await _tell(subscribers, UPDATED, {"uri": uri})


async def list_changed(server: ServerHandlers, area: str) -> int:
    """Tell all clients of a server that its list of ``tools``, ``prompts`` or ``resources`` changed."""
    from mcp_runtime.server import connections_of

    return await _tell(list(connections_of(server)), f"notifications/{area}/list_changed", None)


async def _tell(connections: list[Connection], name: str, arguments: dict[str, Any] | None) -> int:
    told = 0
    for connection in connections:
        # A client that has not confirmed the handshake yet gets nothing but pings and log messages (basic/lifecycle).
        if connection.state is not State.READY or connection.binding is None:
            continue
        method = connection.binding.methods[name]
        assert isinstance(method, NotificationMethod)
        params = method.params.build(arguments) if method.params and arguments is not None else None
        try:
            await connection.notify(method, params)
        except ConnectionClosed:
            continue
        told += 1
    return told
