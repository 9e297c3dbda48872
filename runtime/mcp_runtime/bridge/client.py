"""A client written for one era, and a server of the other one."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from mcp_runtime.bridge.listening import listen_in_session
from mcp_runtime.core.binding import StandIn
from mcp_runtime.core.changes.listen import Subscription, listen
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import MissingCapability, PeerError, RequestTimeout
from mcp_runtime.core.method import RequestMethod, request_of
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side


class SessionOfClient:
    """What a legacy-era client uses a session for, with a modern-era server.

    Args:
        connection: the connection.

    Attributes:
        stand_ins: what replaces its requests, by method.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._subscribed: dict[str, Subscription] = {}
        self.stand_ins: Mapping[str, StandIn] = {
            names.PING: self._ping,
            names.LOGGING_SET_LEVEL: self._set_level,
            names.RESOURCES_SUBSCRIBE: self._subscribe,
            names.RESOURCES_UNSUBSCRIBE: self._unsubscribe,
        }

    async def begin(self, timeout: float) -> None:
        """Listen for what a legacy-era server would report without being asked."""
        declared = self._connection.declared[Side.SERVER]
        wanted = {area: declares(declared, f"{area}.listChanged") for area in names.AREAS}
        if not any(wanted.values()):
            return
        try:
            await listen(
                self._connection,
                tools=wanted["tools"],
                prompts=wanted["prompts"],
                resource_list=wanted["resources"],
                resources=(),
                timeout=timeout,
                is_read=False,
            )
        except (PeerError, RequestTimeout) as error:
            self._connection.log_limited(logging.WARNING, "the server does not report changes of its lists: %s", error)

    async def _ping(self, params: Any) -> Any:
        """Send any request that the server answers."""
        spoken = self._connection.requester.spoken
        assert spoken is not None
        discover = request_of(spoken.methods, names.SERVER_DISCOVER)
        asked = discover.build({"_meta": dict(self._connection.request_meta())})
        await self._connection.request(discover, asked, None)
        return self._empty(names.PING)

    async def _set_level(self, params: Any) -> Any:
        """Send the level with each request from now on."""
        connection = self._connection
        self._check(names.LOGGING_SET_LEVEL)
        declared, meta = connection.declared, {**connection.request_meta(), names.LOG_LEVEL: params.level}
        connection.learn(declared[Side.CLIENT], declared[Side.SERVER], meta=meta)
        return self._empty(names.LOGGING_SET_LEVEL)

    async def _subscribe(self, params: Any) -> Any:
        self._check(names.RESOURCES_SUBSCRIBE)
        if params.uri not in self._subscribed:
            self._subscribed[params.uri] = await listen(
                self._connection,
                tools=False,
                prompts=False,
                resource_list=False,
                resources=[params.uri],
                timeout=None,
                is_read=False,
            )
        return self._empty(names.RESOURCES_SUBSCRIBE)

    async def _unsubscribe(self, params: Any) -> Any:
        subscription = self._subscribed.pop(params.uri, None)
        if subscription is not None:
            await subscription.aclose()
        return self._empty(names.RESOURCES_UNSUBSCRIBE)

    def _check(self, name: str) -> None:
        """Check that the server declared what a request needs.

        Raises:
            MissingCapability: it did not.
        """
        method, connection = self._method(name), self._connection
        is_open = not method.capability or connection.requester.is_open(method.capability, Side.CLIENT)
        if connection.limits.check_capabilities and not is_open:
            raise MissingCapability(method.capability, name)

    def _method(self, name: str) -> RequestMethod[Any, Any]:
        assert self._connection.binding is not None
        method = request_of(self._connection.binding.methods, name)
        return method

    def _empty(self, name: str) -> Any:
        return self._method(name).result.build({})


def stand_alone(
    connection: Connection, named: Mapping[str, str]
) -> tuple[Mapping[str, StandIn], Callable[[str], None], Callable[..., Coroutine[Any, Any, Subscription]]]:
    """Complete the calls of a modern-era client, and answer from the session what would be a request.

    Returns:
        What replaces its requests, by method; a function for the log level of a request; and one that listens for
        changes.
    """
    binding, declared = connection.binding, connection.declared
    assert binding is not None
    meta = {
        names.VERSION: binding.revision,
        names.CLIENT_INFO: dict(named),
        names.CLIENT_CAPABILITIES: declared[Side.CLIENT],
    }
    connection.learn(declared[Side.CLIENT], declared[Side.SERVER], meta=meta)
    discover: Mapping[str, StandIn] = {names.SERVER_DISCOVER: partial(_discover, connection)}
    return discover, _LogLevel(connection).say, partial(listen_in_session, connection)


async def _discover(connection: Connection, params: Any) -> Any:
    """Return what the server sent when the session began."""
    assert connection.binding is not None
    method, requester = request_of(connection.binding.methods, names.SERVER_DISCOVER), connection.requester
    result = {
        "supportedVersions": [connection.revision],
        "capabilities": requester.declared[Side.SERVER],
        "instructions": requester.instructions,
        "_meta": {names.SERVER_INFO: dict(requester.info)},
    }
    return method.result.load()(**result)


class _LogLevel:
    """Tells a legacy-era server which log messages are wanted, once per change."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._said = ""

    def say(self, level: str) -> None:
        """Notify the server, before the request that carries the level."""
        connection = self._connection
        spoken = connection.requester.spoken
        method = spoken.methods.get(names.LOGGING_SET_LEVEL) if spoken else None
        known = isinstance(method, RequestMethod) and names.LOGGING_SET_LEVEL in connection.requester.may_send
        if level == self._said or not known:
            return
        assert isinstance(method, RequestMethod) and method.params is not None
        self._said = level
        _, answered = connection.outbound.open(method, method.params.build({"level": level}))
        answered.add_done_callback(self._take)

    def _take(self, answered: "asyncio.Future[Any]") -> None:
        if not answered.cancelled() and (error := answered.exception()) is not None:
            self._said = ""
            self._connection.log_limited(logging.WARNING, "the server does not accept a log level: %s", error)
