"""What clients learn of changes: notifications from any thread, and functions that let them subscribe to resources."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp_runtime.app.functions import Function
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context, ServerHandlers, connections_of
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

    for connection in connections_of(server)[:1]:
        connection.spawn(list_changed(server, area))


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

    async def subscribe(self, uri: str, ctx: Context[Any]) -> bool:
        """Call the function; return False if it refuses the URI, as the modern era does without an error."""
        try:
            await self._call(uri, ctx)
        except PeerError:
            return False
        return True

    def release(self, uris: Iterable[str]) -> None:
        """Do nothing: the function is not interested."""

    def install(self, server: ServerHandlers, connection: "Connection") -> None:
        """Call the function for the subscriptions of clients of either era."""
        from mcp_runtime.core.changes.listeners import listeners_of
        from mcp_runtime.core.method import RequestMethod

        for name in (RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE):
            method = connection.requester.method(name)
            if isinstance(method, RequestMethod):
                connection.handle(method, partial(self._answer, method))
        for listeners in listeners_of(connection):
            if listeners.server is server:
                listeners.subscriber = self

    async def _answer(self, method: Any, params: Any, ctx: Context[Any]) -> Any:
        if method.name == RESOURCES_SUBSCRIBE:
            await self._call(params.uri, ctx)
        return method.result.build({})

    async def _call(self, uri: str, ctx: Context[Any]) -> None:
        [parameter] = self.parameters
        await self.invoke({parameter.name: uri}, ctx)
