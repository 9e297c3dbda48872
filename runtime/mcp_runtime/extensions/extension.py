"""What an extension does on the connections of a client or a server."""

import json
import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias, cast

from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Handler
from mcp_runtime.core.connection.results import Interrupted
from mcp_runtime.core.errors import RemoteProtocolError, clipped
from mcp_runtime.core.functions import scopes_of
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import Direction, RequestMethod, typed_wire
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.extensions.binding import ExtensionBinding

__all__ = ["Around", "Extension"]

Around: TypeAlias = Callable[[Any, Any, Handler], Coroutine[Any, Any, Any]]
"""Answers a call: takes the params, the context, and the handler that answers it otherwise."""

_SENT_HERE: Final = {Side.CLIENT: Direction.CLIENT_TO_SERVER, Side.SERVER: Direction.SERVER_TO_CLIENT}
_OBJECT: Final = typed_wire(dict[str, Any])
_MAX_REPORTED: Final = 256
"""How many different settings that do not fit are remembered per connection, to report each once."""


class Extension:
    """Base class of extensions: pass instances as ``extensions=[...]`` to an App, a Server or `Client.open`.

    An object serves any number of connections, of either side.

    Attributes:
        binding: what was generated for the extension, ``EXTENSION`` of its package; or an `ExtensionBinding.of` its own
            methods.
    """

    binding: ExtensionBinding

    def settings(self, connection: Connection) -> Mapping[str, Any]:
        """Return the settings that this side declares, keyed by wire names; none by default.

        Args:
            connection: the connection, with its revision and handlers.
        """
        return {}

    def handlers(self) -> Mapping[str, Handler]:
        """Return what handles messages of the peer, by method; each takes the params and the context.

        Those for methods of the extension that this side sends are not used, so that one class can serve both sides. A
        method of the revision is handled here unless this side has a handler of its own.
        """
        return {}

    def around(self) -> Mapping[str, Around]:
        """Return what sees calls of the peer and may answer them otherwise, by method of the revision.

        Each takes the params, the context and the handler that answers otherwise. If the extension adds results to the
        method, only calls of peers that declared it, and whose revision has result types, are passed.
        """
        return {}

    async def resume(self, result: Any, call: Interrupted[Any, Any]) -> Any:
        """Return the usual result of a call of this side that got a result of the extension.

        Args:
            result: the result.
            call: the call.
        """
        raise NotImplementedError(f"{type(self).__name__}.resume: {call.method.name} got {type(result).__name__}")

    def peer_settings(self, of: Context[Any] | Connection) -> Mapping[str, Any] | None:
        """Return the settings that a peer declared, keyed by wire names; None if it did not declare the extension.

        Settings that do not fit their type are reported in the log and count as empty.

        Args:
            of: the context of a message of the peer, or the connection.
        """
        requester = of.requester
        declared: Any = requester.declared[requester.side.other].get("extensions")
        if not is_object(declared) or (settings := declared.get(self.binding.id)) is None:
            return None
        try:
            requester.reader.read(self.binding.settings or _OBJECT, settings, self.binding.id)
        except RemoteProtocolError as error:
            self._report(of.connection if isinstance(of, Context) else of, settings, error)
            return {}
        return cast("Mapping[str, Any]", settings)

    def _report(self, connection: Connection, settings: Any, error: RemoteProtocolError) -> None:
        reported: set[int] = connection.features.setdefault(f"settings of {self.binding.id}", set())
        if (text := hash(json.dumps(settings, sort_keys=True))) in reported:
            return
        if len(reported) >= _MAX_REPORTED:
            reported.clear()
        reported.add(text)
        line = "the peer's settings of %s do not fit and count as empty: %s: %s"
        connection.log_limited(logging.WARNING, line, self.binding.id, error.pointer or "/", clipped(error.reason))

    @property
    def revision(self) -> str:
        """The revision that it extends; empty for any."""
        return self.binding.revision

    @property
    def methods(self) -> Collection[str]:
        """The methods that it adds."""
        return self.binding.methods.keys()

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Declare the extension with its settings; see `Feature`.

        Raises:
            pydantic.ValidationError: the settings do not match their type.
        """
        settings = dict(self.settings(connection))
        if self.binding.settings is not None:
            self.binding.settings.validate(settings)
        return ({"extensions": {self.binding.id: settings}},)

    def install(self, connection: Connection) -> None:
        """Register the handlers and results on a connection; see `Feature`."""
        own = connection.binding
        assert own is not None
        self.peer_settings(connection)
        for name, handler in self.handlers().items():
            method = self.binding.methods.get(name)
            if method is not None and method.direction is not _SENT_HERE[connection.side]:
                connection.handle(method, handler)
            elif method is None and connection.handler(name) is None and name in own.methods:
                connection.handle(own.methods[name], handler)
        results = self.binding.results
        for name, around in self.around().items():
            if (proceed := connection.handler(name)) is not None:
                connection.handle(own.methods[name], partial(self._answer, name in results, around, proceed))
        spoken = (connection.requester.spoken or own).methods
        for name in results:
            extended = spoken[name]
            if isinstance(extended, RequestMethod) and extended.results:
                for tag, type_ in results[name].items():
                    connection.results.accept(extended, tag, type_, self.resume)

    async def _answer(self, adds_results: bool, around: Around, proceed: Handler, params: Any, ctx: Any) -> Any:
        if adds_results and not (ctx.requester.result_tag and self.peer_settings(ctx) is not None):
            return await proceed(params, ctx)
        ctx.exchange.require(scopes_of(around, getattr(params, "name", None)))
        return await around(params, ctx, proceed)
