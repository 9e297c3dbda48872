"""Who sends a request of the modern era: what its `_meta` says, and its channel (2026-07-28, basic/index)."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from mcp_runtime.connection.answers import Answers
from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.reports import LEVELS
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.transport import Channel
from mcp_runtime.errors import PeerError
from mcp_runtime.handlers import ServerHandlers, handler_of
from mcp_runtime.handshake.offer import introduced
from mcp_runtime.method import AnyMethod, RequestMethod
from mcp_runtime.protocol import modern
from mcp_runtime.protocol.capabilities import derive
from mcp_runtime.protocol.jsonrpc import INVALID_PARAMS, Request, is_object
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import SERVER_DISCOVER
from mcp_runtime.settings import ServerOptions

MAX_SHARED: Final = 256
"""How many requesters are kept for further requests of theirs."""


class Requesters:
    """Tells who sent a request of the modern era to one of some servers.

    Args:
        connection: what the requests come over.
        servers: one object of a generated `Server` for each revision.
    """

    def __init__(self, connection: Connection, servers: Sequence[ServerHandlers]) -> None:
        self._connection = connection
        self._servers = {server.__binding__.revision: server for server in servers}
        self._answers = {revision: self._answering(server) for revision, server in self._servers.items()}
        self._shared: OrderedDict[tuple[str, ...], Requester] = OrderedDict()

    def of(self, request: Request, channel: Channel) -> Requester:
        """Return who sent a request; the same object for requests whose senders say the same of themselves.

        Progress tokens and trace contexts do not tell senders apart; what the transport knows of them does.

        Args:
            request: the request, with the properties of the modern era in its `_meta`.
            channel: what it came over; its ``principal`` and ``headers`` are taken, if it has them.

        Raises:
            PeerError: the revision is not spoken here, or what the sender says of itself is not valid.
        """
        meta: Mapping[str, Any] = (request.params or {})["_meta"]
        revision: Any = meta[modern.VERSION]
        if not isinstance(revision, str):
            raise _invalid(modern.VERSION, "must be a string")
        if revision not in self._servers:
            data = {"supported": sorted(self._servers), "requested": revision}
            raise PeerError(modern.UNSUPPORTED_VERSION, "this protocol version is not supported", data)
        said = {name: meta.get(name) for name in (modern.CLIENT_CAPABILITIES, modern.CLIENT_INFO, modern.LOG_LEVEL)}
        principal, headers = identity(channel)
        key = (revision, json.dumps([said, principal, sorted(headers.items())], sort_keys=True))
        found = self._shared.get(key)
        if found is None:
            found = self._shared[key] = self._make(revision, said, principal, headers)
            while len(self._shared) > MAX_SHARED:
                self._shared.popitem(last=False)
        else:
            self._shared.move_to_end(key)
        return found

    def _make(
        self, revision: str, said: Mapping[str, Any], principal: str | None, headers: Mapping[str, str]
    ) -> Requester:
        capabilities, info, level = said.values()
        if not is_object(capabilities):
            raise _invalid(modern.CLIENT_CAPABILITIES, "must be an object")
        if info is not None and not is_object(info):
            raise _invalid(modern.CLIENT_INFO, "must be an object")
        if level is not None and level not in LEVELS:
            raise _invalid(modern.LOG_LEVEL, f"must be one of {', '.join(LEVELS)}")
        server = self._servers[revision]
        binding = server.__binding__
        return Requester(
            side=Side.SERVER,
            reader=self._connection.reader(revision),
            answers=self._answers[revision],
            binding=binding,
            info=info or {},
            log_level=level,
            principal=principal,
            headers=headers,
        ).declaring(_declared(server), capabilities)

    def _answering(self, server: ServerHandlers) -> Answers:
        answers = Answers()
        answers.stub, answers.context = server.__peer__(self._connection), server.__context__
        for name in server.implemented():
            answers.handlers[name] = (server.__binding__.methods[name], handler_of(server, name))
        discover = server.__binding__.methods[SERVER_DISCOVER]
        answers.handlers[SERVER_DISCOVER] = (discover, partial(self._discover, server, discover))
        return answers

    async def _discover(self, server: ServerHandlers, method: AnyMethod, params: Any, context: Any) -> Any:
        """Say what a server speaks and can do (2026-07-28, server/discover)."""
        assert isinstance(method, RequestMethod)
        options = server.options or ServerOptions()
        result: dict[str, Any] = {
            "supportedVersions": sorted(self._servers),
            "capabilities": _declared(server),
            "_meta": {modern.SERVER_INFO: introduced(server, options)},
        }
        return method.result.load()(**result, instructions=options.instructions)


def _declared(server: ServerHandlers) -> dict[str, Any]:
    """Return the capabilities of a server, as it declares them."""
    own = derive(Side.SERVER, (server.__binding__.methods[name] for name in server.implemented()))
    if server.options is None or server.options.logging:
        own["logging"] = {}
    return own


def identity(channel: Channel) -> tuple[str | None, Mapping[str, str]]:
    """Return who is at the other end of a channel and the headers of its messages, as far as its transport knows."""
    return getattr(channel, "principal", None), getattr(channel, "headers", {})


def _invalid(member: str, reason: str) -> PeerError:
    pointer = f"/_meta/{member.replace('~', '~0').replace('/', '~1')}"
    return PeerError(INVALID_PARAMS, f"{pointer}: {reason}", {"pointer": pointer})
