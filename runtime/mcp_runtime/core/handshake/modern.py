"""The sender of a modern-era request, from its `_meta` and its channel (2026-07-28, basic/index)."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_runtime.core.asking.suspended import Suspensions
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.changes.listeners import Listeners
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.notifications import LEVELS
from mcp_runtime.core.connection.requester import Answers, Principal, Requester
from mcp_runtime.core.connection.transport import NO_HEADERS, Channel
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.features import Logging
from mcp_runtime.core.handlers import answer_with
from mcp_runtime.core.handshake.offer import Offer, Served, identity_of, server_features
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import RequestMethod, request_of
from mcp_runtime.core.options import CacheHint
from mcp_runtime.core.protocol import modern
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS, Request
from mcp_runtime.core.protocol.names import INITIALIZE, SERVER_DISCOVER
from mcp_runtime.core.settings import ServerOptions, Suspended

MAX_SHARED: Final = 256
"""How many requesters are cached for their further requests."""
MAX_SHARED_LENGTH: Final = 16_384
"""The maximum size of cached sender information, in characters."""


class _Base(NamedTuple):
    """What all requesters of one revision have in common."""

    requester: Requester
    capabilities: Mapping[str, Any]


_Sender: TypeAlias = tuple[str, Any, Any, Any, str | None, Mapping[str, str]]
"""The sender information of a request and its channel: revision, capabilities, info, log level, principal, headers."""


class Requesters:
    """Determines who sent a modern-era request to one of several servers.

    Args:
        connection: the connection of the requests.
        servers: the servers, by revision of the modern era.
        legacy: the revisions of the legacy era that are served as well.
    """

    def __init__(self, connection: Connection, servers: Mapping[str, Served], legacy: Sequence[str]) -> None:
        self._connection = connection
        self._legacy = tuple(sorted(legacy))
        self._supported = sorted({*legacy, *servers})
        self._servers = servers
        # A bridge has a cost, and many clients need none.
        own = {name: found for name, found in servers.items() if found.server.__binding__.revision == name}
        self._bases = {name: self._set_up(name, found) for name, found in own.items()}
        self._shared: OrderedDict[str, Requester] = OrderedDict()
        self._last: tuple[_Sender, Requester] | None = None

    def over(self, request: Request, meta: Mapping[str, Any], channel: Channel) -> Requester:
        """Return the sender of a request that came over a channel; raises like `of`."""
        return self.of(request, meta, channel.principal, channel.headers)

    def of(
        self,
        request: Request,
        meta: Mapping[str, Any],
        principal: Principal | None,
        headers: Mapping[str, str] = NO_HEADERS,
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
        if modern.VERSION not in meta:
            raise self._stray(request)
        sender: _Sender = (
            meta[modern.VERSION],
            meta.get(modern.CLIENT_CAPABILITIES),
            meta.get(modern.CLIENT_INFO),
            meta.get(modern.LOG_LEVEL),
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
            raise _invalid(modern.VERSION, "must be a string")
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
            raise _invalid(modern.CLIENT_CAPABILITIES, "must be an object")
        if info is not None and not is_object(info):
            raise _invalid(modern.CLIENT_INFO, "must be an object")
        if log_level is not None and log_level not in LEVELS:
            raise _invalid(modern.LOG_LEVEL, f"must be one of {', '.join(LEVELS)}")
        if revision not in self._bases:
            self._bases[revision] = self._set_up(revision, self._servers[revision])
        base, own = self._bases[revision]
        theirs = capabilities if base.wire is None else base.wire.declared(Side.CLIENT, capabilities)
        return base.declaring(own, theirs, info=info or {}, log_level=log_level, principal=principal, headers=headers)

    def _set_up(self, revision: str, served: Served) -> _Base:
        """Let a server answer requests of a revision, from any sender."""
        connection, server, wire = self._connection, served.server, served.wire(revision)
        options, spoken = server.effective_options(), wire.binding if wire else server.__binding__
        suspensions = Suspensions.of(server, options.inputs) if isinstance(options.inputs, Suspended) else None
        answers = Answers(
            stub=server.__peer__(connection),
            context=server.__context__,
            stamp=modern.stamp(identity_of(server, options)),
            hints=_hints(spoken, options),
            ask_inside=None if suspensions is None else suspensions.ask,
            resume_handler=None if suspensions is None else partial(suspensions.resume, connection),
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
            if options.inputs is not None and not isinstance(options.inputs, Suspended):
                options.inputs.install(connection, identity_of(server, options)["name"])
            if wire is not None:
                wire.begin_stateless(connection, listeners)
        return _Base(requester, own)

    def _stray(self, request: Request) -> PeerError:
        """Return the error for a request that names no revision and belongs to no session."""
        spoken = " or ".join(self._servers)
        if request.method == INITIALIZE:
            asked = (request.params or {}).get("protocolVersion")
            return self._unsupported(asked if isinstance(asked, str) else "")
        how = f"say in _meta of each request that it is of {spoken} ({modern.VERSION})"
        if self._legacy:
            how += f", or begin a session with {INITIALIZE} ({', '.join(self._legacy)})"
        return PeerError(INVALID_PARAMS, how, {"pointer": modern.pointer(modern.VERSION)})

    def _unsupported(self, revision: str) -> PeerError:
        speaks = f"this server speaks {' and '.join(self._supported)}"
        data = {"supported": self._supported, "requested": revision}
        return PeerError(modern.UNSUPPORTED_VERSION, f"this protocol version is not supported; {speaks}", data)


async def _discover(method: RequestMethod[Any, Any], result: Mapping[str, Any], params: Any, context: Any) -> Any:
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
    pointer = modern.pointer(name)
    return PeerError(INVALID_PARAMS, f"{pointer}: {reason}", {"pointer": pointer})
