"""Base classes of generated clients, opening one of several revisions, and pagination.

The connection implements `Caller`, and is imported only when a stub opens one, so that a program which only reads and
writes models does not load it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.handlers import Context, Handlers, ServerContext, ServerHandlers, StateT, Stub
from mcp_runtime.core.options import Caller, CallOptions

if TYPE_CHECKING:
    from typing import Self

    from mcp_runtime.core.changes.listen import Subscription
    from mcp_runtime.core.handshake.client import Peer
    from mcp_runtime.core.settings import ClientOptions, Extends

__all__ = [
    "Binding",
    "CallOptions",
    "Caller",
    "ClientStub",
    "Context",
    "Handlers",
    "ServerContext",
    "ServerHandlers",
    "StateT",
    "Stub",
    "iterate",
]

MAX_PAGES: Final = 100_000
"""How many pages of a list are requested."""
MAX_EMPTY_PAGES: Final = 100
"""How many pages without items are requested in a row."""

R = TypeVar("R")
T = TypeVar("T")
HandlersT = TypeVar("HandlersT", bound="Handlers")


class ClientStub(Stub, Generic[HandlersT]):
    """Base class of generated clients; `HandlersT` answers the server's requests."""

    @classmethod
    async def open(
        cls,
        peer: "Peer",
        *,
        handlers: HandlersT | None = None,
        options: "ClientOptions | None" = None,
        extensions: "Sequence[Extends]" = (),
        require: Sequence[str] = (),
    ) -> "Self":
        """Open a conversation with a server of any revision, in the types of this one (`ClientOptions.revisions`).

        Args:
            peer: the server, as `connect_stdio` yields it.
            handlers: answers the server's requests; what it implements determines the declared capabilities.
            options: the client's identity, timeouts and strictness.
            extensions: what the client supports beyond the core, in addition to `ClientOptions.extensions`.
            require: capabilities that the server must declare, as paths: ``tools``, ``resources.subscribe``.

        Raises:
            ValueError: an extension extends another revision, or two add one method.
            UnsupportedRevision: the server supports neither this revision nor one that it is bridged to.
            MissingCapability: the server did not declare a required capability.
            ConnectionClosed: the server cannot be reached, or disconnected.
            RequestTimeout: the server did not answer in time.
        """
        from mcp_runtime.core.handshake.client import Opening
        from mcp_runtime.core.settings import ClientOptions

        options = ClientOptions() if options is None else options
        options = options.extended(extensions, cls.__binding__.revision) if extensions else options
        return await Opening(peer, options).open((cls,), () if handlers is None else (handlers,), require, others=True)

    async def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resource_list: bool = False,
        resources: Sequence[str] = (),
        timeout: float | None = None,
    ) -> "Subscription":
        """Listen for changes at a modern-era server: ``async for change in await client.listen(tools=True)``.

        Args:
            tools: whether to listen for changes of the list of tools.
            prompts: whether to listen for changes of the list of prompts.
            resource_list: whether to listen for changes of the list of resources.
            resources: the URIs of resources to watch.
            timeout: seconds to wait for the server's acknowledgement; None for the default of the connection.

        Raises:
            LocalProtocolError: the revision belongs to the legacy era.
            PeerError: the server refused.
            RequestTimeout: the server did not acknowledge in time.
            ConnectionClosed: the connection ended.
        """
        from mcp_runtime.core.changes.listen import listen

        return await listen(
            self.connection,
            tools=tools,
            prompts=prompts,
            resource_list=resource_list,
            resources=resources,
            timeout=timeout,
        )

    async def set_roots(self, roots: Sequence[Any]) -> None:
        """Set the roots that the server may ask for, and notify it of the change.

        Args:
            roots: ``Root`` objects or URIs.

        Raises:
            ValueError: a URI is not a ``file:`` URI.
            LocalProtocolError: the client did not declare roots when it was opened.
        """
        from mcp_runtime.core.features import set_roots

        await set_roots(self.connection, roots)


async def iterate(
    page: Callable[[str | None], Awaitable[R]], read: Callable[[R], tuple[list[T], str | None]]
) -> AsyncIterator[T]:
    """Iterate over the items of all pages. Only an absent cursor ends them; an empty string is a cursor.

    Args:
        page: requests the page at a cursor, None for the first one.
        read: returns the items of a page, and the cursor of the next.

    Raises:
        RemoteProtocolError: the pages do not end: a cursor is repeated, or there are too many pages, or too many empty
            ones in a row.
    """
    cursor: str | None = None
    seen: set[int] = set()  # hashes, since cursors may be long
    empty = 0
    while True:
        items, cursor = read(await page(cursor))
        for item in items:
            yield item
        if cursor is None:
            return
        empty = 0 if items else empty + 1
        if hash(cursor) in seen:
            raise _endless("the same cursor came twice")
        if empty >= MAX_EMPTY_PAGES or len(seen) >= MAX_PAGES:
            what = f"{empty:,} in a row are empty" if empty >= MAX_EMPTY_PAGES else f"there are more than {MAX_PAGES:,}"
            raise _endless(what)
        seen.add(hash(cursor))


def _endless(what: str) -> Exception:
    from mcp_runtime.core.errors import RemoteProtocolError

    return RemoteProtocolError(revision="MCP", method=None, pointer="/nextCursor", reason=f"endless pagination: {what}")
