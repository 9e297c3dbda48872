"""Reports changes (server/resources): to subscribers of a resource, and to all clients when a list changes.

A server calls `list_changed` or `resource_updated`, and each client is notified as its era requires:

- In a session (up to 2025-11-25), a changed list is reported to everyone whose handshake is complete. A changed
  resource is reported to those who subscribed to it, which the server's own handler has agreed to: `Subscriptions`
  keeps the URIs until the session ends.
- In the modern era, a client asks with `subscriptions/listen` for what it wants to learn. That request stays open, and
  changes are sent over its channel, until one side ends it: `listeners.Listeners`, and at the client `listen`.

No change is sent at once. It is added to what is pending for its client (`listeners.PendingChanges`), where equal
changes are one, and a task sends that as fast as the client reads: no client delays another.

With several processes, a relay (`settings.Relay`) publishes each change to the others, which report it to theirs.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from mcp_runtime.core import handlers
from mcp_runtime.core.changes.listeners import MAX_URI, RESOURCE, Listeners, PendingChanges, flushed, listeners_of
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context, ServerHandlers, Serving, connections_of
from mcp_runtime.core.method import RequestMethod, notification_of
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import State
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp_runtime.core.protocol.uris import canonical, within
from mcp_runtime.core.settings import Relay

_FEATURE: Final = "subscriptions"
_PENDING: Final = "subscriptions.pending"

MAX_SUBSCRIPTIONS: Final = 10_000
"""How many resources a client may subscribe to."""


@dataclass(frozen=True, slots=True)
class ListChanges:
    """Declares that clients are notified of changed lists; `list_changed` notifies them.

    Attributes:
        areas: the lists: ``tools``, ``prompts``, ``resources``.
    """

    areas: frozenset[str]

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare it for each of the lists that the server has."""
        return [f"{area}.listChanged" for area in names.AREAS if area in self.areas and area in declared]

    def install(self, connection: Connection) -> None:
        """Install nothing."""


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Records the URIs that a client subscribes to, once the server's own handlers agree, until the connection ends.

    A client may subscribe to `MAX_SUBSCRIPTIONS` resources.

    Attributes:
        updates: whether modern-era clients, for which no handler is called, may listen for changes of resources.
    """

    updates: bool = False

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare what handlers cannot imply: in the legacy era, handlers do."""
        is_modern = connection.binding is not None and connection.binding.era == "modern"
        return ("resources.subscribe",) if is_modern and self.updates and "resources" in declared else ()

    def install(self, connection: Connection) -> None:
        """Record subscriptions, if the server accepts them."""
        if not declares(connection.declared[connection.side], "resources.subscribe"):
            return
        uris: dict[str, str] = {}
        connection.features[_FEATURE] = uris
        subscribe, unsubscribe = names.RESOURCES_SUBSCRIBE, names.RESOURCES_UNSUBSCRIBE
        _follow(connection, subscribe, partial(_check_room, uris), lambda uri: uris.update({canonical(uri): uri}))
        _follow(connection, unsubscribe, lambda _: None, lambda uri: uris.pop(canonical(uri), None))


def _check_room(uris: Mapping[str, str], uri: str) -> None:
    """Check that one more resource may be subscribed to.

    Raises:
        PeerError: the limit is reached, or the URI is too long.
    """
    if len(uri) > MAX_URI:
        raise PeerError(INVALID_PARAMS, f"the URI has more than {MAX_URI:,} characters", {"pointer": "/uri"})
    if canonical(uri) not in uris and len(uris) >= MAX_SUBSCRIPTIONS:
        raise PeerError(INTERNAL_ERROR, f"the limit of {len(uris):,} subscriptions is reached")


def _follow(connection: Connection, name: str, check: Callable[[str], None], change: Callable[[str], object]) -> None:
    """Record the URI of a request once the server's own handler has answered it, unless the check refuses it."""
    method, own = connection.requester.method(name), connection.handler(name)
    assert isinstance(method, RequestMethod)

    async def handler(params: Any, ctx: Context[Any]) -> Any:
        if name == names.RESOURCES_SUBSCRIBE:
            ctx.exchange.require(ctx.requester.answers.scopes_for(names.RESOURCES_READ, params.uri))
        check(params.uri)
        result = await own(params, ctx) if own else method.result.build({})
        check(params.uri)  # others may have arrived in the meantime
        change(params.uri)
        return result

    connection.handle(method, handler)


def _subscribed(connection: Connection) -> Mapping[str, str]:
    """Return the URIs that the client of a connection subscribed to, as it spelled them, by `canonical` spelling."""
    uris: dict[str, str] = connection.features.get(_FEATURE, {})
    return uris


def is_subscribed(connection: Connection, uri: str) -> bool:
    """Whether the client of a connection subscribed to a resource, or to one that it is a part of.

    Args:
        connection: the connection to the client.
        uri: the URI of the resource.
    """
    return _spelled(connection, uri) is not None


def _spelled(connection: Connection, uri: str) -> str | None:
    """Return a URI as the client that subscribed to it spells it; None if it subscribed to nothing that covers it."""
    if not (uris := _subscribed(connection)):
        return None
    whole = canonical(uri)
    ends = [len(whole), *(place for place, character in enumerate(whole) if character == "/")]
    held = next((held for end in ends if (held := uris.get(whole[:end]) or uris.get(whole[: end + 1]))), None)
    return None if held is None else within(held, uri)


def remember(server: ServerHandlers, connection: Connection) -> None:
    """Track a connection of a server for as long as it is open, and receive changes from other processes."""
    handlers.remember(server, connection)
    if (relay := _relay(server)) is not None:
        relay.listen()


async def resource_updated(server: ServerHandlers, uri: str) -> int:
    """Notify the subscribers of a changed resource, and of what it is a part of; return how many are in this process.

    In the legacy era a session subscribes, in the modern era a request listens (`ServerOptions.resource_updates`).
    `ServerOptions.fan_out` notifies the subscribers of other processes.

    Args:
        server: an object that is being served.
        uri: the URI of the resource.
    """
    _pass_on(server, RESOURCE, uri)
    outer = [await resource_updated(each, uri) for each in Serving.of(server).outer]
    return await _resource_updated(server, uri) + sum(outer)


async def list_changed(server: ServerHandlers, area: str) -> int:
    """Notify all clients of a server that a list changed; return how many were notified in this process.

    `ServerOptions.fan_out` notifies the clients of other processes.

    Args:
        server: an object that is being served.
        area: the list: ``tools``, ``prompts`` or ``resources``.
    """
    _pass_on(server, area, "")
    outer = [await list_changed(each, area) for each in Serving.of(server).outer]
    return await _list_changed(server, area) + sum(outer)


def _relay(server: ServerHandlers) -> Relay | None:
    """Return the relay that connects a server with other processes, or None."""
    if (fan_out := server.effective_options().fan_out) is None:
        return None
    return fan_out.relay(server, partial(_notify_here, server))


def _pass_on(server: ServerHandlers, what: str, uri: str) -> None:
    if (relay := _relay(server)) is not None:
        relay.publish(what, uri)


async def _notify_here(server: ServerHandlers, what: str, uri: str) -> None:
    """Notify the clients of this process of a change in another one."""
    if what == RESOURCE:
        await _resource_updated(server, uri)
    elif what in names.AREAS:
        await _list_changed(server, what, declared=True)
    else:
        await _all_changed(server)


async def _all_changed(server: ServerHandlers) -> None:
    """Notify all clients that everything they watch may have changed."""
    for area in names.AREAS:
        await _list_changed(server, area, declared=True)
    for connection in _sessions(server):
        for uri in tuple(_subscribed(connection).values()):
            await _notify([connection], names.NOTIFICATIONS_RESOURCES_UPDATED, {"uri": uri})
    for listeners in _listeners(server):
        await listeners.updated()


async def _resource_updated(server: ServerHandlers, uri: str) -> int:
    subscribers: dict[str, list[Connection]] = {}
    for connection in _sessions(server):
        if (spelled := _spelled(connection, uri)) is not None:
            subscribers.setdefault(spelled, []).append(connection)
    name = names.NOTIFICATIONS_RESOURCES_UPDATED
    notified = sum([await _notify(each, name, {"uri": spelled}) for spelled, each in subscribers.items()])
    return notified + sum([await listeners.updated(uri) for listeners in _listeners(server)])


async def _list_changed(server: ServerHandlers, area: str, *, declared: bool = False) -> int:
    """Notify the clients of this process that a list changed.

    Args:
        server: the server.
        area: the list.
        declared: whether to notify only clients to which the server declared this notification.

    Raises:
        MissingCapability: the capability was not declared.
    """
    path = f"{area}.listChanged"
    sessions = [each for each in _sessions(server) if not declared or declares(each.declared[each.side], path)]
    notified = await _notify(sessions, names.list_changed(area), None)
    return notified + sum([await listeners.changed(area) for listeners in _listeners(server)])


def _sessions(server: ServerHandlers) -> list[Connection]:
    """Return the connections of a server that have a session; stateless requests may use the same connection."""
    return [connection for connection in connections_of(server) if connection.binding is server.__binding__]


def _listeners(server: ServerHandlers) -> list[Listeners]:
    found = [listeners for connection in connections_of(server) for listeners in listeners_of(connection)]
    return [listeners for listeners in found if listeners.server is server]


async def _notify(connections: list[Connection], name: str, arguments: dict[str, Any] | None) -> int:
    """Notify several clients of a change, without one delaying another; return how many there are."""
    sending: list[asyncio.Task[None] | None] = []
    for connection in connections:
        # Before the handshake is confirmed, a client is sent only pings and log messages (basic/lifecycle).
        if connection.state is not State.READY or connection.binding is None:
            continue
        method = notification_of(connection.binding.methods, name)
        params = None if arguments is None else method.build(arguments)
        pending: PendingChanges = connection.features.setdefault(_PENDING, PendingChanges())
        change = name, arguments["uri"] if arguments else ""
        sending.append(pending.put(connection, change, partial(connection.notify, method, params)))
    return await flushed(sending)
