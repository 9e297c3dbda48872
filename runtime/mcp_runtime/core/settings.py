"""Options of clients and servers: their identity, their capabilities, how handlers wait for input."""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, Self

from mcp_runtime.core.binding import Revisions
from mcp_runtime.core.connection.connection import Connection, Middleware
from mcp_runtime.core.options import CacheHint, Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Keep handlers that wait for input suspended in this process until the client comes back with the answers.

    Attributes:
        expiry: seconds within which a client must come back; after that the handler is cancelled.
        per_peer: how many handlers may wait for one peer (a principal, an address, or the other end of a connection);
            beyond that, the oldest one is cancelled.
        overall: how many handlers may wait in total for one server object; beyond that, the oldest one of the peer that
            has the most is cancelled.
        shared: whether a client may come back on another connection to the same server object. Handlers then outlive
            their connection, and all clients without a principal or an address count as one peer.
    """

    expiry: float = 600.0
    per_peer: int = 100
    overall: int = 10_000
    shared: bool = False


class Feature(Protocol):
    """A part of the protocol that the runtime implements; one object serves any number of connections.

    Both methods are called once the revision and this side's own handlers are known, `install` also after the peer has
    declared its capabilities.
    """

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Return the capabilities that this side has because of the feature: paths, or values; none by default.

        Args:
            connection: the connection, with its revision and handlers.
            declared: what this side declares so far, keyed by wire names.
        """
        return ()

    def install(self, connection: Connection) -> None:
        """Register handlers on a connection, before or instead of this side's own.

        Args:
            connection: the connection, with its revision and handlers.
        """


class Extends(Feature, Protocol):
    """A feature that a program hands in; `mcp_runtime.Extension` is the usual base class."""

    @property
    def revision(self) -> str:
        """The revision that it extends; empty for any."""
        ...

    @property
    def methods(self) -> Collection[str]:
        """The methods that it adds."""
        ...


class Inputs(Protocol):
    """Lets modern-era handlers wait for input, as `Suspended` does; `mcp_runtime.InputState` is one."""

    def install(self, connection: Connection, name: str) -> None:
        """Let the handlers that are registered so far wait for input.

        Args:
            connection: the connection, set up for a requester of the modern era.
            name: the name of the server.
        """


class Relay(Protocol):
    """Relays changes between the processes of one server."""

    def publish(self, what: str, uri: str) -> None:
        """Publish a change to the other processes, asynchronously; see `features.listeners` for the kinds."""

    def listen(self) -> None:
        """Receive what the other processes publish, from now on."""

    async def heard(self) -> None:
        """Wait briefly until nothing is missed any more."""


class FanOut(Protocol):
    """Connects the processes of one server; `mcp_runtime.FanOut` is the base class of implementations."""

    def relay(self, server: Any, notify: Callable[[str, str], Coroutine[Any, Any, None]]) -> Relay:
        """Return what relays the changes of a server in this event loop.

        Args:
            server: the server, an instance of a generated `Server`.
            notify: notifies the clients of this process of a change, with its kind and the resource.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Limits):
    """How a connection behaves, and the middleware around its messages.

    Attributes:
        revisions: the revisions to speak with peers: ``all`` that are installed, which are bridged to that of the
            program; ``own`` for that one only; a list; or a `mcp_runtime.Bridging` with a policy.
        middleware: wraps every request and notification; the first one is outermost.
        capabilities: declared in addition to those implied by the handlers, keyed by wire names: ``{"sampling":
            {"tools": {}}}``; None removes one.
        experimental: capabilities that are not part of any revision.
        extensions: what this side supports beyond the core: ``[Tasks(MemoryTaskStore())]`` runs requests as tasks
            (2025-11-25, `mcp_runtime.extensions.tasks`).

    Raises:
        ValueError: two extensions add one method.
    """

    revisions: Revisions = "all"
    middleware: tuple[Middleware, ...] = ()
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extensions: Sequence[Extends] = ()

    def __post_init__(self) -> None:
        added: dict[str, Extends] = {}
        for extension in self.extensions:
            for name in extension.methods:
                if (other := added.setdefault(name, extension)) is not extension:
                    names = f"{type(other).__name__} and {type(extension).__name__}"
                    raise ValueError(f"extensions: {names} both have the method {name}; leave one of them out")

    def extended(self, extensions: Sequence[Extends], revision: str) -> Self:
        """Return the same settings with more extensions.

        Args:
            extensions: the extensions.
            revision: the revision that this side is written in.

        Raises:
            ValueError: one of them extends another revision than this one, or two add one method.
        """
        for extension in extensions:
            if extension.revision not in ("", revision):
                name = type(extension).__name__
                raise ValueError(f"extensions: {name} extends {extension.revision}, and this is written in {revision}")
        return replace(self, extensions=(*self.extensions, *extensions))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions(Settings):
    """A client's identity, and how its connection behaves.

    Attributes:
        name: the name sent to the server.
        version: the version sent to the server; by default that of this distribution.
        title: a display name, sent to servers of 2025-06-18 and later.
        roots: the roots that the server may ask for, as ``Root`` objects or URIs; None to declare no roots.
        era: ``legacy`` to begin sessions only, ``modern`` never to; ``auto`` to detect what the server supports if
            there are clients of both eras to choose from.
        minimum: the oldest acceptable revision; empty for no limit.
        input_rounds: how often a modern-era server may ask questions before it answers a call.
        probe_timeout: seconds to wait for a server to identify itself as modern before falling back to a session.
    """

    name: str = "mcp-bindgen"
    version: str = ""
    title: str = ""
    roots: Sequence[Any] | None = None
    era: Literal["auto", "legacy", "modern"] = "auto"
    minimum: str = ""
    input_rounds: int = 16
    probe_timeout: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions(Settings):
    """A server's identity, its capabilities beyond what it implements, and how its connections behave.

    Attributes:
        name: the name sent to clients; by default the class name.
        version: the version sent to clients; by default that of this distribution.
        title: a display name, sent to clients of 2025-06-18 and later.
        instructions: what a model should know in order to use the server.
        list_changed: whether clients are notified when the lists of tools, prompts and resources change; or the names
            of the lists for which they are.
        resource_updates: whether modern-era clients may listen for changes of resources (`resource_updated`); in the
            legacy era this follows from a handler for ``resources/subscribe``.
        logging: whether the server sends log messages.
        cache: how long modern-era clients may cache the results of a method (``tools/list``), unless its handler says
            so; by default they may not.
        inputs: how modern-era handlers wait for input from their client: `Suspended` in this process, or an
            `mcp_runtime.InputState` to let any process with the keys continue. None leaves it to the
            handlers, which then return an ``InputRequiredResult`` and read ``input_responses`` and ``request_state``.
        lifespan: opens what handlers need, such as a database, and closes it: a function that returns an asynchronous
            context manager. It is entered before the first request is handled, once per process, and left after the
            last one; what it yields is the handlers' ``ctx.state``.
        fan_out: passes the changes that `resource_updated` and `list_changed` announce on to the other processes of
            this server; None if there are no others.
    """

    name: str = ""
    version: str = ""
    title: str = ""
    instructions: str | None = None
    list_changed: bool | frozenset[str] = False
    resource_updates: bool = False
    logging: bool = True
    cache: Mapping[str, CacheHint] = field(default_factory=dict[str, CacheHint])
    inputs: Suspended | Inputs | None = field(default_factory=Suspended)
    lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    fan_out: FanOut | None = None
