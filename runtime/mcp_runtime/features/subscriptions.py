"""Who is told of changes (server/resources): subscribers of a resource, and all clients when a list changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import ConnectionClosed
from mcp_runtime.handlers import Context, ServerHandlers, connections_of
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.protocol import names
from mcp_runtime.protocol.capabilities import declares
from mcp_runtime.protocol.legacy import State

_FEATURE: Final = "subscriptions"


@dataclass(frozen=True, slots=True)
class ListChanges:
    """Declares that clients are told when lists change; `list_changed` tells them.

    Attributes:
        areas: the lists: ``tools``, ``prompts``, ``resources``.
    """

    areas: frozenset[str]

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare it for each of the lists that the server has."""
        return [f"{area}.listChanged" for area in names.AREAS if area in self.areas and area in declared]

    def install(self, connection: Connection) -> None:
        """Answer nothing."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Keeps the URIs that a client subscribes to, once the server's own handlers have agreed; they end with it."""

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare nothing: the server's handlers do."""
        return ()

    def install(self, connection: Connection) -> None:
        """Note subscriptions, if the server takes them."""
        if not declares(connection.declared[connection.side], "resources.subscribe"):
            return
        uris: set[str] = set()
        connection.features[_FEATURE] = uris
        for name, change in ((names.RESOURCES_SUBSCRIBE, uris.add), (names.RESOURCES_UNSUBSCRIBE, uris.discard)):
            _follow(connection, name, change)


def _follow(connection: Connection, name: str, change: Callable[[str], None]) -> None:
    """Note the URI of a request once the server's own handler has answered it."""
    binding, own = connection.binding, connection.handler(name)
    assert binding is not None
    method = binding.methods[name]
    assert isinstance(method, RequestMethod)

    async def handler(params: Any, ctx: Context[Any]) -> Any:
        result = await own(params, ctx) if own else method.result.build({})
        change(params.uri)
        return result

    connection.handle(method, handler)


def is_subscribed(connection: Connection, uri: str) -> bool:
    """Whether the client of a connection subscribed to a resource, or to one that it is a part of."""
    uris: set[str] = connection.features.get(_FEATURE, set())
    return any(uri == held or uri.startswith(held if held.endswith("/") else f"{held}/") for held in uris)


async def resource_updated(server: ServerHandlers, uri: str) -> int:
    """Tell the subscribers of a resource, and of what it is a part of, that it changed; returns how many they are."""
    subscribers = [connection for connection in connections_of(server) if is_subscribed(connection, uri)]
    return await _tell(subscribers, names.NOTIFICATIONS_RESOURCES_UPDATED, {"uri": uri})


async def list_changed(server: ServerHandlers, area: str) -> int:
    """Tell all clients of a server that its list of ``tools``, ``prompts`` or ``resources`` changed."""
    return await _tell(list(connections_of(server)), names.list_changed(area), None)


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
