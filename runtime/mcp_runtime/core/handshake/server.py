"""The server's side of the handshake: the revision to use, and what is declared (basic/lifecycle).

Several servers, one object per revision, may answer together; `by_era` assigns each revision to what serves it, which
may be a server of another revision behind a bridge. Then there are three ways to begin:

- `start_server`: one client, as over stdio. Each message tells its era (`connection.receiving`).
- `start_session`: one client of the legacy era, as in an HTTP session.
- `start_stateless`: any number of clients of the modern era over one connection, as over HTTP, where the endpoint
  tells the eras apart (`transports.http.server.app`).

In the legacy era, `initialize` is answered by `_Reception`: it chooses the revision, lets the connection speak it, and
installs the server's handlers and features. An `Offer` derives the capabilities from these.

The modern era has no handshake: each request names its revision and its sender in `_meta`, and `Requesters` has
the handlers and features installed once per revision. A later request of the same sender is looked up.
"""

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from mcp_runtime.core.asking.suspended import Suspensions
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.changes.listeners import Listeners
from mcp_runtime.core.changes.subscriptions import remember
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.notifications import LEVELS
from mcp_runtime.core.connection.receiving import Identify
from mcp_runtime.core.connection.requester import NO_QUESTIONS, Answers, Principal, Requester
from mcp_runtime.core.connection.transport import Channel, Transport
from mcp_runtime.core.errors import PeerError, RemoteProtocolError, clipped
from mcp_runtime.core.features import Logging
from mcp_runtime.core.handlers import ServerHandlers, answer_with
from mcp_runtime.core.handshake.offer import Offer, Served, check_handlers, identity_of, server_features, warn_of_gaps
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import AnyRequest, RequestMethod, request_of
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.protocol import jsonrpc, names
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, Request
from mcp_runtime.core.protocol.names import INITIALIZE, SERVER_DISCOVER
from mcp_runtime.core.protocol.validation import Reader
from mcp_runtime.core.settings import ServerOptions, Suspended


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
    settings: Mapping[str, Any],
    install: Callable[[Connection], None],
) -> "tuple[Connection, Requesters]":
    """Start serving modern-era requests, each independently, from any sender; return what determines the senders too.

    Args:
        transport: carries the messages.
        servers: one object per revision; those of the legacy era are only named.
        settings: values of options that apply to one client elsewhere, and to all of them here.
        install: called for each revision once its handlers are registered.
    """
    legacy, modern = by_era(servers)
    options = replace(modern[max(modern)].server.effective_options(), **settings)
    connection = Connection(transport, Side.SERVER, options, options.middleware)
    await connection.start()
    for served in modern.values():
        remember(served.server, connection)
    return connection, Requesters(connection, modern, tuple(legacy), install)


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
        return Requesters(connection, servers, legacy)

    if any(served.server.__binding__.era == "modern" for served in servers.values()):
        requesters()  # Legacy-era servers do not pay for the modern era before a client of it comes.
    return lambda request, meta, channel: requesters().of(request, meta, channel.principal, channel.headers)


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
    how = f"begin a session with {INITIALIZE} ({', '.join(sorted(legacy))}), and leave {names.VERSION} out of _meta"
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


MAX_SHARED: Final = 256
"""How many requesters are cached for their further requests."""
MAX_SHARED_LENGTH: Final = 16_384
"""The maximum size of cached sender information, in characters."""


_Sender: TypeAlias = tuple[str, Any, Any, Any, str | None, Mapping[str, str]]
"""The sender information of a request and its channel: revision, capabilities, info, log level, principal, headers."""


class Requesters:
    """Determines who sent a modern-era request to one of several servers.

    Args:
        connection: the connection of the requests.
        servers: the servers, by revision of the modern era.
        legacy: the revisions of the legacy era that are served as well.
        install: called for each revision once its handlers are registered.
    """

    def __init__(
        self,
        connection: Connection,
        servers: Mapping[str, Served],
        legacy: Sequence[str],
        install: Callable[[Connection], None] = lambda _: None,
    ) -> None:
        self._connection, self._install = connection, install
        self._legacy = tuple(sorted(legacy))
        self._supported = sorted({*legacy, *servers})
        self._servers = servers
        # A bridge has a cost, and many clients need none.
        own = {name: found for name, found in servers.items() if found.server.__binding__.revision == name}
        self._bases = {name: self._set_up(name, found) for name, found in own.items()}
        self._shared: OrderedDict[str, Requester] = OrderedDict()
        self._last: tuple[_Sender, Requester] | None = None

    def of(
        self, request: Request, meta: Mapping[str, Any], principal: Principal | None, headers: Mapping[str, str]
    ) -> Requester:
        """Return the sender of a request; the same object for requests with the same sender information.

        Progress tokens and trace contexts do not distinguish senders; what the transport knows of them does.

        Args:
            request: the request; refused unless it is of the modern era.
            meta: its `_meta`.
            principal: the authenticated sender; None if unknown.
            headers: what else the transport knows of the sender.

        Raises:
            PeerError: the revision is not supported, or the sender information is not valid.
        """
        if names.VERSION not in meta:
            raise self._stray(request)
        sender: _Sender = (
            meta[names.VERSION],
            meta.get(names.CLIENT_CAPABILITIES),
            meta.get(names.CLIENT_INFO),
            meta.get(names.LOG_LEVEL),
            None if principal is None else principal.key,
            headers,
        )
        # Most requests come from the same sender as the one before.
        if self._last is None or self._last[0] != sender:
            self._last = sender, self._find(sender)
        return self._last[1]

    def _find(self, sender: _Sender) -> Requester:
        revision: Any = sender[0]
        if not isinstance(revision, str):
            raise _invalid(names.VERSION, "must be a string")
        if revision not in self._servers:
            raise self._unsupported(revision)
        key = json.dumps([*sender[:-1], sorted(sender[-1].items())], sort_keys=True)
        if len(key) > MAX_SHARED_LENGTH:
            return self._make(sender)
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._make(sender)
            while len(self._shared) > MAX_SHARED:
                self._shared.popitem(last=False)
        else:
            self._shared.move_to_end(key)
        return found

    def _make(self, sender: _Sender) -> Requester:
        revision, capabilities, info, log_level, principal, headers = sender
        if not is_object(capabilities):
            raise _invalid(names.CLIENT_CAPABILITIES, "must be an object")
        if info is not None and not is_object(info):
            raise _invalid(names.CLIENT_INFO, "must be an object")
        if log_level is not None and log_level not in LEVELS:
            raise _invalid(names.LOG_LEVEL, f"must be one of {', '.join(LEVELS)}")
        if revision not in self._bases:
            self._bases[revision] = self._set_up(revision, self._servers[revision])
        base, own = self._bases[revision]
        theirs = capabilities if base.wire is None else base.wire.declared(Side.CLIENT, capabilities)
        return base.declaring(own, theirs, info=info or {}, log_level=log_level, principal=principal, headers=headers)

    def _set_up(self, revision: str, served: Served) -> tuple[Requester, Mapping[str, Any]]:
        """Let a server answer requests of a revision, from any sender."""
        connection, server, wire = self._connection, served.server, served.wire(revision)
        options, spoken = server.effective_options(), wire.binding if wire else server.__binding__
        inputs = options.inputs
        answers = Answers(
            stub=server.__peer__(connection),
            context=server.__context__,
            stamp=jsonrpc.stamp(identity_of(server, options)),
            hints=_hints(spoken, options),
            questions=Suspensions.of(server, inputs) if isinstance(inputs, Suspended) else NO_QUESTIONS,
        )
        reader = connection.reader(revision)
        requester = Requester(Side.SERVER, reader, answers).speaking(server.__binding__, wire, reader)
        with connection.set_up_for(requester):
            own = Offer(connection, server.__answered__(), server_features(options), options).capabilities
            discover = request_of(spoken.methods, SERVER_DISCOVER)
            result = {"supportedVersions": self._supported, "capabilities": own, "instructions": options.instructions}
            connection.handle(discover, partial(_discover, discover, result))
            if options.logging:
                Logging().install(connection)
            listeners = Listeners(connection, server, own)
            answer_with(server, connection)
            for extension in options.extensions:
                extension.install(connection)
            if inputs is not None and not isinstance(inputs, Suspended):
                inputs.install(connection, identity_of(server, options)["name"])
            if wire is not None:
                wire.begin_stateless(connection, listeners)
            self._install(connection)
        return requester, own

    def _stray(self, request: Request) -> PeerError:
        """Return the error for a request that names no revision and belongs to no session."""
        spoken = " or ".join(self._servers)
        if request.method == INITIALIZE:
            asked = (request.params or {}).get("protocolVersion")
            return self._unsupported(asked if isinstance(asked, str) else "")
        how = f"say in _meta of each request that it is of {spoken} ({names.VERSION})"
        if self._legacy:
            how += f", or begin a session with {INITIALIZE} ({', '.join(self._legacy)})"
        return PeerError(INVALID_PARAMS, how, {"pointer": jsonrpc.meta_pointer(names.VERSION)})

    def _unsupported(self, revision: str) -> PeerError:
        speaks = f"this server speaks {' and '.join(self._supported)}"
        data = {"supported": self._supported, "requested": revision}
        return PeerError(names.UNSUPPORTED_VERSION, f"this protocol version is not supported; {speaks}", data)


async def _discover(method: AnyRequest, result: Mapping[str, Any], params: Any, context: Any) -> Any:
    """Return a server's revisions and capabilities (2026-07-28, server/discover)."""
    return method.result.load()(**result)


def _hints(binding: Binding, options: ServerOptions) -> Mapping[str, CacheHint]:
    """Return how long the results of methods may be cached.

    Raises:
        ValueError: the results of a method cannot be cached.
    """
    for name in options.cache:
        method = binding.methods.get(name)
        if not isinstance(method, RequestMethod) or not method.cacheable:
            able = sorted(m.name for m in binding.methods.values() if isinstance(m, RequestMethod) and m.cacheable)
            raise ValueError(f"cache: results of {name} cannot be kept; those of {', '.join(able)} can")
    return options.cache


def _invalid(name: str, reason: str) -> PeerError:
    pointer = jsonrpc.meta_pointer(name)
    return PeerError(INVALID_PARAMS, f"{pointer}: {reason}", {"pointer": pointer})
