"""Pending changes for a client, kept until it reads: no client delays another."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.transport import Channel
from mcp_runtime.core.errors import ConnectionClosed, PeerError
from mcp_runtime.core.handlers import Context, ServerHandlers, Serving
from mcp_runtime.core.method import NotificationMethod, notification_of, request_of
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp_runtime.core.protocol.uris import within
from mcp_runtime.core.settings import Relay

RESOURCE: Final = "resource"
"""The kind of a change: a resource. A list is named by its area."""
EVERYTHING: Final = "everything"
"""The kind of a change: unknown, since there were too many changes, or some were missed."""
MAX_URI: Final = 8_192
"""The maximum length in characters of a resource URI that is reported to clients."""
MAX_PENDING: Final = 10_000
"""How many different changes are kept for a client that does not read; beyond that the oldest are dropped."""


class PendingChanges:
    """The pending changes for one client: each change once, however often it happened.

    Attributes:
        task: notifies the client; None while nothing is pending.
    """

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, str], Callable[[], Coroutine[Any, Any, None]]] = {}
        self.task: asyncio.Task[None] | None = None

    def put(
        self, connection: Connection, change: tuple[str, str], notify: Callable[[], Coroutine[Any, Any, None]]
    ) -> "asyncio.Task[None] | None":
        """Add a change; return the task that notifies the client, None if it is running already."""
        self._waiting.pop(change, None)
        self._waiting[change] = notify
        if len(self._waiting) > MAX_PENDING:
            del self._waiting[next(iter(self._waiting))]
        if self.task is not None:
            return None
        self.task = connection.spawn(self._send())
        return self.task

    async def _send(self) -> None:
        """Notify the client, as fast as it reads."""
        try:
            while self._waiting:
                notify = self._waiting.pop(next(iter(self._waiting)))
                with suppress(ConnectionClosed):
                    await notify()
        finally:
            self.task = None


async def flushed(sending: "Iterable[asyncio.Task[None] | None]") -> int:
    """Let clients that read be notified, without waiting for the others; return how many changes there are.

    Raises:
        MissingCapability: a change must not be reported, since the capability was not declared.
    """
    tasks = list(sending)
    started = [task for task in tasks if task is not None]
    if started:
        # Clients that read have been notified after one turn of the event loop.
        await asyncio.wait(started, timeout=0)
    for task in started:
        if task.done() and not task.cancelled():
            task.result()
    return len(tasks)


MAX_URIS: Final = 1_000
"""How many resources one of them may watch."""
_FEATURE: Final = "listeners"
_URIS: Final = "resourceSubscriptions"


Put: TypeAlias = Callable[[NotificationMethod[Any], str, Mapping[str, Any]], Any]
"""Reports a change to one listener: the notification, what it is about, and its params."""


class Subscriber(Protocol):
    """Learns which resources are watched, for a server of the legacy era."""

    async def subscribe(self, uri: str, ctx: Context[Any]) -> bool:
        """Return whether the server agrees that a resource is watched."""
        ...

    def release(self, uris: Iterable[str]) -> None:
        """Handle that nobody watches these resources any more."""


class Filter(Protocol):
    """What an extension adds to the filter of a request that listens."""

    async def agree(self, ctx: Context[Any]) -> Mapping[str, Any]:
        """Return what was agreed on, keyed by wire names."""
        ...

    def begin(self, ctx: Context[Any], agreed: Mapping[str, Any], put: Put) -> None:
        """Report changes from now on."""

    def end(self, exchange: Exchange, agreed: Mapping[str, Any]) -> None:
        """Stop that, since the request no longer listens."""


class Listeners:
    """The requests over one connection that listen for changes of one server.

    Args:
        connection: the connection, set up for the server.
        server: the server.
        capabilities: the server's capabilities, which include the changes it reports.

    Attributes:
        server: the server.
        subscriber: learns which resources are watched; None if not needed.
        filters: what extensions add to the filter of a request.
        hooks: called with the area of each list that changed, whether or not a client listens.
    """

    def __init__(self, connection: Connection, server: ServerHandlers, capabilities: Mapping[str, Any]) -> None:
        assert connection.requester.spoken is not None
        self.server = server
        self.subscriber: Subscriber | None = None
        self.filters: list[Filter] = []
        self.hooks: list[Callable[[str], None]] = []
        self._connection = connection
        self._methods = connection.requester.spoken.methods
        self._known = {_flag(area): declares(capabilities, f"{area}.listChanged") for area in names.AREAS}
        self._knows_uris = declares(capabilities, "resources.subscribe")
        self._listening: dict[_Listener, None] = {}
        self._watched: Counter[str] = Counter()
        connection.handle(self._methods[names.SUBSCRIPTIONS_LISTEN], self._listen)
        connection.features.setdefault(_FEATURE, []).append(self)
        connection.before_close(lambda: _end_all(connection))

    async def _listen(self, params: Any, ctx: Context[Any]) -> Any:
        """Acknowledge a request to listen, and keep it open."""
        relay: Relay | None = Serving.of(self.server).relay
        if relay is not None:
            await relay.heard()
        if len(self._listening) >= self._connection.limits.max_waiting:
            raise PeerError(INTERNAL_ERROR, "too many requests listen; try again later")
        exchange = ctx.exchange
        asked: dict[str, Any] = params.notifications.model_dump(mode="json")
        agreed: dict[str, Any] = {flag: True for flag, known in self._known.items() if known and asked.get(flag)}
        uris: list[str] = asked.get(_URIS) or []
        if len(uris) > MAX_URIS:
            pointer = f"/notifications/{_URIS}"
            raise PeerError(INVALID_PARAMS, f"{pointer}: at most {MAX_URIS:,} resources", {"pointer": pointer})
        for filter_ in self.filters:
            agreed.update(await filter_.agree(ctx))
        listener = _Listener(exchange, agreed, self._left)
        try:
            for uri in uris if self._knows_uris else ():
                if exchange.lacks(self.server.__scopes_for__(names.RESOURCES_READ, uri)):
                    continue  # like a resource that the server's handler refuses
                if self.subscriber is None or await self.subscriber.subscribe(uri, ctx):
                    agreed.setdefault(_URIS, []).append(uri)
                    self._watched[uri] += 1
            exchange.keep_open(listener)
            method = notification_of(self._methods, names.NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED)
            await self._notify(listener, method, {"notifications": agreed})
            if exchange.is_open:
                self._listening[listener] = None
                for filter_ in self.filters:
                    filter_.begin(ctx, agreed, partial(self._put, listener))
        finally:
            if listener not in self._listening:
                self._left(listener)
        listen = request_of(self._methods, names.SUBSCRIPTIONS_LISTEN)
        return listen.result.load()(**{"_meta": _tag(exchange)})

    async def changed(self, area: str) -> int:
        """Report a changed list to the listeners; return how many were notified."""
        for hook in self.hooks:
            hook(area)
        method = notification_of(self._methods, names.list_changed(area))
        wanting = [each for each in self._listening if each.agreed.get(_flag(area))]
        return await flushed([self._put(each, method) for each in wanting])

    async def updated(self, uri: str | None = None) -> int:
        """Report a changed resource, or part of one, to the listeners; return how many were notified.

        Args:
            uri: the resource; None for every resource that is listened for.
        """
        wanting = [
            (listener, about)
            for listener in self._listening
            for held in listener.agreed.get(_URIS, ())
            if (about := held if uri is None else within(held, uri)) is not None
        ]
        method = notification_of(self._methods, names.NOTIFICATIONS_RESOURCES_UPDATED)
        return await flushed([self._put(each, method, about, {"uri": about}) for each, about in dict.fromkeys(wanting)])

    def post(self, name: str, arguments: Mapping[str, Any]) -> None:
        """Send a notification to the listeners without waiting until they can receive it."""
        uri, record = arguments.get("uri"), notification_of(self._methods, name)
        area = next((each for each in names.AREAS if names.list_changed(each) == name), "")
        for hook in self.hooks if area else ():
            hook(area)
        for listener in tuple(self._listening):  # Sending may remove one, if its channel turns out to be lost.
            spelled = (within(held, uri) for held in listener.agreed.get(_URIS, ())) if uri else ()
            about = next((each for each in spelled if each is not None), None)
            if about is not None or (not uri and listener.agreed.get(_flag(area))):
                params = _tagged(record, {"uri": about} if about else arguments, listener.exchange)
                self._connection.post(record, params, exchange=listener.exchange)

    def end(self, channel: Channel | None = None) -> None:
        """End all subscriptions, or those over one channel.

        With all of them the handlers end as well, so that the resources are not released.
        """
        if channel is None:
            self.subscriber = None
        for listener in tuple(self._listening):
            if listener.answer and (channel is None or listener.exchange.channel is channel):
                self._connection.inbound.conclude(
                    listener.exchange, listener.answer, "the server ends the subscription"
                )

    def _left(self, listener: "_Listener") -> None:
        """Forget a request that no longer listens, and release the resources that only it watched."""
        self._listening.pop(listener, None)
        for filter_ in self.filters:
            filter_.end(listener.exchange, listener.agreed)
        uris: list[str] = listener.agreed.pop(_URIS, [])
        self._watched.subtract(uris)
        free = {uri for uri in uris if not self._watched[uri]}
        for uri in free:
            del self._watched[uri]
        if self.subscriber is not None:
            self.subscriber.release(free)

    def _put(
        self, listener: "_Listener", method: NotificationMethod[Any], about: str = "", arguments: Any = None
    ) -> Any:
        notify = partial(self._notify, listener, method, arguments or {})
        return listener.pending.put(self._connection, (method.name, about), notify)

    async def _notify(
        self, listener: "_Listener", method: NotificationMethod[Any], arguments: Mapping[str, Any]
    ) -> None:
        if not listener.exchange.is_open:
            return  # Nothing that belongs to it may follow its end.
        params = _tagged(method, arguments, listener.exchange)
        await self._connection.notify(method, params, exchange=listener.exchange)


class _Listener:
    """A request that listens, and keeps itself open (`Call.keep_open`).

    Args:
        exchange: the request.
        agreed: what is reported to it.
        left: called with this object when the request is no longer open.

    Attributes:
        exchange: the request, which stays open while it listens.
        agreed: what is reported to it, keyed by wire names.
        answer: its final answer, as JSON.
        pending: the pending changes.
    """

    def __init__(self, exchange: Exchange, agreed: dict[str, Any], left: "Callable[[_Listener], None]") -> None:
        self._left = left
        self.exchange = exchange
        self.agreed = agreed
        self.answer = b""
        self.pending = PendingChanges()

    def hold(self, answer: bytes) -> None:
        """Keep the answer until the end."""
        self.answer = answer

    def ended(self) -> None:
        """Leave the listeners, since the request was cancelled, or its channel was lost."""
        self._left(self)


def listeners_of(connection: Connection) -> "list[Listeners]":
    """Return the listeners over a connection, for each modern-era server."""
    found: list[Listeners] = connection.features.get(_FEATURE, [])
    return found


def _end_all(connection: Connection) -> None:
    for listeners in listeners_of(connection):
        listeners.end()


def _flag(area: str) -> str:
    return f"{area}ListChanged"


def _tagged(method: NotificationMethod[Any], arguments: Mapping[str, Any], exchange: Exchange) -> Any:
    return method.build({**arguments, "_meta": _tag(exchange)})


def _tag(exchange: Exchange) -> dict[str, Any]:
    return {names.SUBSCRIPTION_ID: exchange.id}
