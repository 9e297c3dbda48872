"""The client's side of the handshake: the era and the revision to use, over a bridge if necessary.

`Opening` decides: by the client's options alone if they leave one era; by what the transport remembers of the server;
otherwise by asking once (`offer.discover`), which only servers of the modern era answer. In the modern era it chooses
the newest revision that both have (`offer.newest`); in the legacy era it proposes its newest, and the server's answer
counts.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar

from mcp_runtime.core import errors
from mcp_runtime.core.binding import Bridges, Wire
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import Transport
from mcp_runtime.core.errors import ConnectionClosed, PeerError, UnsupportedRevision, clipped
from mcp_runtime.core.features import RootsList, root_of
from mcp_runtime.core.handlers import Context, Handlers, Stub, answer_with
from mcp_runtime.core.handshake import offer
from mcp_runtime.core.handshake.offer import NotModern, Offer, newest, supported
from mcp_runtime.core.method import AnyRequest
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_INITIALIZED, SERVER_DISCOVER
from mcp_runtime.core.settings import ClientOptions, Feature

ClientT = TypeVar("ClientT", bound=Stub)


class Peer:
    """A peer that can be reached over a transport.

    Args:
        transport: carries the messages.
        again: returns another transport to the same peer, restarting it if necessary, or None if there is no other;
            None if there never is.

    Attributes:
        transport: carries the messages.
        connection: the conversation, once it has begun; None before.
    """

    def __init__(self, transport: Transport, again: Callable[[], Transport | None] | None = None) -> None:
        self.transport = transport
        self._again = again
        self.connection: Connection | None = None

    def renew(self) -> bool:
        """Replace a lost transport with a new one; return whether that was possible."""
        found = self._again() if self._again is not None else None
        self.transport = found or self.transport
        return found is not None

    async def aclose(self) -> None:
        """Close the conversation and the transport; safe to call again."""
        if self.connection is not None:
            await self.connection.aclose()
        await self.transport.close()


class Opening:
    """Opens a conversation of one client with one server."""

    def __init__(self, peer: Peer, options: ClientOptions) -> None:
        self._peer = peer
        self._options = options
        self._bridges: Bridges | None = None
        self._wire: Wire | None = None
        self._clients: Mapping[str, type[Stub]] = {}
        self._handlers: Mapping[str, Handlers] = {}
        self._connection: Connection
        self._offer: Offer

    async def open(
        self, clients: Sequence[type[ClientT]], handlers: Sequence[Handlers], require: Sequence[str], *, others: bool
    ) -> ClientT:
        """Open a conversation in a revision of the clients or, for one client, in others that the options allow."""
        bindings = [client.__binding__ for client in clients]
        offer.check_opening(self._options, handlers, require, bindings)
        by_revision = {client.__binding__.revision: client for client in clients}
        own_handlers = {handler.__binding__.revision: handler for handler in handlers}
        if others and (bridges := bindings[0].bridges(self._options.revisions)) is not None:
            self._bridges = bridges
            listed = self._options.revisions
            spoken = listed if isinstance(listed, Sequence) and listed != "all" else bridges.revisions
            by_revision = dict.fromkeys(spoken, clients[0])
            own_handlers = dict.fromkeys(spoken, handlers[0]) if handlers else {}
        if self._peer.connection is not None:
            raise ConnectionClosed("this peer has a conversation already; connect again for another one")
        self._clients = by_revision
        self._clients, self._handlers = self._allowed(), own_handlers
        try:
            await self._connect()
            await self._begin()
            for path in require:
                if not declares(self._connection.declared[Side.SERVER], path):
                    raise errors.MissingCapability(path, "this client")
            if not self._connection.requester.is_modern:
                await self._connection.notify(self._method(NOTIFICATIONS_INITIALIZED), None)
            if self._wire is not None:
                await self._wire.begin_client(self._connection, self._named(), self._options.probe_timeout)
        except BaseException as error:
            await self._connection.aclose(f"the handshake failed: {error}")
            raise
        stub: ClientT = self._connection.stub
        return stub

    async def _connect(self) -> None:
        self._connection = Connection(self._peer.transport, Side.CLIENT, self._options, self._options.middleware)
        self._peer.connection = self._connection
        await self._connection.start()

    async def _begin(self) -> None:
        """Ask a server of either era for the newest common revision."""
        own = self._bridges.binding.revision if self._bridges else ""
        stateless, legacy = self._first("modern", own), self._first("legacy", own)
        if legacy and legacy == own:
            if stateless:
                await self._begin_session(legacy, stateless)
            else:
                await self._initialize(legacy)
        elif not stateless:
            await self._initialize(legacy)
        elif not legacy:
            try:
                await self._discover(stateless)
            except NotModern as why:
                raise UnsupportedRevision(tuple(self._of_era["modern"]), (), str(why)) from why
        elif self._probing is None:
            await self._ask_which(legacy, stateless)
        else:
            await self._recall(self._probing, legacy, stateless)

    def _first(self, era: str, own: str) -> str:
        """Return the revision of an era to ask for first: the client's own, which needs no bridge, or the newest."""
        found = self._of_era[era]
        return own if own in found else max(found, default="")

    async def _recall(self, probing: Transport, legacy: str, stateless: str) -> None:
        """Begin as last time; ask for the server's era if there was no last time, or that no longer works."""
        if probing.era == "legacy":
            try:
                await self._initialize(legacy, moves=False)
                return
            except (PeerError, ConnectionClosed) as why:
                if self._connection.closed_because is not None:
                    raise
                log.info("the server is not of the legacy era any more: %s", why)
                probing.learn_era("")
        if await self._ask_which(legacy, stateless) and self._probing is probing:
            probing.learn_era("modern" if self._connection.requester.is_modern else "legacy")

    async def _ask_which(self, legacy: str, stateless: str) -> bool:
        """Detect a server's era, and begin; return whether it answered at all."""
        try:
            await self._discover(stateless)
            return True
        except NotModern as why:
            has_answered, first = why.is_answer, why.cause
            log.info("%s: a server of the legacy era", why)
        except ConnectionClosed as why:
            # Over HTTP only the question is refused; over stdio the server crashed on it.
            has_answered, first = True, f"{SERVER_DISCOVER} was not answered: {why}"
            if self._connection.closed_because is None:
                if self._probing is not None and self._probing.era != "legacy":
                    raise
                log.info("%s: a server of the legacy era", why)
            else:
                if not self._peer.renew():
                    raise
                log.info("the server ended when it was asked %s; restarting it: %s", SERVER_DISCOVER, why)
                await self._connection.aclose()
                await self._connect()
        with _blaming(first):
            await self._initialize(legacy)
        return has_answered

    @property
    def _probing(self) -> Transport | None:
        """The transport, if it remembers the era of its server."""
        transport = self._peer.transport
        return transport if transport.remembers_era else None

    async def _begin_session(self, legacy: str, stateless: str) -> None:
        """Begin a session with a server that supports sessions, since no eras have to be bridged then."""
        try:
            await self._initialize(legacy)
        except PeerError as refused:
            if refused.code == INTERNAL_ERROR:
                raise
            try:
                await self._discover(stateless)
            except NotModern as why:
                with _blaming(why.cause):
                    raise refused from None

    def _era(self, revision: str) -> str:
        return self._clients[revision].__binding__.era if self._bridges is None else self._bridges.era(revision)

    @cached_property
    def _of_era(self) -> Mapping[str, list[str]]:
        """The revisions of each era."""
        return {era: [name for name in self._clients if self._era(name) == era] for era in ("legacy", "modern")}

    async def _discover(self, revision: str, tried: frozenset[str] = frozenset()) -> None:
        """Ask which revisions the server supports, and continue in one of them.

        Raises:
            NotModern: the server is of the legacy era.
        """
        self._bind(revision)
        own, is_first, tried = self._offer.capabilities, revision not in tried, tried | {revision}
        meta = {names.VERSION: revision, names.CLIENT_INFO: self._named(), names.CLIENT_CAPABILITIES: own}
        self._connection.learn(own, {}, meta=meta)
        options, timeout, probing = self._options, self._options.timeout, self._probing
        if self._of_era["legacy"] and len(tried) == 1 and (probing is None or probing.era != "modern"):
            timeout = min(options.probe_timeout, timeout or options.probe_timeout)
        try:
            result = await offer.discover(self._connection, meta, timeout)
        except PeerError as error:
            offered = supported(error.data)
            if error.code != names.UNSUPPORTED_VERSION or not offered:
                raise
            if revision in offered and is_first:
                # Of several servers behind one address, some may be newer than others.
                await self._discover(revision, tried)
            else:
                await self._continue_in(offered, tried)
            return
        offered = supported(result, "supportedVersions")
        if revision not in offered:
            await self._continue_in(offered, tried)
            return
        # A legacy-only client does not pay for the modern era.
        from mcp_runtime.core.asking.questions import InputAnswers

        InputAnswers(options.input_rounds).install(self._connection)
        known: Mapping[str, Any] = result.get("_meta") or {}
        info: Mapping[str, Any] = known.get(names.SERVER_INFO) or {}
        self._offer.settle(result["capabilities"], info=info, instructions=result.get("instructions"))

    async def _continue_in(self, offered: Sequence[str], tried: frozenset[str]) -> None:
        """Continue in the newest revision that the server claims to support and that was not tried yet."""
        revision = newest(offered, self._clients.keys() - tried, self._clients)
        if revision in self._of_era["modern"]:
            await self._discover(revision, tried)
        else:
            await self._initialize(revision)

    async def _initialize(self, revision: str, *, moves: bool = True) -> None:
        """Begin a session, over another transport if necessary and if ``moves`` is true.

        A server that refuses the revision but names others is asked for those.
        """
        try:
            result = await (self._ask_anywhere if moves else self._ask)(revision)
        except PeerError as error:
            offered = supported(error.data)
            if not offered:
                raise
            revision = newest(offered, self._clients.keys() - {revision}, self._clients)
            if revision in self._of_era["modern"]:
                # It was only slow to answer the first question.
                try:
                    await self._discover(revision, frozenset(self._of_era["modern"]) - {revision})
                except NotModern as why:
                    with _blaming(why.cause):
                        raise error from None
                return
            result = await self._ask(revision)
        found = result["protocolVersion"]
        if found not in self._of_era["legacy"]:
            raise UnsupportedRevision(tuple(self._clients), (clipped(str(found)),))
        if self._connection.revision != found:
            self._bind(found)
        known = {"info": result["serverInfo"], "instructions": result.get("instructions")}
        self._offer.settle(result["capabilities"], **known, meta={})

    async def _ask_anywhere(self, revision: str) -> Mapping[str, Any]:
        """Begin a session, over an older transport if the server refuses all that comes over this one."""
        try:
            return await self._ask(revision)
        except ConnectionClosed as why:
            if self._connection.closed_because is not None or not self._peer.renew():
                raise
            log.info("an older transport is tried: %s", why)
            await self._connection.aclose()
            try:
                await self._connect()
                return await self._ask(revision)
            except ConnectionClosed as error:
                # Both transports may be refused alike; the second refusal then adds nothing.
                both = str(why) if str(why).startswith(str(error)) else f"{why}; {error}"
                raise ConnectionClosed(both) from error

    async def _ask(self, revision: str) -> Mapping[str, Any]:
        self._bind(revision)
        method: AnyRequest = self._method(INITIALIZE)
        params = method.build(
            {"protocolVersion": revision, "capabilities": self._offer.capabilities, "clientInfo": self._named()}
        )
        result = await self._connection.request(method, params, CallOptions(timeout=self._options.timeout))
        dumped: Mapping[str, Any] = result.model_dump(mode="json")
        return dumped

    def _bind(self, revision: str) -> None:
        """Use a revision, over a bridge if it is not the client's own, and determine what to declare in it."""
        connection, client, handlers = self._connection, self._clients[revision], self._handlers.get(revision)
        wire = self._wire = None if self._bridges is None else self._bridges.wire(revision)
        connection.bind(client.__binding__, client(connection), handlers.__context__ if handlers else Context, wire)
        if handlers is not None:
            answer_with(handlers, connection)
        answered = handlers.__implemented__() if handlers else frozenset[str]()
        extensions = self._peer.transport.extensions
        self._offer = Offer(connection, answered, features(self._options), self._options, extensions)

    def _allowed(self) -> Mapping[str, type[Stub]]:
        """Return the clients that the options allow, by revision.

        Raises:
            ValueError: they allow none.
        """
        options, clients = self._options, self._clients
        found = {
            revision: client
            for revision, client in clients.items()
            if revision >= options.minimum and options.era in ("auto", self._era(revision))
        }
        if not found:
            wanted = f"era={options.era!r}, minimum={options.minimum!r}"
            raise ValueError(f"the options ({wanted}) leave no revision of {', '.join(sorted(clients))}")
        return found

    def _named(self) -> dict[str, str]:
        return offer.named(self._options.name, self._options.version, self._options.title)

    def _method(self, name: str) -> Any:
        assert self._connection.requester.spoken is not None
        return self._connection.requester.spoken.methods[name]


@contextmanager
def _blaming(first: str) -> Generator[None]:
    """Let an error of ``initialize`` begin with the failure of ``server/discover``, if that is worth a mention."""
    try:
        yield
    except errors.McpError as error:
        if first and not error.first:
            error.first = f"{first}; and {INITIALIZE} failed"
        raise


def features(options: ClientOptions) -> tuple[Feature, ...]:
    """Return the runtime's built-in features for a client with these options.

    Raises:
        ValueError: the URI of a root is not a ``file:`` URI.
    """
    roots = (RootsList(tuple(map(root_of, options.roots))),) if options.roots is not None else ()
    return (*roots, *offer.common_features(options))
