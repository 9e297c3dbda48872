"""What generated stubs stand on: how a call leaves, and how a handler is found.

The connection implements `Caller`; the stubs know no more of it than that. Nothing here loads it before it is used, so
that a program which only reads and writes models pays for none of it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.method import NotificationMethod, RequestMethod

if TYPE_CHECKING:
    from typing import Self

    from mcp_runtime.bridge.policy import Bridging
    from mcp_runtime.client import ClientOptions
    from mcp_runtime.connection import Connection
    from mcp_runtime.context import Exchange
    from mcp_runtime.model import WireModel
    from mcp_runtime.notifications import NotificationStream
    from mcp_runtime.peer import Peer
    from mcp_runtime.server import ServerOptions

__all__ = ["Binding", "CallOptions", "Caller", "ClientStub", "Context", "Handlers", "ServerHandlers", "Stub", "iterate"]

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
PeerT = TypeVar("PeerT")
MetaT = TypeVar("MetaT", bound="WireModel")
HandlersT = TypeVar("HandlersT", bound="Handlers")


class Progress(Protocol):
    """Is told how far a request has come: done so far, out of how much if known, and a message if there is one."""

    def __call__(self, progress: float, total: float | None, message: str | None, /) -> None:
        """Take one report."""


class CallOptions:
    """Options of one call that are not part of the message.

    Args:
        timeout: seconds to wait for the answer, or for the next report of progress; None for the caller's default.
        max_time: seconds to wait in all, however much progress is reported; None for the caller's default.
        progress: is told how far the request has come.
    """

    __slots__ = ("max_time", "progress", "timeout")

    def __init__(
        self, *, timeout: float | None = None, max_time: float | None = None, progress: Progress | None = None
    ) -> None:
        self.timeout = timeout
        self.max_time = max_time
        self.progress = progress


class Caller(Protocol):
    """Sends requests and notifications to the peer."""

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request and wait for the result of its type."""
        ...

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request and wait for a result of another type than the usual one."""
        ...

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification."""
        ...

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry, by wire names; empty where none is required."""
        ...


class Stub:
    """The base of generated stubs: the peer as seen through a `Caller`."""

    __binding__: ClassVar[Binding]

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @property
    def __caller__(self) -> Caller:
        """What the messages leave by."""
        return self._caller

    @property
    def connection(self) -> "Connection":
        """The connection to the peer: its state, who the peer is, vendor requests, closing.

        Raises:
            TypeError: the stub stands on a caller of another kind.
        """
        from mcp_runtime.connection import Connection

        # A caller that adds something to each message stands on a connection itself.
        found = getattr(self._caller, "connection", self._caller)
        if not isinstance(found, Connection):
            raise TypeError(f"this stub stands on a {type(self._caller).__name__}, not on a connection")
        return found

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the peer declared that it can do, by wire names."""
        return self.connection.declared[self.connection.side.other]

    def has(self, path: str) -> bool:
        """Whether the peer declared a capability: ``tools``, ``resources.subscribe``, ``experimental.acme``."""
        from mcp_runtime.capabilities import declares

        return declares(self.capabilities, path)

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> "NotificationStream[P]":
        """Iterate over the params of the notifications of one method that arrive from now on.

        Args:
            method: a record of the `methods` module of the revision's package.
            limit: how many are kept for a reader that is slower than the peer; older ones are dropped and counted.
        """
        return self.connection.notifications(method, limit=limit)

    def _meta(self, type_: type[MetaT], meta: MetaT | None) -> MetaT:
        """Return the metadata that was passed, or what the caller puts on every request."""
        return type_.model_validate(dict(self._caller.request_meta())) if meta is None else meta

    @staticmethod
    def _given(method: RequestMethod[P, Any], arguments: Mapping[str, Any]) -> P | None:
        """Make the params of a method from keyword arguments."""
        return method.params.build(arguments) if method.params else None


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
        from mcp_runtime.client import open_client

        return await open_client(cls, peer, handlers=handlers, options=options, require=require, bridge=bridge)

    async def set_roots(self, roots: Sequence[Any]) -> None:
        """Set the roots that the server may ask for, and tell it that they changed; each is a ``Root`` or a URI.

        Raises:
            ValueError: a URI is not one of a file.
            LocalProtocolError: the client did not declare roots when it was opened.
        """
        from mcp_runtime.roots import set_roots

        await set_roots(self.connection, roots)


class Context(Generic[PeerT]):
    """What a handler knows of the message it answers.

    Args:
        peer: the stub of the side that sent the message.
        request_id: the id of the request, None for a notification.
        exchange: the message on its connection.
    """

    def __init__(self, peer: PeerT, request_id: int | str | None = None, exchange: "Exchange | None" = None) -> None:
        self.peer = peer
        self.request_id = request_id
        self._exchange = exchange

    @property
    def exchange(self) -> "Exchange":
        """The message on its connection.

        Raises:
            RuntimeError: the handler was called without a connection.
        """
        if self._exchange is None:
            raise RuntimeError("this handler was called without a connection")
        return self._exchange

    @property
    def connection(self) -> "Connection":
        """The connection to the peer: who it is, what it can do."""
        return self.exchange.connection

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the message, by wire names; empty if it has none."""
        return self.exchange.meta

    @property
    def is_cancelled(self) -> bool:
        """Whether the peer no longer wants the answer; the handler's task is cancelled as well."""
        return self.exchange.is_cancelled

    @property
    def cancel_reason(self) -> str | None:
        """Why the peer no longer wants the answer, in its own words."""
        return self.exchange.cancel_reason

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the peer how far the request has come; does nothing if it did not ask.

        Raises:
            LocalProtocolError: the progress is not more than what was reported before.
        """
        await self.exchange.report_progress(progress, total, message)

    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message to the peer, if it wants messages of that level (RFC 5424)."""
        await self.exchange.log(level, data, logger)


class Handlers:
    """The base of generated handler classes."""

    __binding__: ClassVar[Binding]
    __context__: ClassVar[type[Context[Any]]]
    __peer__: ClassVar[type[Stub]]
    __handlers__: ClassVar[Mapping[str, str]] = {}
    """Method -> the name of the Python method that handles it."""

    @classmethod
    def implemented(cls) -> frozenset[str]:
        """Return the methods that this class handles itself, which decide what it advertises."""
        base = next(c for c in cls.__mro__ if "__handlers__" in c.__dict__)
        return frozenset(
            method for method, name in cls.__handlers__.items() if getattr(cls, name) is not getattr(base, name)
        )

    def connected(self, connection: "Connection") -> None:
        """Is called for each new connection before anything is handled: here a vendor's methods and hooks are added."""


class ServerHandlers(Handlers):
    """The base of generated servers."""

    options: "ServerOptions | None" = None
    """Who the server is and what it declares beyond what it implements; by default it bears the name of its class."""


async def iterate(
    page: Callable[[str | None], Awaitable[R]], read: Callable[[R], tuple[list[T], str | None]]
) -> AsyncIterator[T]:
    """Iterate over the items of all pages; only an absent cursor ends them, the empty string is one like any other."""
    cursor: str | None = None
    while True:
        items, cursor = read(await page(cursor))
        for item in items:
            yield item
        if cursor is None:
            return
