"""Who is told of changes (server/resources): subscribers of a resource, and all clients when a list changes."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime import handlers
from mcp_runtime.connection.connection import Connection
from mcp_runtime.errors import PeerError
from mcp_runtime.features.listeners import Listeners, listeners_of
from mcp_runtime.features.news import MAX_URI, RESOURCE, News, begun
from mcp_runtime.handlers import Context, ServerHandlers, connections_of
from mcp_runtime.method import NotificationMethod, RequestMethod
from mcp_runtime.protocol import names
from mcp_runtime.protocol.capabilities import declares
from mcp_runtime.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp_runtime.protocol.legacy import State

if TYPE_CHECKING:
    from mcp_runtime.features.relay import Relay

_FEATURE: Final = "subscriptions"
_NEWS: Final = "subscriptions.news"

MAX_SUBSCRIPTIONS: Final = 10_000
"""How many resources a client may subscribe to."""


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
    """Keeps the URIs that a client subscribes to, once the server's own handlers have agreed; they end with it.

    A client may subscribe to `MAX_SUBSCRIPTIONS` resources.

    Attributes:
        updates: whether clients of the modern era, where no handler is asked, may listen for changes of resources.
    """

    updates: bool = False

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare what no handler can: a server that is written for the legacy era has handlers for it."""
        is_modern = connection.binding is not None and connection.binding.era == "modern"
        return ("resources.subscribe",) if is_modern and self.updates and "resources" in declared else ()

    def install(self, connection: Connection) -> None:
        """Note subscriptions, if the server takes them."""
        if not declares(connection.declared[connection.side], "resources.subscribe"):
            return
        uris: set[str] = set()
        connection.features[_FEATURE] = uris
        _follow(connection, names.RESOURCES_SUBSCRIBE, partial(_check_room, uris), uris.add)
        _follow(connection, names.RESOURCES_UNSUBSCRIBE, _accept, uris.discard)


def _check_room(uris: set[str], uri: str) -> None:
    """Check that one more resource may be subscribed to.

    Raises:
        PeerError: it may not.
    """
    if len(uri) > MAX_URI:
        raise PeerError(INVALID_PARAMS, f"the URI has more than {MAX_URI:,} characters", {"pointer": "/uri"})
    if uri not in uris and len(uris) >= MAX_SUBSCRIPTIONS:
        raise PeerError(INTERNAL_ERROR, f"there are {len(uris):,} subscriptions already, which is the limit")


def _accept(uri: str) -> None:
    """Accept any resource."""


def _follow(connection: Connection, name: str, check: Callable[[str], None], change: Callable[[str], None]) -> None:
    """Note the URI of a request once the server's own handler has answered it, unless the check refuses it."""
    method, own = connection.requester.method(name), connection.handler(name)
    assert isinstance(method, RequestMethod)

    async def handler(params: Any, ctx: Context[Any]) -> Any:
        check(params.uri)
        result = await own(params, ctx) if own else method.result.build({})
        check(params.uri)  # others may have come meanwhile
        change(params.uri)
        return result

    connection.handle(method, handler)


def _subscribed(connection: Connection) -> set[str]:
    """Return the URIs that the client of a connection subscribed to."""
    uris: set[str] = connection.features.get(_FEATURE, set())
    return uris


def is_subscribed(connection: Connection, uri: str) -> bool:
    """Whether the client of a connection subscribed to a resource, or to one that it is a part of."""
    uris = _subscribed(connection)
    if not uris or uri in uris:
        return bool(uris)
    ends = [place for place, character in enumerate(uri) if character == "/"]
    return any(uri[:end] in uris or uri[: end + 1] in uris for end in ends)


def remember(server: ServerHandlers, connection: Connection) -> None:
    """Keep a connection among those of its server for as long as it lives, and hear of changes in other processes."""
    handlers.remember(server, connection)
    if (relay := _relay(server)) is not None:
        relay.listen()


async def resource_updated(server: ServerHandlers, uri: str) -> int:
    """Tell the subscribers of a resource, and of what it is a part of, that it changed.

    In the legacy era a session subscribes, in the modern era a request listens (`ServerOptions.resource_updates`).
    Returns how many subscribers were told in this process; those in others are told by `ServerOptions.fan_out`.
    """
    _pass_on(server, RESOURCE, uri)
    return await _resource_updated(server, uri)


async def list_changed(server: ServerHandlers, area: str) -> int:
    """Tell all clients of a server that its list of ``tools``, ``prompts`` or ``resources`` changed.

    Returns how many clients were told in this process; those in others are told by `ServerOptions.fan_out`.
    """
    _pass_on(server, area, "")
    return await _list_changed(server, area)


def _relay(server: ServerHandlers) -> "Relay | None":
    """Return what joins a server with other processes, None if it is alone."""
    if (fan_out := server.effective_options().fan_out) is None:
        return None
    from mcp_runtime.features.relay import relay_of  # Most servers are alone.

    return relay_of(server, fan_out, partial(_tell_here, server))


def _pass_on(server: ServerHandlers, what: str, uri: str) -> None:
    if (relay := _relay(server)) is not None:
        relay.publish(what, uri)


async def _tell_here(server: ServerHandlers, what: str, uri: str) -> None:
    """Tell the clients of this process of a change in another one."""
    if what == RESOURCE:
        await _resource_updated(server, uri)
    elif what in names.AREAS:
        await _list_changed(server, what, declared=True)
    else:
        await _all_changed(server)


async def _all_changed(server: ServerHandlers) -> None:
    """Tell all clients that everything which they want to hear of may have changed."""
    for area in names.AREAS:
        await _list_changed(server, area, declared=True)
    for connection in _sessions(server):
        for uri in tuple(_subscribed(connection)):
            await _tell([connection], names.NOTIFICATIONS_RESOURCES_UPDATED, {"uri": uri})
    for listeners in _listeners(server):
        await listeners.updated()


async def _resource_updated(server: ServerHandlers, uri: str) -> int:
    subscribers = [connection for connection in _sessions(server) if is_subscribed(connection, uri)]
    told = await _tell(subscribers, names.NOTIFICATIONS_RESOURCES_UPDATED, {"uri": uri})
    return told + sum([await listeners.updated(uri) for listeners in _listeners(server)])


async def _list_changed(server: ServerHandlers, area: str, *, declared: bool = False) -> int:
    """Tell clients that a list changed.

    Args:
        server: the server.
        area: the list.
        declared: whether to tell only those to whom this was declared.

    Raises:
        MissingCapability: it was not declared.
    """
    path = f"{area}.listChanged"
    sessions = [each for each in _sessions(server) if not declared or declares(each.declared[each.side], path)]
    told = await _tell(sessions, names.list_changed(area), None)
    return told + sum([await listeners.changed(area) for listeners in _listeners(server)])


def _sessions(server: ServerHandlers) -> list[Connection]:
    """Return the connections with a session of a server; beside it, one may answer requests that stand alone."""
    return [connection for connection in connections_of(server) if connection.binding is server.__binding__]


def _listeners(server: ServerHandlers) -> list[Listeners]:
    found = [listeners for connection in connections_of(server) for listeners in listeners_of(connection)]
    return [listeners for listeners in found if listeners.server is server]


async def _tell(connections: list[Connection], name: str, arguments: dict[str, Any] | None) -> int:
    """Tell several clients of a change, none of which waits for another; returns how many they are."""
    telling: list[asyncio.Task[None] | None] = []
    for connection in connections:
        # A client that has not confirmed the handshake yet gets nothing but pings and log messages (basic/lifecycle).
        if connection.state is not State.READY or connection.binding is None:
            continue
        method = connection.binding.methods[name]
        assert isinstance(method, NotificationMethod)
        params = method.params.build(arguments) if method.params and arguments is not None else None
        news: News = connection.features.setdefault(_NEWS, News())
        change = name, arguments["uri"] if arguments else ""
        telling.append(news.put(connection, change, partial(connection.notify, method, params)))
    return await begun(telling)
