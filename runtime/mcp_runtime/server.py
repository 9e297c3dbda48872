"""Servers of the legacy era: which revision is spoken, what is declared, and what the runtime answers by itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_runtime.binding import Binding
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
from mcp_runtime.transports.base import Transport
from mcp_runtime.validation import Reader, clipped

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
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.

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
    newest = by_revision[max(by_revision)]
    connection = Connection(transport, Side.SERVER, newest.options or ServerOptions())
    connection.on_initialize = _Reception(connection, by_revision).initialize
    await connection.start()
    return connection


def _by_revision(servers: Sequence[ServerHandlers]) -> dict[str, ServerHandlers]:
    found: dict[str, ServerHandlers] = {}
    for server in servers:
        binding = server.__binding__
        refuse_modern(binding)
        if binding.revision in found:
            raise ValueError(f"two servers speak {binding.revision}; one per revision is enough")
        if INITIALIZE in server.implemented():
            reason = f"{type(server).__name__} implements it, but the runtime answers it: put into options what it says"
            raise LocalProtocolError(revision=binding.revision, method=INITIALIZE, pointer="", reason=reason)
        found[binding.revision] = server
    if not found:
        raise ValueError("there is no server to serve")
    return found


class _Reception:
    """Answers `initialize` on one connection (basic/lifecycle)."""

    def __init__(self, connection: Connection, servers: Mapping[str, ServerHandlers]) -> None:
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
        server = self._servers[revision]
        params = self._params(server.__binding__, request.params or {})
        connection = self._connection
        connection.bind(server.__binding__, server.__peer__(connection), server)
        own = self._capabilities(server)
        connection.peer_info = params["clientInfo"]
        connection.declare(own, params["capabilities"])
        install_related(connection, server.__binding__)
        remember(server, connection)
        install_keepalive(connection)
        return self._result(server, own)

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

    def _capabilities(self, server: ServerHandlers) -> dict[str, Any]:
        connection, binding = self._connection, server.__binding__
        options = server.options or ServerOptions()
        implemented = [binding.methods[name] for name in server.implemented()]
        declared = derive(Side.SERVER, implemented)
        for area in AREAS:
            wanted = options.list_changed if isinstance(options.list_changed, bool) else area in options.list_changed
            if wanted and area in declared:
                put(declared, f"{area}.listChanged")
        if options.logging:
            install_logging(connection, binding)
            put(declared, "logging")
        if declares(declared, "resources.subscribe"):
            install_subscriptions(connection, binding)
        if options.tasks is not None:
            install_tasks(connection, binding, options.tasks, declared)
        merge(declared, options.capabilities)
        if options.experimental:
            declared["experimental"] = dict(options.experimental)
        return declared

    def _result(self, server: ServerHandlers, own: Mapping[str, Any]) -> Mapping[str, Any]:
        options = server.options or ServerOptions()
        info = {"name": options.name or type(server).__name__, "version": options.version or own_version()}
        if options.title:
            info["title"] = options.title
        result: dict[str, Any] = {
            "protocolVersion": server.__binding__.revision,
            "capabilities": own,
            "serverInfo": info,
        }
        if options.instructions is not None:
            result["instructions"] = options.instructions
        method = server.__binding__.methods[INITIALIZE]
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
