"""Listening for changes at a legacy-era server, whose session subscribes to resources."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json, to_json

from mcp_runtime.core.changes.listen import CHANGES, Subscription
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import ConnectionClosed, McpError, PeerError, RemoteProtocolError
from mcp_runtime.core.method import NotificationMethod, RequestMethod
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.uris import within

if TYPE_CHECKING:
    from mcp_runtime.core.connection.calls import Call

_NO_ID: Final = 0


class _InSession(Subscription):
    """The changes that a session receives anyway, and those of resources that it subscribes to for this."""

    def __init__(self, streams: "_Sessions", areas: frozenset[str], ended: "asyncio.Future[Any]") -> None:
        super().__init__(streams.connection, _NO_ID, ended)
        self.areas = areas
        self.uris: list[str] = []
        self._streams = streams

    def wants(self, name: str, uri: object) -> bool:
        """Whether a notification belongs to the subscription."""
        if isinstance(uri, str):
            return any(within(held, uri) is not None for held in self.uris)
        return CHANGES[name] in self.areas

    def fail(self, error: McpError) -> None:
        """End with an error."""
        if not self._ended.done():
            self._ended.set_exception(error)

    def _end(self, ended: "asyncio.Future[Any]") -> None:
        if not ended.cancelled():
            ended.exception()
        self._streams.open.discard(self)
        self._stream.close()

    async def aclose(self) -> None:
        """Stop listening, and unsubscribe from resources that nobody else listens for."""
        if self._ended.done():
            return
        self._ended.cancel()
        self._streams.open.discard(self)
        for uri in self.uris:
            await self._streams.unsubscribe(uri)


class _Sessions:
    """The subscriptions over one session."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.open: set[_InSession] = set()
        connection.on_close(self._end)

    def _end(self, reason: str) -> None:
        for subscription in tuple(self.open):
            subscription.fail(ConnectionClosed(reason))

    def take(self, received: "Call") -> None:
        """Pass a notification on to the subscriptions that want it."""
        name, params, requester = received.name, received.raw_params, received.requester
        wanting = [one for one in self.open if name in CHANGES and one.wants(name, params.get("uri"))]
        method = requester.binding.methods.get(name) if requester.binding is not None else None
        if not wanting or not isinstance(method, NotificationMethod) or method.params is None:
            return
        text = to_json(params)
        try:
            given = from_json(text)
            if requester.wire is not None:
                given = requester.wire.incoming(method, "params", given, text, requester.reader)
            read = requester.reader.read(method.params, given, method.name)
        except RemoteProtocolError:
            return  # the other caller reports that
        for subscription in wanting:
            subscription.take(method.name, read, len(text))

    async def subscribe(self, uri: str) -> bool:
        """Subscribe to a resource; return whether the server agreed."""
        try:
            await self._ask(names.RESOURCES_SUBSCRIBE, uri)
        except PeerError:
            return False
        return True

    async def unsubscribe(self, uri: str) -> None:
        """Unsubscribe from a resource, unless another subscription needs it."""
        if not any(uri in subscription.uris for subscription in self.open):
            try:
                await self._ask(names.RESOURCES_UNSUBSCRIBE, uri)
            except ConnectionClosed:
                pass  # the session ended, and its subscriptions with it
            except McpError as error:
                self.connection.report(error)

    async def _ask(self, name: str, uri: str) -> None:
        spoken = self.connection.requester.spoken
        method = spoken.methods[name] if spoken is not None else None
        assert isinstance(method, RequestMethod) and method.params is not None
        await self.connection.request(method, method.params.build({"uri": uri}), None)


async def listen_in_session(connection: Connection, areas: Sequence[str], resources: Sequence[str]) -> Subscription:
    """Listen for changes; `agreed` has what the server declared, and the resources it accepted.

    Args:
        connection: the connection.
        areas: the lists to watch.
        resources: the URIs of resources to watch.
    """
    streams: _Sessions | None = connection.inbound.notifications.subscriptions
    if streams is None:
        streams = _Sessions(connection)
        connection.inbound.notifications.take_tagged(streams)
    declared = connection.declared[Side.SERVER]
    known = [area for area in areas if declares(declared, f"{area}.listChanged")]
    subscription = _InSession(streams, frozenset(known), asyncio.get_running_loop().create_future())
    streams.open.add(subscription)
    agreed: dict[str, Any] = {f"{area}ListChanged": True for area in known}
    if declares(declared, "resources.subscribe"):
        for uri in resources:
            subscription.uris.append(uri)
            if not await streams.subscribe(uri):
                subscription.uris.remove(uri)
        if subscription.uris:
            agreed["resourceSubscriptions"] = list(subscription.uris)
    subscription.agreed = agreed
    return subscription
