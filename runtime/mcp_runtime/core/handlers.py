"""Base classes of generated handlers, and the context passed to each handler."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import copy
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.functions import check_names, refuse_unknown, scopes_of
from mcp_runtime.core.method import NotificationMethod, RequestMethod
from mcp_runtime.core.options import Caller

if TYPE_CHECKING:
    import typing_extensions

    from mcp_runtime.core.connection.connection import Connection, Exchange
    from mcp_runtime.core.connection.notifications import NotificationStream
    from mcp_runtime.core.connection.requester import Principal, Requester
    from mcp_runtime.core.model import WireModel
    from mcp_runtime.core.options import LogLevel
    from mcp_runtime.core.settings import Extends, ServerOptions

    StateT = typing_extensions.TypeVar("StateT", default=Any)
else:
    StateT = TypeVar("StateT")  # typing_extensions takes time to import

PeerT = TypeVar("PeerT")
P = TypeVar("P")
MetaT = TypeVar("MetaT", bound="WireModel")
T = TypeVar("T")

_IMPLEMENTED = "_mcp_implemented"
_SERVING = "_mcp_serving"


class Stub:
    """Base class of generated stubs: the peer as reached through a `Caller`.

    Args:
        caller: sends the messages.
    """

    __binding__: ClassVar[Binding]

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    @property
    def __caller__(self) -> Caller:
        """The caller that sends the messages."""
        return self._caller

    @property
    def connection(self) -> "Connection":
        """The connection to the peer: its state, the peer's identity, vendor requests, and closing.

        Raises:
            TypeError: the stub uses a caller without a connection.
        """
        found: Connection = self._caller.connection
        return found

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the peer declared, by wire names; in the modern era, with the current request."""
        requester = self._caller.recipient
        declared: Mapping[str, Any] = requester.declared[requester.side.other]
        return declared

    def has(self, path: str) -> bool:
        """Whether the peer declared a capability.

        Args:
            path: its path, such as ``tools``, ``resources.subscribe`` or ``experimental.acme``.
        """
        from mcp_runtime.core.protocol.capabilities import declares

        return declares(self.capabilities, path)

    def notifications(self, method: NotificationMethod[P], *, limit: int = 1000) -> "NotificationStream[P]":
        """Iterate over the params of the notifications of one method that arrive from now on.

        Args:
            method: a record of the `methods` module of the revision's package.
            limit: how many notifications are buffered for a slow reader; the oldest are dropped and counted.
        """
        return self.connection.notifications(method, limit=limit)

    def _meta(self, type_: type[MetaT], meta: MetaT | Mapping[str, Any] | None) -> MetaT:
        """Return the metadata that was passed (an object, or keyed by wire names), with what every request must carry.

        Raises:
            LocalProtocolError: it names a revision other than the one in use.
            pydantic.ValidationError: it is not valid.
        """
        if meta is None:
            return self._caller.plain_meta(type_)
        from mcp_runtime.core.protocol.jsonrpc import merged_meta

        given = meta if isinstance(meta, Mapping) else meta.model_dump(mode="json")
        return type_.model_validate(merged_meta(self._caller.request_meta(), given))

    @staticmethod
    def _given(method: RequestMethod[P, Any], arguments: Mapping[str, Any]) -> P | None:
        """Build the params of a method, which are a union, from keyword arguments.

        Raises:
            TypeError: no member of the union has an argument.
        """
        params = method.build(arguments)
        refuse_unknown(arguments.keys() - {"_meta"}, vars(params))
        return params


class Context(Generic[PeerT]):
    """The context of the message that a handler answers.

    Args:
        peer: the stub for the side that sent the message.
        request_id: the id of the request; None for a notification.
        exchange: the message on its connection; None if the handler is called without one.
    """

    def __init__(self, peer: PeerT, request_id: int | str | None = None, exchange: "Exchange | None" = None) -> None:
        self._request_id = request_id
        self._peer = peer
        self._exchange = exchange

    @property
    def request_id(self) -> int | str | None:
        """The id of the request; None for a notification. After a handler asks for input, the id of the retry."""
        return self._request_id if self._exchange is None else self._exchange.id

    @property
    def peer(self) -> PeerT:
        """The side that sent the message. Anything sent through it, from any task, belongs to this message."""
        exchange, peer = self._exchange, self._peer
        if exchange is None or not isinstance(peer, Stub):
            return peer
        from mcp_runtime.core.connection.base import OnBehalf

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
        """The connection to the peer, with the peer's identity and capabilities."""
        return self.exchange.connection

    @property
    def requester(self) -> "Requester":
        """The sender of the message: its name (`info`), revision, declared capabilities and `principal`.

        In the modern era every request carries this information; in the legacy era it comes from the handshake.
        """
        return self.exchange.requester

    @property
    def principal(self) -> "Principal | None":
        """The authenticated sender of the message, with the scopes and claims of its token; None if unknown.

        Its text is the key of issuer and subject.
        """
        return self.exchange.principal

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the message, keyed by wire names; empty if it has none."""
        return self.exchange.meta

    @property
    def is_cancelled(self) -> bool:
        """Whether the peer cancelled the request. The handler's task is cancelled as well."""
        return self.exchange.is_cancelled

    @property
    def cancel_reason(self) -> str | None:
        """The peer's reason for cancelling the request."""
        return self.exchange.cancel_reason

    async def recorded(self, name: str, work: Callable[[str], Awaitable[T]]) -> T:
        """Run work that must not be repeated when this handler is replayed (`InputState`), and return its result.

        The result travels to the client and back; when the handler runs again, it is returned without doing the work.
        If a process or connection ends before the result reaches the client, the work is done again with the same
        key. Handlers that are not replayed do it once.

        Args:
            name: identifies the work within the call. A name may be reused if the order is the same each time.
            work: does the work and returns a JSON value. It receives an idempotency key, and must not ask the client
                for input.

        Raises:
            TypeError: the result of `work` is not a JSON value.
        """
        found: T = await self.requester.answers.questions.recorded(self.exchange, name, work)
        return found

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress on the request; does nothing if the peer did not ask for it.

        Progress that does not increase is dropped and logged.

        Args:
            progress: how much is done so far.
            total: how much there is to do; None if unknown.
            message: a text to show, or None.
        """
        await (self._exchange or self.exchange).report_progress(progress, total, message)

    async def log(self, level: "LogLevel", data: Any, *, logger: str | None = None) -> None:
        """Send a log message to the peer, if it asked for messages of that level.

        Args:
            level: the severity, by its RFC 5424 name: ``debug`` to ``emergency``.
            data: any JSON value.
            logger: the name of the logger; None to send no name.
        """
        await self.exchange.log(level, data, logger)

    def close_stream(self) -> None:
        """Close the stream that the answer would be sent on, so that a long request does not hold a connection open.

        The client reconnects later; the handler keeps running.

        Raises:
            LocalProtocolError: the client cannot reconnect. It can only over HTTP, from revision 2025-11-25 on.
        """
        self.exchange.close_stream()


class ServerContext(Context[PeerT], Generic[PeerT, StateT]):
    """The context of a message that a server answers; `StateT` is what the server's lifespan yields."""

    _states: Sequence[Any] | None = None  # what the lifespan of a mounted server yielded; None for that of the server

    def within(self, server: "ServerHandlers") -> Self:
        """Return the same for the handlers of a mounted server."""
        made = copy(self)
        made._states = Serving.of(server).states()
        return made

    @property
    def state(self) -> StateT:
        """What the server's lifespan yielded.

        Raises:
            RuntimeError: the server has no lifespan, or is served without it.
        """
        found: Sequence[StateT] = self.requester.answers.state if self._states is None else self._states
        if not found:
            raise RuntimeError("ctx.state is what a lifespan yields, and this server has none: App(lifespan=...)")
        return found[0]


class Handlers:
    """Base class of generated handler classes."""

    __binding__: ClassVar[Binding]
    __context__: ClassVar[type[Context[Any]]]
    __peer__: ClassVar[type[Any]]
    __handlers__: ClassVar[Mapping[str, str]] = {}
    """Maps each method to the name of the Python method that handles it."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if cls.__handlers__ and "__handlers__" not in cls.__dict__:
            check_names(cls, cls.__handlers__)

    @classmethod
    def __implemented__(cls) -> frozenset[str]:
        """Return the methods that this class handles, which determine the advertised capabilities."""
        found: frozenset[str] | None = cls.__dict__.get(_IMPLEMENTED)
        if found is None:
            base = next(c for c in cls.__mro__ if "__handlers__" in c.__dict__)
            own = (m for m, name in cls.__handlers__.items() if getattr(cls, name) is not getattr(base, name))
            found = frozenset(own)
            setattr(cls, _IMPLEMENTED, found)
        return found

    def __answered__(self) -> frozenset[str]:
        """Return the methods that this object answers: those that its class handles."""
        return self.__implemented__()

    def connected(self, connection: "Connection") -> None:
        """Called for each new connection before any message is handled. Override it to add vendor methods and hooks.

        Args:
            connection: the new connection.
        """


@cache
def _default_options() -> "ServerOptions":
    from mcp_runtime.core.settings import ServerOptions  # Importing a server must not import asyncio.

    return ServerOptions()


class Serving:
    """What a server object has while it is served, beside what its author gave it.

    Attributes:
        connections: the open connections.
        lifespans: the lifespans that are open, by event loop.
        suspensions: the handlers that wait for another request; None before the first server of the modern era.
        relay: connects it with other processes; None without a fan-out.
        mounted, outer: the servers that are parts of it, and those of which it is a part.
        is_checked: whether its author was warned of gaps: over HTTP, each session starts serving it again.
    """

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.lifespans: dict[Any, Any] = {}
        self.suspensions: Any = None
        self.relay: Any = None
        self.mounted: list[ServerHandlers] = []
        self.outer: list[ServerHandlers] = []
        self.is_checked = False

    def states(self) -> Sequence[Any]:
        """Return what the lifespan yielded in this event loop, alone; nothing without a lifespan."""
        from asyncio import get_running_loop

        living = self.lifespans.get(get_running_loop())
        return (living.state.result(),) if living else ()

    @staticmethod
    def of(server: "ServerHandlers") -> "Serving":
        """Return that of a server, whose constructor need not have been called."""
        found: Serving = server.__dict__.get(_SERVING) or server.__dict__.setdefault(_SERVING, Serving())
        return found


class ServerHandlers(Handlers):
    """Base class of generated servers.

    Args:
        extensions: what the server supports beyond the core, in addition to `ServerOptions.extensions`.

    Raises:
        ValueError: an extension extends another revision, or two add one method.
    """

    options: "ServerOptions | None" = None
    """The server's identity, and capabilities beyond those of its handlers; `name` defaults to the class name."""

    def __init__(self, *, extensions: "Sequence[Extends]" = ()) -> None:
        if extensions:
            self.options = self.effective_options().extended(extensions, self.__binding__.revision)

    def effective_options(self) -> "ServerOptions":
        """Return the options with which this server is served."""
        return self.options or _default_options()

    def __scopes_for__(self, method: str, name: str | None = None) -> tuple[str, ...]:
        """Return the scopes that a request needs; see `mcp_runtime.requires_scopes`.

        Args:
            method: the method of the request.
            name: the tool, the prompt or the URI that it names; None for what any request of the method needs.
        """
        return scopes_of(getattr(self, self.__handlers__.get(method, ""), None), name)


def answer_with(handlers: Handlers, connection: "Connection") -> None:
    """Register handlers on a connection that is bound to their revision."""
    if isinstance(handlers, ServerHandlers):
        connection.requester.answers.serve(Serving.of(handlers).states(), handlers.__scopes_for__)
    for name in handlers.__answered__():
        connection.handle(handlers.__binding__.methods[name], getattr(handlers, handlers.__handlers__[name]))
    handlers.connected(connection)


def remember(server: ServerHandlers, connection: "Connection") -> None:
    """Track a connection of a server for as long as it is open."""
    connections = Serving.of(server).connections
    if connection not in connections:
        connections.append(connection)
        connection.on_close(lambda _: connections.remove(connection))


def connections_of(server: ServerHandlers) -> "tuple[Connection, ...]":
    """Return the open connections of a server.

    Args:
        server: an object that is being served.
    """
    return tuple(Serving.of(server).connections)
