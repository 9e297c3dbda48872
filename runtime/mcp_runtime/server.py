"""Servers of the legacy era: which revision is spoken, what is declared, and what the runtime answers by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.binding import Binding
from mcp_runtime.bridge.server import BridgedServer
from mcp_runtime.capabilities import declares, derive, merge, put
from mcp_runtime.client import own_version, refuse_modern
from mcp_runtime.connection import Connection
from mcp_runtime.errors import LocalProtocolError, PeerError, RemoteProtocolError
from mcp_runtime.jsonrpc import INVALID_PARAMS, Request
from mcp_runtime.keepalive import install_keepalive
from mcp_runtime.lifecycle.legacy import INITIALIZE, Side
from mcp_runtime.logs import install_logging
from mcp_runtime.method import RequestMethod
from mcp_runtime.settings import Settings
from mcp_runtime.stub import ServerHandlers
from mcp_runtime.subscriptions import install_subscriptions
from mcp_runtime.tasks import install_related, install_tasks
from mcp_runtime.tasks.receiver import GET
from mcp_runtime.transports.base import Transport
from mcp_runtime.validation import Reader, clipped

if TYPE_CHECKING:
    from mcp_runtime.bridge.revisions import Bridges
    from mcp_runtime.bridge.wire import Wire

AREAS: Final = ("prompts", "resources", "tools")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions(Settings):
    """Who a server is, what it declares beyond what it implements, and how its connections behave.

    Attributes:
        name: the name that clients are told; by default that of the class.
        version: the version that clients are told; by default that of this distribution.
        title: a name for people; clients of 2025-06-18 and later are told.
        instructions: what a model should know to use the server.
        list_changed: whether clients are told when the lists of tools, prompts and resources change, or for which.
        logging: whether the server sends log messages.
        capabilities: what else is declared, by wire names;
            None takes one back.
        experimental: capabilities that no revision knows.
        tasks: keeps the tasks that this side makes of requests (2025-11-25); None for no tasks.
    """

    name: str = ""
    version: str = ""
    title: str = ""
    instructions: str | None = None
    list_changed: bool | frozenset[str] = False
    logging: bool = True
    capabilities: Mapping[str, Any] = field(default_factory=dict[str, Any])
    experimental: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tasks: Any = None


async def serve(transport: Transport, *servers: ServerHandlers) -> str:
    """Serve one client until it leaves; returns why the connection ended.

    Args:
        transport: leads to the client.
        servers: one object of a generated `Server` per revision, or one that is bridged (`mcp_runtime.bridge`); the
            client's wish decides which one answers.

    Raises:
        ValueError: two servers are of the same revision, or there is none.
        UnsupportedRevision: a server is of the modern era.
        ConnectionClosed: the client cannot be reached.
    """
    connection = await start_server(transport, *servers)
    try:
        return await connection.wait_closed()
    finally:
        await connection.aclose()


async def start_server(transport: Transport, *servers: ServerHandlers) -> Connection:
    """Begin to serve one client; raises as `serve` does."""
    by_revision = _by_revision(servers)
    newest = by_revision[max(by_revision)].server
    connection = Connection(transport, Side.SERVER, newest.options or ServerOptions())
    connection.on_initialize = _Reception(connection, by_revision).initialize
    await connection.start()
    return connection


@dataclass(frozen=True, slots=True)
class _Offer:
    """The server that answers in a revision, over bridges if that is not its own."""

    server: ServerHandlers
    bridges: "Bridges | None" = None

    def wire(self, revision: str) -> "Wire | None":
        """Return the bridge to a revision, None if it is the server's own."""
        if self.bridges is None or revision == self.server.__binding__.revision:
            return None
        from mcp_runtime.bridge.wire import Wire

        return Wire(self.bridges, revision)


def _by_revision(servers: Sequence[ServerHandlers]) -> dict[str, _Offer]:
    found: dict[str, _Offer] = {}
    bridged: dict[str, _Offer] = {}
    for given in servers:
        server, bridges = (given.server, given.bridges) if isinstance(given, BridgedServer) else (given, None)
        binding = server.__binding__
        refuse_modern(binding)
        if binding.revision in found:
            raise ValueError(f"two servers speak {binding.revision}; one per revision is enough")
        if INITIALIZE in server.implemented():
            reason = f"{type(server).__name__} implements it, but the runtime answers it: put into options what it says"
            raise LocalProtocolError(revision=binding.revision, method=INITIALIZE, pointer="", reason=reason)
        found[binding.revision] = _Offer(server, bridges)
        for revision in bridges.revisions if bridges else ():
            bridged.setdefault(revision, _Offer(server, bridges))
    if not found:
        raise ValueError("there is no server to serve")
    # Whoever is written for a revision answers in it; else the first that is bridged to it.
    return {**bridged, **found}


class _Reception:
    """Answers `initialize` on one connection (basic/lifecycle)."""

    def __init__(self, connection: Connection, servers: Mapping[str, _Offer]) -> None:
        self._connection = connection
        self._servers = servers

    def initialize(self, request: Request) -> Mapping[str, Any]:
        """Choose the revision and return the result, by wire names.

        Raises:
            PeerError: the params are not valid.
        """
        wanted = (request.params or {}).get("protocolVersion")
        if not isinstance(wanted, str):
            raise PeerError(INVALID_PARAMS, "protocolVersion must be a string", {"pointer": "/protocolVersion"})
        # A server that does not speak the wanted revision names the newest that it does; the client may then leave.
        revision = wanted if wanted in self._servers else max(self._servers)
        server, wire = self._servers[revision].server, self._servers[revision].wire(revision)
        spoken = wire.binding if wire else server.__binding__
        params = self._params(spoken, request.params or {})
        connection = self._connection
        connection.bind(server.__binding__, server.__peer__(connection), server, wire)
        own = self._capabilities(server, wire)
        connection.peer_info = params["clientInfo"]
        theirs = params["capabilities"]
        connection.declare(own, wire.declared(Side.CLIENT, theirs) if wire else theirs)
        install_related(connection, server.__binding__)
        remember(server, connection)
        install_keepalive(connection)
        return self._result(server, spoken, own)

    def _params(self, binding: Binding, params: dict[str, Any]) -> Mapping[str, Any]:
        method = binding.methods[INITIALIZE]
        assert method.params is not None
        reader = Reader(binding.revision, lenient=True, report=self._connection.report_error)
        try:
            # The text counts as one with null in it: that it is read twice costs nothing here.
            read = reader.read(method.params, params, INITIALIZE, text=b"null")
        except RemoteProtocolError as error:
            raise PeerError(INVALID_PARAMS, clipped(error.reason), {"pointer": error.pointer}) from error
        dumped: Mapping[str, Any] = read.model_dump(mode="json")
        return dumped

    def _capabilities(self, server: ServerHandlers, wire: "Wire | None") -> dict[str, Any]:
        connection, binding = self._connection, server.__binding__
        options = server.options or ServerOptions()
        spoken = wire.binding.methods if wire else binding.methods
        declared = derive(Side.SERVER, [spoken[name] for name in server.implemented() if name in spoken])
        for area in AREAS:
            wanted = options.list_changed if isinstance(options.list_changed, bool) else area in options.list_changed
            if wanted and area in declared:
                put(declared, f"{area}.listChanged")
        if options.logging:
            install_logging(connection, binding)
            put(declared, "logging")
        if declares(declared, "resources.subscribe"):
            install_subscriptions(connection, binding)
        if options.tasks is not None and (wire is None or wire.has(GET)):
            install_tasks(connection, binding, options.tasks, declared)
        merge(declared, options.capabilities)
        if options.experimental:
            declared["experimental"] = dict(options.experimental)
        return wire.declarable(Side.SERVER, declared) if wire else declared

    def _result(self, server: ServerHandlers, spoken: Binding, own: Mapping[str, Any]) -> Mapping[str, Any]:
        options = server.options or ServerOptions()
        info = {"name": options.name or type(server).__name__, "version": options.version or own_version()}
        if options.title:
            info["title"] = options.title
        result: dict[str, Any] = {
            "protocolVersion": spoken.revision,
            "capabilities": own,
            "serverInfo": info,
        }
        if options.instructions is not None:
            result["instructions"] = options.instructions
        method = spoken.methods[INITIALIZE]
        assert isinstance(method, RequestMethod)
        dumped: Mapping[str, Any] = method.result.build(result).model_dump(mode="json")
        return dumped


_CONNECTIONS = "_mcp_connections"


def remember(server: ServerHandlers, connection: Connection) -> None:
    """Keep a connection among those of its server for as long as it lives."""
    connections = _connections(server)
    connections.append(connection)
    connection.on_close(lambda _: connections.remove(connection))


def connections_of(server: ServerHandlers) -> tuple[Connection, ...]:
    """Return the connections that a server answers now."""
    return tuple(_connections(server))


def _connections(server: ServerHandlers) -> list[Connection]:
    found: list[Connection] = server.__dict__.setdefault(_CONNECTIONS, [])
    return found
