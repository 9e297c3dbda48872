"""What generated stubs stand on: how a call leaves, and how a handler is found.

The connection implements `Caller`; the stubs know no more of it than that. Nothing here loads it before it is used, so
that a program which only reads and writes models pays for none of it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.caller import Caller, CallOptions
from mcp_runtime.handlers import Context, Handlers, ServerHandlers
from mcp_runtime.remote import Stub

if TYPE_CHECKING:
    from typing import Self

    from mcp_runtime.bridge.policy import Bridging
    from mcp_runtime.features.listen import Subscription
    from mcp_runtime.peer import Peer
    from mcp_runtime.settings import ClientOptions

__all__ = ["Binding", "CallOptions", "Caller", "ClientStub", "Context", "Handlers", "ServerHandlers", "Stub", "iterate"]

MAX_PAGES: Final = 100_000
"""How many pages of a list are asked for."""
MAX_EMPTY_PAGES: Final = 100
"""How many pages without items are asked for in a row."""

R = TypeVar("R")
T = TypeVar("T")
HandlersT = TypeVar("HandlersT", bound="Handlers")


class ClientStub(Stub, Generic[HandlersT]):
    """The base of generated clients; `HandlersT` answers what the server asks."""

    @classmethod
    async def open(
        cls,
        peer: "Peer",
        *,
        handlers: HandlersT | None = None,
        options: "ClientOptions | None" = None,
        require: Sequence[str] = (),
        bridge: "bool | Bridging" = False,
    ) -> "Self":
        """Begin the conversation with a server, in exactly this revision unless it is bridged to others.

        Args:
            peer: where the server is, as `connect_stdio` yields it.
            handlers: answers what the server asks; what it implements decides which capabilities are declared.
            options: who the client is, its time limits, how strictly it reads.
            require: capabilities that the server must have, as paths: ``tools``, ``resources.subscribe``.
            bridge: whether servers of other revisions will do, or how to talk to them; what the program sees are the
                types of this revision in any case.

        Raises:
            UnsupportedRevision: the server does not speak this revision, nor one that it is bridged to.
            MissingCapability: the server lacks a capability that is required.
            ConnectionClosed: the server cannot be reached, or left.
            RequestTimeout: the server does not answer.
        """
        from mcp_runtime.handshake.client import open_client

        return await open_client(cls, peer, handlers=handlers, options=options, require=require, bridge=bridge)

    async def listen(
        self,
        *,
        tools: bool = False,
        prompts: bool = False,
        resource_list: bool = False,
        resources: Sequence[str] = (),
        timeout: float | None = None,
    ) -> "Subscription":
        """Listen for changes at a server of the modern era: ``async for change in await client.listen(tools=True)``.

        Args:
            tools: whether to hear of changes of the list of tools.
            prompts: the same for prompts.
            resource_list: the same for the list of resources.
            resources: the URIs of resources whose changes to hear of.
            timeout: seconds to wait until the server acknowledges; None for the default of the connection.

        Raises:
            LocalProtocolError: the revision is of the legacy era.
            PeerError: the server refused.
            RequestTimeout: it did not acknowledge in time.
            ConnectionClosed: it left.
        """
        from mcp_runtime.features.listen import listen

        return await listen(
            self.connection,
            tools=tools,
            prompts=prompts,
            resource_list=resource_list,
            resources=resources,
            timeout=timeout,
        )

    async def set_roots(self, roots: Sequence[Any]) -> None:
        """Set the roots that the server may ask for, and tell it that they changed; each is a ``Root`` or a URI.

        Raises:
            ValueError: a URI is not one of a file.
            LocalProtocolError: the client did not declare roots when it was opened.
        """
        from mcp_runtime.features.roots import set_roots

        await set_roots(self.connection, roots)


async def iterate(
    page: Callable[[str | None], Awaitable[R]], read: Callable[[R], tuple[list[T], str | None]]
) -> AsyncIterator[T]:
    """Iterate over the items of all pages; only an absent cursor ends them, the empty string is one like any other.

    Raises:
        RemoteProtocolError: the pages do not end: a cursor comes twice, or there are too many pages, or too many in a
            row without items.
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
    from mcp_runtime.errors import RemoteProtocolError

    return RemoteProtocolError(revision="MCP", method=None, pointer="/nextCursor", reason=f"pages without end: {what}")
