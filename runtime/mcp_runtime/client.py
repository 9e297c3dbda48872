"""Clients of the legacy era: the handshake, and the choice among several revisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, TypeVar, overload

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.policy import Bridging
from mcp_runtime.capabilities import declares, derive, merge, put
from mcp_runtime.connection import Connection
from mcp_runtime.errors import ConnectionClosed, MissingCapability, PeerError, UnsupportedRevision
from mcp_runtime.jsonrpc import is_array, is_object
from mcp_runtime.keepalive import install_keepalive
from mcp_runtime.lifecycle.legacy import INITIALIZE, INITIALIZED, Side
from mcp_runtime.method import AnyMethod, RequestMethod
from mcp_runtime.peer import Peer
from mcp_runtime.settings import Settings
from mcp_runtime.stub import CallOptions, ClientStub, Handlers
from mcp_runtime.tasks import install_related, install_tasks
from mcp_runtime.tasks.receiver import GET
from mcp_runtime.validation import clipped

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges
    from mcp_runtime.bridge.wire import Wire

ClientT = TypeVar("ClientT", bound=ClientStub[Any])
A = TypeVar("A", bound=ClientStub[Any])
B = TypeVar("B", bound=ClientStub[Any])
C = TypeVar("C", bound=ClientStub[Any])
D = TypeVar("D", bound=ClientStub[Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions(Settings):
    """Who a client is, and how its connection behaves.

    Attributes:
        name: the name that the server is told.
        version: the version that the server is told.
        title: a name for people; servers of 2025-06-18 and later are told.
        roots: the roots that the server may ask for, as ``Root`` objects or URIs; None for no roots at all.
        capabilities: what is declared beyond what the handlers say, by wire names: ``{"sampling": {"tools": {}}}``;
            None takes one back.
        experimental: capabilities that no revision knows.
        tasks: keeps the tasks that this side makes of requests (2025-11-25); None for no tasks.
    """

    name: str = "mcp-bindgen"
    version: str = ""
    title: str = ""
    roots: Sequence[Any] | None = None
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tasks: Any = None


async def open_client(
    client: type[ClientT],
    peer: Peer,
    *,
    handlers: Handlers | None = None,
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
    bridge: "bool | Bridging" = False,
) -> ClientT:
    """Begin the conversation in the client's revision, or in one that it is bridged to; see `ClientStub.open`."""
    opening = _Opening(peer, options or ClientOptions())
    if bridge:
        return await opening.open_bridged(client, handlers, require, Bridging() if bridge is True else bridge)
    return await opening.open((client,), (handlers,) if handlers else (), require)


@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B: ...
@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    third: type[C],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B | C: ...
@overload
async def open_any(
    peer: Peer,
    first: type[A],
    second: type[B],
    third: type[C],
    fourth: type[D],
    /,
    *,
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> A | B | C | D: ...
async def open_any(
    peer: Peer,
    *clients: type[Any],
    handlers: Sequence[Handlers] = (),
    options: ClientOptions | None = None,
    require: Sequence[str] = (),
) -> Any:
    """Begin the conversation in the newest revision that both sides speak.

    Args:
        peer: where the server is.
        clients: the generated clients to choose from, one per revision.
        handlers: answer what the server asks: of each revision at most one object.
        options: who the client is, and how its connection behaves.
        require: capabilities that the server must have, as paths.

    Raises:
        UnsupportedRevision: the server speaks none of these revisions.
        MissingCapability: the server lacks a capability that is required.
    """
    opening = _Opening(peer, options or ClientOptions())
    return await opening.open(clients, handlers, require)


class _Opening:
    """The handshake of one client with one server."""

    def __init__(self, peer: Peer, options: ClientOptions) -> None:
        self._peer = peer
        self._options = options
        self._bridges: Bridges | None = None
        self._wire: Wire | None = None

    async def open(
        self, clients: Sequence[type[ClientT]], handlers: Sequence[Handlers], require: Sequence[str]
    ) -> ClientT:
        for client in clients:
            refuse_modern(client.__binding__)
        by_revision = {client.__binding__.revision: client for client in clients}
        return await self._open(by_revision, {handler.__binding__.revision: handler for handler in handlers}, require)

    async def open_bridged(
        self, client: type[ClientT], handlers: Handlers | None, require: Sequence[str], bridging: Bridging
    ) -> ClientT:
        """Begin the conversation in the newest revision that the client is bridged to and the server speaks."""
        from mcp_runtime.bridge.revisions import Bridges

        refuse_modern(client.__binding__)
        self._bridges = Bridges(client.__binding__, bridging)
        revisions = self._bridges.revisions
        own_handlers = dict.fromkeys(revisions, handlers) if handlers else {}
        return await self._open(dict.fromkeys(revisions, client), own_handlers, require)

    async def _open(
        self,
        by_revision: Mapping[str, type[ClientT]],
        own_handlers: Mapping[str, Handlers],
        require: Sequence[str],
    ) -> ClientT:
        if self._peer.connection is not None:
            raise ConnectionClosed("this peer has a conversation already; connect anew for another one")
        connection = Connection(self._peer.transport, Side.CLIENT, self._options)
        self._peer.connection = connection
        try:
            await connection.start()
            revision = max(by_revision)
            result = await self._initialize(connection, by_revision, own_handlers, revision)
            found = result["protocolVersion"]
            if found not in by_revision:
                raise UnsupportedRevision(tuple(by_revision), (clipped(str(found)),))
            stub = by_revision[found](connection)
            if connection.revision != found:
                # What was installed for the revision that was asked for has to be there for this one.
                self._bind(connection, stub, own_handlers.get(found), found)
                self._capabilities(connection, stub.__binding__, own_handlers.get(found))
            self._learn(connection, result)
            install_related(connection, stub.__binding__)
            for path in require:
                if not declares(connection.declared[Side.SERVER], path):
                    raise MissingCapability(path, "this client")
            await connection.notify(_notification(connection, INITIALIZED), None)
            install_keepalive(connection)
        except BaseException as error:
            await connection.aclose(f"the handshake failed: {error}")
            raise
        return stub

    async def _initialize(
        self,
        connection: Connection,
        clients: Mapping[str, type[ClientT]],
        handlers: Mapping[str, Handlers],
        revision: str,
    ) -> Mapping[str, Any]:
        """Ask for a revision; a server that refuses it and says what it speaks is asked for that."""
        try:
            return await self._ask(connection, clients[revision], handlers.get(revision), revision)
        except PeerError as error:
            offered = _supported(error)
            common = sorted(set(offered) & clients.keys() - {revision})
            if not offered:
                raise
            if not common:
                raise UnsupportedRevision(tuple(clients), offered) from error
            return await self._ask(connection, clients[common[-1]], handlers.get(common[-1]), common[-1])

    async def _ask(
        self, connection: Connection, client: type[ClientT], handlers: Handlers | None, revision: str
    ) -> Mapping[str, Any]:
        self._bind(connection, client(connection), handlers, revision)
        binding = client.__binding__
        own = self._capabilities(connection, binding, handlers)
        connection.declare(own, {})
        method = _request(connection, INITIALIZE)
        assert method.params is not None
        info = {"name": self._options.name, "version": self._options.version or own_version()}
        if self._options.title:
            info["title"] = self._options.title
        params = method.params.build({"protocolVersion": revision, "capabilities": own, "clientInfo": info})
        result = await connection.request(method, params, CallOptions(timeout=self._options.timeout))
        dumped: Mapping[str, Any] = result.model_dump(mode="json")
        return dumped

    def _bind(self, connection: Connection, stub: ClientStub[Any], handlers: Handlers | None, revision: str) -> None:
        self._wire = None
        if self._bridges is not None and revision != stub.__binding__.revision:
            from mcp_runtime.bridge.wire import Wire

            self._wire = Wire(self._bridges, revision)
        connection.bind(stub.__binding__, stub, handlers, self._wire)

    def _capabilities(self, connection: Connection, binding: Binding, handlers: Handlers | None) -> dict[str, Any]:
        """Return what this client declares: what its handlers answer, its roots, and what it was told to add."""
        from mcp_runtime.roots import install_roots

        names = handlers.implemented() if handlers else frozenset[str]()
        spoken = self._wire.binding.methods if self._wire else binding.methods
        declared = derive(Side.CLIENT, (spoken[name] for name in names if name in spoken))
        if self._options.roots is not None:
            install_roots(connection, binding, self._options.roots)
            put(declared, "roots.listChanged")
        if self._options.tasks is not None and (self._wire is None or self._wire.has(GET)):
            install_tasks(connection, binding, self._options.tasks, declared)
        merge(declared, self._options.capabilities)
        if self._options.experimental:
            declared["experimental"] = dict(self._options.experimental)
        return self._wire.declarable(Side.CLIENT, declared) if self._wire else declared

    def _learn(self, connection: Connection, result: Mapping[str, Any]) -> None:
        connection.peer_info = result["serverInfo"]
        connection.instructions = result.get("instructions")
        theirs = result["capabilities"]
        theirs = self._wire.declared(Side.SERVER, theirs) if self._wire else theirs
        connection.declare(connection.declared[Side.CLIENT], theirs)


def refuse_modern(binding: Binding) -> None:
    """Refuse a revision whose conversations this runtime cannot hold yet.

    Raises:
        UnsupportedRevision: the revision is of the modern era.
    """
    if binding.era != "legacy":
        raise UnsupportedRevision((binding.revision,), ())


@cache
def own_version() -> str:
    """Return the version of this distribution."""
    try:
        return version("mcp-bindgen")
    except PackageNotFoundError:
        return "0"


def _supported(error: PeerError) -> tuple[str, ...]:
    """Return the revisions that a refusal names (``data.supported``), as servers that know the other form do."""
    data = error.data
    supported: Any = data.get("supported") if is_object(data) else None
    if not is_array(supported):
        return ()
    return tuple(clipped(item, 64) for item in supported if isinstance(item, str))


def _request(connection: Connection, name: str) -> RequestMethod[Any, Any]:
    method = _method(connection, name)
    assert isinstance(method, RequestMethod)
    return method


def _notification(connection: Connection, name: str) -> Any:
    return _method(connection, name)


def _method(connection: Connection, name: str) -> AnyMethod:
    assert connection.binding is not None
    return connection.binding.methods[name]
