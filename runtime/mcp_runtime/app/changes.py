"""What clients learn of changes: notifications from any thread, and functions that let them subscribe to resources."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mcp_runtime.app.errors import NotFound
from mcp_runtime.app.functions import Function
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context, ServerHandlers, Serving, connections_of
from mcp_runtime.core.protocol.names import RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE

if TYPE_CHECKING:
    import asyncio

    from mcp_runtime.core.connection.connection import Connection


def tell(server: ServerHandlers, loop: "asyncio.AbstractEventLoop", area: str) -> None:
    """Schedule a notification of the clients of a server.

    Args:
        server: the server.
        loop: the event loop that serves them.
        area: the list that changed: ``tools``, ``prompts``, ``resources``.
    """
    if not loop.is_closed():
        loop.call_soon_threadsafe(_spawn, server, area)


def _spawn(server: ServerHandlers, area: str) -> None:
    from mcp_runtime.core.changes.subscriptions import list_changed

    for connection in reached_by(server)[:1]:
        connection.spawn(list_changed(server, area))


def reached_by(server: ServerHandlers) -> "tuple[Connection, ...]":
    """Return the open connections of a server, and of those in which it is mounted."""
    outer = (connection for each in Serving.of(server).outer for connection in reached_by(each))
    return (*connections_of(server), *outer)


class Subscription(Function):
    """A function that is called when a client wants to subscribe to a resource.

    Args:
        function: takes the URI.

    Raises:
        DefinitionError: the function takes anything else.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, "subscription", None)
        if [parameter.annotation for parameter in self.parameters] != [str]:
            raise self.signature.error("it must take the URI: (uri: str)")

    async def agree(self, uri: str, ctx: Context[Any]) -> None:
        """Call the function.

        Raises:
            PeerError: it refuses the URI.
        """
        [parameter] = self.parameters
        await self.invoke({parameter.name: uri}, ctx)


class Watched(Protocol):
    """An App, to whose resources clients may subscribe."""

    async def __watch__(self, method: str, uri: str, ctx: Any) -> None:
        """Let a client subscribe to a resource, or no longer; raises a PeerError to refuse it."""

    def __held__(self, uri: str, more: int) -> None:
        """Note that more connections, or fewer, have subscribers of a resource."""


class Watching:
    """Lets the clients of a connection subscribe to resources, in either era.

    Args:
        app: has the resources.
    """

    def __init__(self, app: Watched) -> None:
        self._app = app
        self._held: set[str] = set()

    async def subscribe(self, uri: str, ctx: Context[Any]) -> bool:
        """Ask about a resource; return False if it is refused, as the modern era does without an error."""
        try:
            await self._app.__watch__(RESOURCES_SUBSCRIBE, uri, ctx)
        except PeerError:
            return False
        self._hold(uri)
        return True

    def release(self, uris: Iterable[str]) -> None:
        """Note that nobody is subscribed to these resources any more."""
        for uri in self._held.intersection(uris):
            self._held.discard(uri)
            self._app.__held__(uri, -1)

    def _hold(self, uri: str) -> None:
        if uri not in self._held:
            self._held.add(uri)
            self._app.__held__(uri, 1)

    def install(self, server: ServerHandlers, connection: "Connection") -> None:
        """Answer the requests of a session, and be asked by the listeners of the modern era."""
        from mcp_runtime.core.changes.listeners import listeners_of
        from mcp_runtime.core.method import RequestMethod

        for name in (RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE):
            method = connection.requester.method(name)
            if isinstance(method, RequestMethod):
                connection.handle(method, partial(self._answer, method))
        for listeners in listeners_of(connection):
            if listeners.server is server:
                listeners.subscriber = self
        connection.on_close(lambda _: self.release(tuple(self._held)))

    async def _answer(self, method: Any, params: Any, ctx: Context[Any]) -> Any:
        await self._app.__watch__(method.name, params.uri, ctx)
        if method.name == RESOURCES_SUBSCRIBE:
            self._hold(params.uri)
        else:
            self.release((params.uri,))
        return method.result.build({})


def not_watched(uri: str) -> NotFound:
    """Return the error for a resource that nobody can subscribe to."""
    return NotFound("this resource cannot be subscribed to", uri)
