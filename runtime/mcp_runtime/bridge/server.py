"""A server written for one era, and clients of the other one."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from mcp_runtime.core.asking.questions import pause_before
from mcp_runtime.core.changes.listeners import Listeners
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Answers, Handler
from mcp_runtime.core.errors import LocalProtocolError, PeerError
from mcp_runtime.core.functions import scopes_of
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.method import AnyMethod, RequestMethod
from mcp_runtime.core.protocol import names

MAX_ROUNDS: Final = 16
"""How often a handler may return questions before its request fails."""


def begin_session(
    connection: Connection, info: Mapping[str, Any], capabilities: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Let a modern-era server answer a legacy-era session.

    Returns:
        What the client sent when the session began, as `_meta` of each of its requests.
    """
    binding = connection.binding
    assert binding is not None
    for method in binding.methods.values():
        handler = connection.handler(method.name)
        if isinstance(method, RequestMethod) and method.multi_round_trip and handler is not None:
            connection.handle(method, _asking(connection, method, handler))
    return {
        names.VERSION: binding.revision,
        names.CLIENT_INFO: dict(info),
        names.CLIENT_CAPABILITIES: dict(capabilities),
    }


def _asking(connection: Connection, method: RequestMethod[Any, Any], own: Handler) -> Handler:
    """Return a handler that asks the client by requests what the server's own handler asks by its result."""

    async def handler(params: Any, ctx: Context[Any]) -> Any:
        rounds = repeats = 0
        while rounds < MAX_ROUNDS:
            result = await own(params, ctx)
            if getattr(result, "result_type", "") != "input_required":
                return result
            asked: dict[str, Any] = result.input_requests or {}
            if asked:
                rounds, repeats = rounds + 1, 0
            else:
                await asyncio.sleep(pause_before(repeats))
                repeats += 1
            answers = {key: await _ask(ctx, request) for key, request in asked.items()}
            more: dict[str, Any] = {"input_responses": answers or None, "request_state": result.request_state}
            params = ctx.exchange.params = params.model_copy(update=more)
        raise _broken(connection, method.name, f"the handler asked for input {MAX_ROUNDS} times")

    return handler


async def _ask(ctx: Context[Any], asked: Any) -> Any:
    connection = ctx.connection
    assert connection.binding is not None
    method = connection.binding.methods.get(asked.method)
    if not isinstance(method, RequestMethod):
        raise _broken(connection, str(asked.method), "clients do not answer this method")
    return await ctx.peer.__caller__.request(method, asked.params, None)


def _broken(connection: Connection, method: str, reason: str) -> LocalProtocolError:
    return LocalProtocolError(revision=connection.revision, method=method, pointer="", reason=reason)


def stand_alone(connection: Connection, listeners: Listeners) -> None:
    """Let a legacy-era server answer stateless requests, for whose requester the connection is set up."""
    answers = connection.requester.answers
    reported = {names.NOTIFICATIONS_RESOURCES_UPDATED, *map(names.list_changed, names.AREAS)}

    def notify(method: AnyMethod, params: Any) -> None:
        if method.name in reported:
            uri: str | None = getattr(params, "uri", None)
            listeners.post(method.name, {} if uri is None else {"uri": uri})

    answers.notify_listeners = notify
    if names.RESOURCES_SUBSCRIBE in answers.handlers:
        listeners.subscriber = _Subscriber(connection, answers)


class _Subscriber:
    """Passes what is listened for to the handlers that a session would subscribe with."""

    def __init__(self, connection: Connection, answers: Answers) -> None:
        self._connection = connection
        self._answers = answers
        self._context: dict[str, Context[Any]] = {}

    async def subscribe(self, uri: str, ctx: Context[Any]) -> bool:
        """Call the handler of ``resources/subscribe``; a resource that it refuses is not watched."""
        try:
            if uri in self._context:
                ctx.exchange.require(scopes_of(self._answers.handlers[names.RESOURCES_SUBSCRIBE][1], uri))
            else:
                await self._call(names.RESOURCES_SUBSCRIBE, uri, ctx)
                self._context[uri] = ctx
        except PeerError:
            return False
        return True

    def release(self, uris: Iterable[str]) -> None:
        """Call the handler of ``resources/unsubscribe``, if there is one."""
        for uri in uris:
            ctx = self._context.pop(uri, None)
            if ctx is not None and names.RESOURCES_UNSUBSCRIBE in self._answers.handlers:
                self._connection.spawn(self._call(names.RESOURCES_UNSUBSCRIBE, uri, ctx))

    async def _call(self, name: str, uri: str, ctx: Context[Any]) -> None:
        method, handler = self._answers.handlers[name]
        assert method.params is not None
        await handler(cast(Any, method.params).build({"uri": uri}), ctx)
