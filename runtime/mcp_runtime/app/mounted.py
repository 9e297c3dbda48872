"""Servers of this process as parts of an App: their handlers are called directly."""

from typing import TYPE_CHECKING, Any

from mcp_runtime.app.answering import Answering
from mcp_runtime.app.changes import not_watched
from mcp_runtime.app.mounting import Part
from mcp_runtime.core.connection.calls import through
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.functions import scoped
from mcp_runtime.core.handlers import ServerHandlers, Serving
from mcp_runtime.core.protocol.jsonrpc import METHOD_NOT_FOUND

if TYPE_CHECKING:
    from mcp_runtime.core.connection.connection import Connection


def mounted(server: ServerHandlers, prefix: str, outer: ServerHandlers) -> "MountedServer":
    """Return a server as a part of an outer one, whose clients learn of its changes."""
    Serving.of(outer).mounted.append(server)
    Serving.of(server).outer.append(outer)
    return MountedApp(server, prefix) if isinstance(server, Answering) else MountedServer(server, prefix)


class MountedServer(Part):
    """A server of this process, in the App's revision, whose handlers are called directly.

    Args:
        server: the server.
        prefix: see `Part`.
    """

    def __init__(self, server: ServerHandlers, prefix: str) -> None:
        super().__init__(prefix)
        self.server = server

    @property
    def reports_updates(self) -> bool:
        """Whether its options say so."""
        return self.server.effective_options().resource_updates

    def answers(self, method: str) -> bool:
        """Whether it has a handler of a method."""
        return method in self.server.__answered__()

    def scopes_for(self, method: str, name: str | None) -> tuple[str, ...]:
        """Return the scopes that its handler needs."""
        return self.server.__scopes_for__(method, name)

    def has_resource(self, uri: str) -> bool | None:
        """Return None: only its handler can tell."""
        return None

    async def answer(self, method: str, params: Any, ctx: Any) -> Any:
        """Call its handler, through its middleware.

        Raises:
            PeerError: it has none.
        """
        if method not in self.server.__implemented__():
            raise PeerError(METHOD_NOT_FOUND, "the server does not answer this method", {"method": method})
        handler = scoped(getattr(self.server, self.server.__handlers__[method]))
        exchange, own = ctx.exchange, ctx.within(self.server)
        middleware = self.server.effective_options().middleware
        if not middleware:
            return await handler(params, own)
        outer, exchange.params = exchange.params, params
        try:
            return await through(middleware, exchange, lambda: handler(exchange.params, own))
        finally:
            exchange.params = outer

    async def watch(self, method: str, uri: str, ctx: Any) -> None:
        """Call its handler; without one, agree if it reports changes of resources."""
        if self.answers(method):
            record: Any = self.server.__binding__.methods[method]
            await self.answer(method, record.build({"uri": uri}), ctx)
        elif not self.reports_updates:
            raise not_watched(uri)

    def held(self, uri: str, more: int) -> None:
        """Do nothing: a generated server has handlers for that."""

    def connected(self, connection: "Connection") -> None:
        """Let it add vendor methods and hooks."""
        self.server.connected(connection)

    def declare_tasks(self, prefix: str) -> None:
        """Do nothing: a generated server has declared its tools to the extension."""


class MountedApp(MountedServer):
    """An App that is part of another one; it can tell which resources it has."""

    server: Answering

    def __init__(self, server: Answering, prefix: str) -> None:
        super().__init__(server, prefix)
        self.server = server

    def has_resource(self, uri: str) -> bool | None:
        """Whether it has a resource, or one of its own parts."""
        return self.server.__has_resource__(uri)

    async def watch(self, method: str, uri: str, ctx: Any) -> None:
        """Ask its subscription, or its own parts."""
        await self.server.__watch__(method, uri, ctx.within(self.server))

    def held(self, uri: str, more: int) -> None:
        """Tell its own parts."""
        self.server.__held__(uri, more)

    def declare_tasks(self, prefix: str) -> None:
        """Declare its tools, and those of its own parts."""
        self.server.__declare_tasks__(prefix + self.prefix)
