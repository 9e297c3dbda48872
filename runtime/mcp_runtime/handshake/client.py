"""The client's side of the handshake: the revision that is spoken, over a bridge if need be (basic/lifecycle)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.policy import Bridging
from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.feature import Feature
from mcp_runtime.errors import ConnectionClosed, MissingCapability, PeerError, UnsupportedRevision
from mcp_runtime.features.roots import RootsList
from mcp_runtime.handlers import Context, Handlers, answer_with
from mcp_runtime.handshake.arguments import check_opening
from mcp_runtime.handshake.offer import Offer, common_features, named, refuse_modern, wire_to
from mcp_runtime.method import RequestMethod
from mcp_runtime.peer import Peer
from mcp_runtime.protocol.capabilities import declares
from mcp_runtime.protocol.jsonrpc import is_array, is_object
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import INITIALIZE, NOTIFICATIONS_INITIALIZED
from mcp_runtime.protocol.text import clipped
from mcp_runtime.settings import ClientOptions

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges


class Client(Protocol):
    """A generated client, as far as the handshake has to know it: made of what its calls leave by."""

    __binding__: ClassVar[Binding]

    def __init__(self, caller: Any, /) -> None:
        """Make a client of a connection."""
        ...


ClientT = TypeVar("ClientT", bound=Client)


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
    opening = Opening(peer, ClientOptions() if options is None else options)
    if bridge:
        return await opening.open_bridged(client, handlers, require, Bridging() if bridge is True else bridge)
    return await opening.open((client,), () if handlers is None else (handlers,), require)


class Opening:
    """The handshake of one client with one server."""

    def __init__(self, peer: Peer, options: ClientOptions) -> None:
        self._peer = peer
        self._options = options
        self._bridges: Bridges | None = None
        self._offer: Offer

    async def open(
        self, clients: Sequence[type[ClientT]], handlers: Sequence[Handlers], require: Sequence[str]
    ) -> ClientT:
        """Begin the conversation in the newest revision that both sides speak; see `mcp_runtime.client.open_any`."""
        for client in clients:
            refuse_modern(client.__binding__)
        check_opening(self._options, handlers, require, [client.__binding__ for client in clients])
        by_revision = {client.__binding__.revision: client for client in clients}
        return await self._open(by_revision, {handler.__binding__.revision: handler for handler in handlers}, require)

    async def open_bridged(
        self, client: type[ClientT], handlers: Handlers | None, require: Sequence[str], bridging: Bridging
    ) -> ClientT:
        """Begin the conversation in the newest revision that the client is bridged to and the server speaks."""
        from mcp_runtime.bridge.revisions import Bridges

        refuse_modern(client.__binding__)
        check_opening(self._options, () if handlers is None else (handlers,), require, [client.__binding__])
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
        connection = Connection(self._peer.transport, Side.CLIENT, self._options, self._options.middleware)
        self._peer.connection = connection
        try:
            await connection.start()
            result = await self._initialize(connection, by_revision, own_handlers)
            found = result["protocolVersion"]
            if found not in by_revision:
                raise UnsupportedRevision(tuple(by_revision), (clipped(str(found)),))
            if connection.revision != found:
                self._bind(connection, by_revision[found], own_handlers.get(found), found)
            self._offer.settle(
                result["capabilities"], info=result["serverInfo"], instructions=result.get("instructions")
            )
            for path in require:
                if not declares(connection.declared[Side.SERVER], path):
                    raise MissingCapability(path, "this client")
            await connection.notify(_method(connection, NOTIFICATIONS_INITIALIZED), None)
        except BaseException as error:
            await connection.aclose(f"the handshake failed: {error}")
            raise
        stub: ClientT = connection.stub
        return stub

    async def _initialize(
        self, connection: Connection, clients: Mapping[str, type[ClientT]], handlers: Mapping[str, Handlers]
    ) -> Mapping[str, Any]:
        """Ask for the newest revision; a server that refuses it and says what it speaks is asked for that."""
        revision = max(clients)
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
        self._bind(connection, client, handlers, revision)
        own = self._offer.capabilities
        method: RequestMethod[Any, Any] = _method(connection, INITIALIZE)
        assert method.params is not None
        info = named(self._options.name, self._options.version, self._options.title)
        params = method.params.build({"protocolVersion": revision, "capabilities": own, "clientInfo": info})
        result = await connection.request(method, params, CallOptions(timeout=self._options.timeout))
        dumped: Mapping[str, Any] = result.model_dump(mode="json")
        return dumped

    def _bind(self, connection: Connection, client: type[ClientT], handlers: Handlers | None, revision: str) -> None:
        """Speak a revision, over a bridge if it is not the client's own, and find out what to declare in it."""
        binding = client.__binding__
        wire = wire_to(self._bridges, revision)
        connection.bind(binding, client(connection), handlers.__context__ if handlers else Context, wire)
        if handlers is not None:
            answer_with(handlers, connection)
        answered = handlers.implemented() if handlers else frozenset[str]()
        self._offer = Offer(connection, answered, features(self._options), self._options)


def features(options: ClientOptions) -> tuple[Feature, ...]:
    """Return what the runtime does by itself for a client with these options.

    Raises:
        ValueError: the URI of a root is not one of a file.
    """
    roots = (RootsList.of(options.roots),) if options.roots is not None else ()
    return (*roots, *common_features(options))


def _method(connection: Connection, name: str) -> Any:
    assert connection.binding is not None
    return connection.binding.methods[name]


def _supported(error: PeerError) -> tuple[str, ...]:
    """Return the revisions that a refusal names (``data.supported``), as servers that know the other form do."""
    data = error.data
    supported: Any = data.get("supported") if is_object(data) else None
    if not is_array(supported):
        return ()
    return tuple(clipped(item, 64) for item in supported if isinstance(item, str))
