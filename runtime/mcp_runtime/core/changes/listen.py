"""The client's side of listening for changes (2026-07-28, basic/patterns/subscriptions)."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp_runtime.core.connection.calls import Call
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.notifications import NotificationStream
from mcp_runtime.core.errors import LocalProtocolError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.method import NotificationMethod, RequestMethod
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.jsonrpc import Id, meta_of

MAX_WAITING: Final = 1_000
"""How many changes are buffered for a slow reader; the oldest are dropped and counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something changed at the server.

    Attributes:
        what: the list that changed (``tools``, ``prompts``, ``resources``), or ``resource``.
        uri: the URI of the resource; None for a list.
        params: the params of the notification, in the revision's type; None if there are none.
    """

    what: str
    uri: str | None = None
    params: Any = None


class Subscription:
    """The changes that a server reports: an async iterator, which ends when the server ends it.

    Args:
        connection: the connection to the server.
        id_: the id of the request that listens.
        ended: done when the request is answered.
        is_read: whether changes are kept for a reader; handlers get them anyway.

    Attributes:
        agreed: what the server will report, keyed by wire names: less than requested if it cannot report everything.
        dropped: how many changes were dropped, oldest first, because they were not read in time.
    """

    def __init__(self, connection: Connection, id_: Id, ended: "asyncio.Future[Any]", *, is_read: bool = True) -> None:
        self._is_read = is_read
        self.agreed: Mapping[str, Any] = {}
        self._connection = connection
        self._id = id_
        self._ended = ended
        self._stream: NotificationStream[Change] = NotificationStream(
            MAX_WAITING, connection.limits.max_bytes, lambda _: None
        )
        self._acknowledged: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ended.add_done_callback(self._end)

    @property
    def dropped(self) -> int:
        """How many changes were dropped."""
        return self._stream.dropped

    def take(self, name: str, params: Any, size: int) -> None:
        """Add a notification that belongs to it.

        Args:
            name: its method.
            params: its typed params.
            size: the length of its text in bytes.
        """
        if name == names.NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED:
            self.agreed = params.notifications.model_dump(mode="json")
            if not self._acknowledged.done():
                self._acknowledged.set_result(None)
        elif name in CHANGES and self._is_read:
            self._stream.put(Change(what=CHANGES[name], uri=getattr(params, "uri", None), params=params), size)

    async def acknowledged(self, timeout: float | None) -> None:
        """Wait until the server has said what it will report.

        Raises:
            RequestTimeout: it did not within `timeout` seconds.
            PeerError: it refused.
            RemoteProtocolError: it ended the subscription before acknowledging it.
            ConnectionClosed: the connection ended.
        """
        await asyncio.wait((self._acknowledged, self._ended), timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._acknowledged.done():
            return
        if self._ended.done():
            self._ended.result()
            reason = "the server ended the subscription before it acknowledged it"
        else:
            await self.aclose()
            raise RequestTimeout(names.SUBSCRIPTIONS_LISTEN, timeout or 0)
        raise RemoteProtocolError(revision=self._connection.revision, method=names.SUBSCRIPTIONS_LISTEN, reason=reason)

    def _end(self, ended: "asyncio.Future[Any]") -> None:
        if not ended.cancelled():
            ended.exception()  # raised to the reader, if there is one
        self._connection.inbound.notifications.subscriptions.open.pop(self._id, None)
        self._stream.close()

    async def aclose(self) -> None:
        """Stop listening; safe to call again."""
        if not self._ended.done():
            self._connection.outbound.cancel(self._id, "the client stopped listening")
            self._ended.cancel()

    async def __aenter__(self) -> "Subscription":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __aiter__(self) -> "Subscription":
        return self

    async def __anext__(self) -> Change:
        """Wait for the next change.

        Raises:
            ConnectionClosed: the connection, and thus the subscription, has ended.
        """
        with suppress(StopAsyncIteration):
            change = await anext(self._stream)
            assert change is not None
            return change
        if self._ended.done() and not self._ended.cancelled():
            self._ended.result()
        raise StopAsyncIteration


class _Streams:
    """The subscriptions of one connection, to which notifications are dispatched."""

    def __init__(self, connection: Connection) -> None:
        self.open: dict[Id, Subscription] = {}
        self._connection = connection

    def take(self, received: Call) -> None:
        """Dispatch a notification, if it belongs to a subscription."""
        params, binding = received.raw_params, self._connection.requester.spoken
        if received.name == names.NOTIFICATIONS_CANCELLED:
            id_: Any = params.get("requestId")
            if isinstance(id_, int | str) and id_ in self.open:
                self._connection.outbound.end(id_)
            return
        tag: Any = meta_of(params).get(names.SUBSCRIPTION_ID)
        subscription = self.open.get(tag) if isinstance(tag, int | str) else None
        method = binding.methods.get(received.name) if binding is not None else None
        if subscription is None or not isinstance(method, NotificationMethod) or method.params is None:
            return
        try:
            read = received.requester.reader.read(method.params, dict(params), method.name)
        except RemoteProtocolError as error:
            self._connection.report(error)
            return
        subscription.take(method.name, read, len(received.text))


async def listen(
    connection: Connection,
    *,
    tools: bool = False,
    prompts: bool = False,
    resource_list: bool = False,
    resources: Sequence[str] = (),
    timeout: float | None = None,
    more: Mapping[str, Any] | None = None,
    is_read: bool = True,
) -> Subscription:
    """Listen for changes; see `ClientStub.listen`. An extension asks for `more`, keyed by wire names.

    Nothing is kept for a subscription that is not read.
    """
    binding, wire = connection.requester.spoken, connection.requester.wire
    method = binding.methods.get(names.SUBSCRIPTIONS_LISTEN) if binding is not None else None
    areas = [area for area, is_wanted in zip(names.AREAS, (prompts, resource_list, tools), strict=True) if is_wanted]
    if wire is not None and wire.listen is not None:
        found: Subscription = await wire.listen(areas, resources)
        return found
    if not isinstance(method, RequestMethod) or method.params is None:
        reason = "this revision has sessions: subscribe to resources, and handle the notifications of list changes"
        raise LocalProtocolError(revision=connection.revision, method=names.SUBSCRIPTIONS_LISTEN, reason=reason)
    asked: dict[str, Any] = {f"{area}ListChanged": True for area in areas} | dict(more or {})
    if resources:
        asked["resourceSubscriptions"] = list(resources)
    streams: _Streams | None = connection.inbound.notifications.subscriptions
    if streams is None:
        streams = _Streams(connection)
        connection.inbound.notifications.take_tagged(streams)
    params = method.params.build({"notifications": asked, "_meta": dict(connection.request_meta())})
    id_, ended = connection.outbound.open(method, params)
    subscription = streams.open[id_] = Subscription(connection, id_, ended, is_read=is_read)
    try:
        await subscription.acknowledged(connection.limits.timeout if timeout is None else timeout)
    except asyncio.CancelledError:
        await subscription.aclose()
        raise
    return subscription


CHANGES: Final[Mapping[str, str]] = {
    names.NOTIFICATIONS_RESOURCES_UPDATED: "resource",
    **{names.list_changed(area): area for area in names.AREAS},
}
"""What has changed, according to each notification of a subscription."""
