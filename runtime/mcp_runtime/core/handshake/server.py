"""The server's side of the handshake: the revision to use, and what is declared (basic/lifecycle).

Several servers, one object per revision, may answer together; `by_era` assigns each revision to what serves it, which
may be a server of another revision behind a bridge. Then there are three ways to begin:

- `start_server`: one client, as over stdio. Each message tells its era (`connection.receiving`).
- `start_session`: one client of the legacy era, as in an HTTP session.
- `start_stateless`: any number of clients of the modern era over one connection, as over HTTP, where the endpoint
  tells the eras apart (`transports.http.server.app`).

In the legacy era, `initialize` is answered by `_Reception`: it chooses the revision, lets the connection speak it, and
installs the server's handlers and features. An `Offer` derives the capabilities from these.

The modern era has no handshake: each request names its revision and its sender in `_meta`, and `modern.Requesters` has
the handlers and features installed once per revision. A later request of the same sender is looked up.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from mcp_runtime.core.binding import Binding
from mcp_runtime.core.changes.subscriptions import remember
from mcp_runtime.core.connection.connection import Connection, Middleware
from mcp_runtime.core.connection.receiving import Identify
from mcp_runtime.core.connection.transport import Channel, Transport
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.handlers import ServerHandlers, answer_with
from mcp_runtime.core.handshake.offer import Offer, Served, check_handlers, identity_of, server_features, warn_of_gaps
from mcp_runtime.core.method import request_of
from mcp_runtime.core.protocol import modern
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, Request
from mcp_runtime.core.protocol.names import INITIALIZE
from mcp_runtime.core.protocol.validation import Reader
from mcp_runtime.core.settings import ServerOptions

if TYPE_CHECKING:
    from mcp_runtime.core.handshake.modern import Requesters


async def start_server(transport: Transport, *servers: ServerHandlers) -> Connection:
    """Begin to serve one client, each message in the era that it is of; see `mcp_runtime.transports.serve`."""
    legacy, modern = by_era(servers)
    options = (legacy or modern)[max(legacy or modern)].server.effective_options()
    connection = Connection(transport, Side.SERVER, options, options.middleware)
    await connection.start(
        _Reception(connection, legacy).initialize if legacy else None,
        _identify(connection, modern, tuple(legacy)) if modern else None,
    )
    for served in modern.values():
        remember(served.server, connection)
    return connection


async def start_session(transport: Transport, *servers: ServerHandlers) -> Connection:
    """Start serving one client in a revision with a handshake, and refuse messages of the modern era.

    It is served in those of its revisions that have a handshake.
    """
    legacy = by_era(servers).legacy
    options = legacy[max(legacy)].server.effective_options()
    connection = Connection(transport, Side.SERVER, options, options.middleware)
    await connection.start(_Reception(connection, legacy).initialize, partial(_refuse_modern, legacy))
    return connection


async def start_stateless(
    transport: Transport,
    *servers: ServerHandlers,
    settings: Callable[[ServerOptions], ServerOptions],
    middleware: Sequence[Middleware] = (),
) -> "tuple[Connection, Requesters]":
    """Start serving modern-era requests, each independently, from any sender; return what determines the senders too.

    Args:
        transport: carries the messages.
        servers: one object per revision; those of the legacy era are only named.
        settings: changes options that apply to one client elsewhere, and to all of them here.
        middleware: wraps every message, outside the servers' own middleware.
    """
    from mcp_runtime.core.handshake.modern import Requesters

    legacy, modern = by_era(servers)
    options = settings(modern[max(modern)].server.effective_options())
    connection = Connection(transport, Side.SERVER, options, (*middleware, *options.middleware))
    await connection.start()
    for served in modern.values():
        remember(served.server, connection)
    return connection, Requesters(connection, modern, tuple(legacy))


class Eras(NamedTuple):
    """The revisions of several servers, by era, each with what serves it."""

    legacy: dict[str, Served]
    modern: dict[str, Served]


def by_era(servers: Sequence[ServerHandlers]) -> Eras:
    """Return what serves each revision.

    Raises:
        TypeError: one of the servers is not an instance of a generated `Server`.
        ValueError: there is no server, or two servers have the same revision.
    """
    eras = Eras({}, {})
    for revision, served in _by_revision(servers).items():
        (eras.modern if served.era(revision) == "modern" else eras.legacy)[revision] = served
    if not any(eras):
        raise ValueError("there is no server to serve")
    return eras


def _identify(connection: Connection, servers: Mapping[str, Served], legacy: Sequence[str]) -> Identify:
    """Return what determines the sender of a modern-era request of a client that may also begin a session."""

    @cache
    def requesters() -> "Requesters":
        from mcp_runtime.core.handshake.modern import Requesters

        return Requesters(connection, servers, legacy)

    if any(served.server.__binding__.era == "modern" for served in servers.values()):
        return requesters().over
    # Legacy-era servers do not pay for the modern era before a client of it comes.
    return lambda request, meta, channel: requesters().over(request, meta, channel)


def _by_revision(servers: Sequence[ServerHandlers]) -> dict[str, Served]:
    found: dict[str, Served] = {}
    bridged: dict[str, Served] = {}
    for server in servers:
        check_handlers(server, ServerHandlers)
        warn_of_gaps(server)
        binding, revisions = server.__binding__, server.effective_options().revisions
        # Several servers share the revisions out, unless they say otherwise.
        bridges = binding.bridges("own" if revisions == "all" and len(servers) > 1 else revisions)
        if binding.revision in found:
            raise ValueError(f"two servers speak {binding.revision}; one per revision is enough")
        found[binding.revision] = Served(server, bridges)
        for revision in bridges.revisions if bridges else ():
            bridged.setdefault(revision, Served(server, bridges))
    # A server answers in its own revision; otherwise the first one bridged to it does.
    return {**bridged, **found}


def _refuse_modern(legacy: Collection[str], request: Request, meta: Mapping[str, Any], channel: Channel) -> NoReturn:
    """Refuse a request with an error that does not mention the modern era, so that clients of both begin a session."""
    how = f"begin a session with {INITIALIZE} ({', '.join(sorted(legacy))}), and leave {modern.VERSION} out of _meta"
    raise PeerError(INVALID_REQUEST, f"requests of revisions without a handshake are not answered here; {how}")


class _Reception:
    """Answers `initialize` on one connection."""

    def __init__(self, connection: Connection, servers: Mapping[str, Served]) -> None:
        self._connection = connection
        self._servers = servers

    def initialize(self, request: Request, channel: Channel) -> Mapping[str, Any]:
        """Choose the revision, and return the result, keyed by wire names.

        Raises:
            PeerError: the params are not valid.
        """
        wanted = (request.params or {}).get("protocolVersion")
        if not isinstance(wanted, str):
            raise PeerError(INVALID_PARAMS, "protocolVersion must be a string", {"pointer": "/protocolVersion"})
        # A server that does not support the requested revision names its newest one; the client may then disconnect.
        revision = wanted if wanted in self._servers else max(self._servers)
        server, wire = self._servers[revision].server, self._servers[revision].wire(revision)
        spoken = wire.binding if wire else server.__binding__
        params = self._params(spoken, request.params or {})
        connection, options = self._connection, server.effective_options()
        connection.bind(server.__binding__, server.__peer__(connection), server.__context__, wire)
        answer_with(server, connection)
        offer = Offer(connection, server.__answered__(), server_features(options), options)
        principal = None if channel.principal is None else channel.principal.key
        known = {"principal": principal, "address": channel.address, "headers": channel.headers}
        if wire is not None:
            wire.begin_session(connection, params["clientInfo"], params["capabilities"])
        offer.settle(params["capabilities"], info=params["clientInfo"], **known)
        remember(server, connection)
        return _result(server, spoken, offer.capabilities)

    def _params(self, binding: Binding, params: dict[str, Any]) -> Mapping[str, Any]:
        method = binding.methods[INITIALIZE]
        assert method.params is not None
        reader = Reader(binding.revision, lenient=True, report=self._connection.report)
        try:
            read = reader.read(method.params, params, INITIALIZE)
        except RemoteProtocolError as error:
            raise PeerError(INVALID_PARAMS, clipped(error.reason), {"pointer": error.pointer}) from error
        dumped: Mapping[str, Any] = read.model_dump(mode="json")
        return dumped


def _result(server: ServerHandlers, spoken: Binding, own: Mapping[str, Any]) -> Mapping[str, Any]:
    options = server.effective_options()
    result: dict[str, Any] = {
        "protocolVersion": spoken.revision,
        "capabilities": own,
        "serverInfo": identity_of(server, options),
    }
    if options.instructions is not None:
        result["instructions"] = options.instructions
    method = request_of(spoken.methods, INITIALIZE)
    dumped: Mapping[str, Any] = method.result.build(result).model_dump(mode="json")
    return dumped
