"""What answers a peer: the bases of generated handlers, and the context that each handler gets."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.plain import blocks
from mcp_runtime.protocol.misnamed import check_names
from mcp_runtime.remote import Stub

if TYPE_CHECKING:
    from mcp_runtime.connection.answers import Handler
    from mcp_runtime.connection.connection import Connection, Exchange
    from mcp_runtime.connection.requester import Requester
    from mcp_runtime.settings import ServerOptions

PeerT = TypeVar("PeerT")
T = TypeVar("T")

_CONNECTIONS = "_mcp_connections"
_IMPLEMENTED = "_mcp_implemented"


class Context(Generic[PeerT]):
    """What a handler knows of the message it answers.

    Args:
        peer: the stub of the side that sent the message.
        request_id: the id of the request, None for a notification.
        exchange: the message on its connection.
    """

    def __init__(self, peer: PeerT, request_id: int | str | None = None, exchange: "Exchange | None" = None) -> None:
        self._request_id = request_id
        self._peer = peer
        self._exchange = exchange

    @property
    def request_id(self) -> int | str | None:
        """The id of the request, None for a notification; a handler that asked for input has that of the retry."""
        return self._request_id if self._exchange is None else self._exchange.id

    @property
    def peer(self) -> PeerT:
        """The side that sent the message; what is sent by it belongs to the message, from whatever task."""
        exchange, peer = self._exchange, self._peer
        if exchange is None or not isinstance(peer, Stub):
            return peer
        from mcp_runtime.connection.on_behalf import OnBehalf

        bound: PeerT = type(peer)(OnBehalf(peer.__caller__, exchange))
        return bound

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
    def requester(self) -> "Requester":
        """Who sent the message: how it names itself (`info`), what it speaks and declared, its `principal`.

        In the modern era each request says this for itself, in the legacy era the handshake did for all.
        """
        return self.exchange.requester

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

    async def recorded(self, name: str, work: Callable[[str], Awaitable[T]]) -> T:
        """Do work that must not be done again when this handler begins anew (`InputState`), and return its result.

        The result travels with the client, and is returned at once where the handler runs again. Work whose result was
        not sent to the client, because a process or a connection ended first, is done once more with the same key.
        Where handlers do not begin anew, it is done once.

        Args:
            name: names the work within the call; the same name may come again, in the same order each time.
            work: does it, and returns JSON. It gets an idempotency key, and asks the client nothing.

        Raises:
            TypeError: what it returned is not JSON.
        """
        found: T = await self.requester.answers.record(self.exchange, name, work)
        return found

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the peer how far the request has come; does nothing if it did not ask.

        Progress that is not more than before is dropped, with a line in the log.
        """
        await self.exchange.report_progress(progress, total, message)

    async def log(self, level: str, data: Any, *, logger: str | None = None) -> None:
        """Send a log message to the peer, if it wants messages of that level (RFC 5424)."""
        await self.exchange.log(level, data, logger)

    def close_stream(self) -> None:
        """Close the stream that the answer would leave by, so that a long request holds no connection open.

        The client comes back to it later; the handler goes on.

        Raises:
            LocalProtocolError: the client cannot come back: only over HTTP, from revision 2025-11-25 on, it can.
        """
        self.exchange.close_stream_early()


class Handlers:
    """The base of generated handler classes."""

    __binding__: ClassVar[Binding]
    __context__: ClassVar[type[Context[Any]]]
    __peer__: ClassVar[type[Any]]
    __handlers__: ClassVar[Mapping[str, str]] = {}
    """Method -> the name of the Python method that handles it."""
    __blocking__: ClassVar[frozenset[str]] = frozenset()
    """The Python methods that are plain functions: they run in threads."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.__handlers__ and "__handlers__" not in cls.__dict__:
            check_names(cls, cls.__handlers__)
            cls.__blocking__ = frozenset(name for name in cls.__handlers__.values() if blocks(getattr(cls, name)))

    @classmethod
    def implemented(cls) -> frozenset[str]:
        """Return the methods that this class handles itself, which decide what it advertises."""
        found: frozenset[str] | None = cls.__dict__.get(_IMPLEMENTED)
        if found is None:
            base = next(c for c in cls.__mro__ if "__handlers__" in c.__dict__)
            own = (m for m, name in cls.__handlers__.items() if getattr(cls, name) is not getattr(base, name))
            found = frozenset(own)
            setattr(cls, _IMPLEMENTED, found)
        return found

    def answered(self) -> frozenset[str]:
        """Return the methods that this object answers; those that its class handles."""
        return self.implemented()

    def connected(self, connection: "Connection") -> None:
        """Is called for each new connection before anything is handled: here a vendor's methods and hooks are added."""


class ServerHandlers(Handlers):
    """The base of generated servers."""

    options: "ServerOptions | None" = None
    """Who the server is and what it declares beyond what it implements; by default it bears the name of its class."""

    def effective_options(self) -> "ServerOptions":
        """Return the options with which this server is served."""
        if self.options is not None:
            return self.options
        from mcp_runtime.settings import ServerOptions  # Importing a server must not import asyncio.

        return ServerOptions()


def handler_of(handlers: Handlers, method: str) -> "Handler":
    """Return what handles a method: a coroutine function, which runs a plain one in a thread."""
    name = handlers.__handlers__[method]
    handler: Handler = getattr(handlers, name)
    if name not in handlers.__blocking__:
        return handler
    from mcp_runtime.threads import threaded  # Importing a class of handlers must not import asyncio.

    return threaded(handler)


def answer_with(handlers: Handlers, connection: "Connection") -> None:
    """Let handlers answer what comes over a connection that is bound to their revision."""
    for name in handlers.answered():
        connection.handle(handlers.__binding__.methods[name], handler_of(handlers, name))
    handlers.connected(connection)


def remember(server: ServerHandlers, connection: "Connection") -> None:
    """Keep a connection among those of its server for as long as it lives."""
    connections = _connections(server)
    if connection not in connections:
        connections.append(connection)
        connection.on_close(lambda _: connections.remove(connection))


def connections_of(server: ServerHandlers) -> "tuple[Connection, ...]":
    """Return the connections that a server answers now."""
    return tuple(_connections(server))


def _connections(server: ServerHandlers) -> "list[Connection]":
    found: list[Connection] = server.__dict__.setdefault(_CONNECTIONS, [])
    return found
