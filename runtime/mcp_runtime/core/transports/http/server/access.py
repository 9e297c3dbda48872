"""Who may call an endpoint (basic/authorization), and what all endpoints share as ASGI applications."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, TypedDict

from mcp_runtime.core import sources
from mcp_runtime.core.connection.journal import log
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.errors import AuthorizationError, InvalidToken, LifespanError, clipped
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.server import lifespans
from mcp_runtime.core.transports.http.events import EventStore
from mcp_runtime.core.transports.http.server.asgi import (
    Arriving,
    Delay,
    Disconnected,
    Headers,
    HttpRequest,
    Receive,
    Scope,
    Send,
    Sender,
    TimeLimit,
    resolve,
)
from mcp_runtime.core.transports.http.server.checks import Places
from mcp_runtime.core.transports.http.statuses import Case, HttpLimits, Refusal

if TYPE_CHECKING:
    from mcp_runtime.core.handlers import ServerHandlers

_TOKEN: Final = re.compile(rb"[A-Za-z0-9\-._~+/]+=*")
"""An access token (RFC 6750, 2.1)."""
_AUTHORIZATION: Final = b"authorization"
_CHALLENGE: Final = b"www-authenticate"
MAX_REFUSED_HOSTS: Final = 20
"""How many hosts that are not allowed an endpoint logs: clients name any."""
WARNING_EVERY: Final = 60.0
"""Seconds between two log lines about an issuer that cannot be reached."""


class Protection(Protocol):
    """What an endpoint needs of its authorization; `mcp_runtime.Bearer` has it."""

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that every request needs."""
        ...

    @property
    def paths(self) -> frozenset[str]:
        """The paths of its metadata."""
        ...

    async def metadata_app(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send its metadata (RFC 9728): ASGI's `scope`, `receive` and `send`."""
        ...

    async def verify(self, token: str, address: str | None = None) -> Principal:
        """Return the sender of a request, given its `token` and the address that it comes from.

        Raises InvalidToken, or AuthorizationError for now.
        """
        ...

    def challenge(self, error: str = "", reason: str = "", scopes: Collection[str] = ()) -> bytes:
        """Return a ``WWW-Authenticate`` header."""
        ...


class SseServerOptions(TypedDict, total=False):
    """How HTTP+SSE is served.

    Attributes:
        hosts: the hosts that requests may name, with or without a port; by default those of this machine. Wildcards are
            not supported.
        origins: the origins of web pages that may call the endpoint, in addition to those on these hosts.
        trusted_proxies: addresses of proxies whose ``X-Forwarded-Host`` and ``X-Forwarded-For`` are trusted; those of
            others are ignored.
        principal: returns the authenticated sender of a request, given its ASGI scope; a session belongs to the
            principal that began it.
        auth: accepts requests with access tokens only, such as `mcp_runtime.Bearer`; instead of `principal`.
        limits: resource limits for clients.
    """

    hosts: Iterable[str] | None
    origins: Iterable[str]
    trusted_proxies: Iterable[str]
    principal: Callable[[Scope], str | None] | None
    auth: Protection | None
    limits: HttpLimits


class HttpServerOptions(SseServerOptions, total=False):
    """How an endpoint is served; the other options are those of `SseServerOptions`.

    Attributes:
        events: stores what was sent on streams; by default a `MemoryEventStore`. None stores nothing, so that streams
            cannot be resumed.
        stateless: whether each request is independent: there are no sessions, and clients are not asked anything.
    """

    events: EventStore | None
    stateless: bool


class Access:
    """Determines the senders of the requests to one endpoint.

    Args:
        servers: the servers behind the endpoint.
        principal: returns the key of the sender, given the ASGI scope of a request.
        auth: what protects the endpoint.

    Raises:
        ValueError: there are both, or a function needs scopes and there is no `auth`.
    """

    def __init__(
        self,
        servers: "Sequence[ServerHandlers]",
        principal: Callable[[Scope], str | None] | None,
        auth: Protection | None,
    ) -> None:
        if auth is not None and principal is not None:
            raise ValueError("give either auth= or principal=: both say who sends a request")
        needed = sorted({s for each in servers for name in each.__answered__() for s in each.__scopes_for__(name)})
        if auth is None and needed:
            raise ValueError(f"functions of this server need scopes ({' '.join(needed)}): pass auth=Bearer(...)")
        self.auth = auth
        self._servers = servers
        self._principal = principal
        self._warned = float("-inf")

    def identify(self, request: HttpRequest) -> None:
        """Determine the sender of a request where nothing needs authorization, and drop any token."""
        request.headers.pop(_AUTHORIZATION, None)
        if self._principal is not None and (subject := self._principal(request.scope)) is not None:
            request.sender = Sender(Principal(subject), request.sender.address)

    async def authenticate(self, request: HttpRequest, auth: Protection) -> None:
        """Determine the sender of a request by its token, which is removed from the headers.

        Unless it is a POST, whose body tells its id, it is also checked for the scopes that every request needs.

        Raises:
            Refusal: there is no valid token, or it lacks a scope.
        """
        scheme, _, token = request.headers.pop(_AUTHORIZATION, b"").partition(b" ")
        method = request.scope["method"]
        if method == "OPTIONS":
            return  # It is refused, whoever sends it.
        principal = await self._verified(request, auth, scheme, token.strip(b" "))
        request.sender = Sender(principal, request.sender.address)
        if method != "POST":
            self.check(principal)

    async def _verified(self, request: HttpRequest, auth: Protection, scheme: bytes, token: bytes) -> Principal:
        if _is_repeated(request.scope, request.headers):
            raise _refused(Case.TOKENS, auth.challenge("invalid_request"))
        if scheme.lower() != b"bearer" or not token:
            raise _refused(Case.NO_TOKEN, auth.challenge())
        if not _TOKEN.fullmatch(token):
            raise _refused(Case.TOKENS, auth.challenge("invalid_request"))
        try:
            return await auth.verify(token.decode("ascii"), request.sender.address)
        except InvalidToken as error:
            reason = str(error)
        except AuthorizationError as error:
            if sources.now() > self._warned + WARNING_EVERY:
                self._warned = sources.now()
                log.warning("access tokens cannot be checked: %s", error)
            raise Refusal(Case.ISSUER) from None
        raise _refused(Case.BAD_TOKEN, auth.challenge("invalid_token", reason), reason)

    def check(self, principal: Principal | None, body: bytes = b"") -> None:
        """Check the scopes that every request needs.

        Args:
            principal: the sender.
            body: the body of a POST, which tells the id of the request, and what else it needs.

        Raises:
            Refusal: the sender lacks one.
        """
        if self.auth is None or (principal is not None and principal.has(self.auth.scopes)):
            return
        id_, scopes = self._needs(body)
        raise self.lacking(scopes, id_)

    def lacking(self, scopes: Collection[str], id_: int | str | None = None) -> Refusal:
        """Return the refusal of a message whose sender lacks scopes."""
        needed = (*(self.auth.scopes if self.auth is not None else ()), *scopes)
        return Refusal(Case.SCOPES, " ".join(dict.fromkeys(needed)), headers=self.forbids(scopes), id_=id_)

    def forbids(self, scopes: Collection[str]) -> list[tuple[bytes, bytes]]:
        """Return the header for a sender that lacks scopes."""
        return [] if self.auth is None else [(_CHALLENGE, self.auth.challenge("insufficient_scope", scopes=scopes))]

    def _needs(self, body: bytes) -> tuple[int | str | None, tuple[str, ...]]:
        """Return the id of a request, and the scopes that it needs."""
        try:
            call = jsonrpc.classify(jsonrpc.parse(body))
        except jsonrpc.Fault as fault:
            return fault.id, ()
        if not isinstance(call, jsonrpc.Request | jsonrpc.Notification):
            return None, ()
        name = jsonrpc.named_in(call.params)
        return call.id, tuple(s for server in self._servers for s in server.__scopes_for__(call.method, name))


def _is_repeated(scope: Scope, headers: Headers) -> bool:
    """Whether a request has several tokens; the number of its other headers tells that most have not."""
    raw = scope["headers"]
    return len(raw) > len(headers) + 1 and sum(name == _AUTHORIZATION for name, _ in raw) > 1


def _refused(case: Case, challenge: bytes, *values: object) -> Refusal:
    return Refusal(case, *values, headers=[(_CHALLENGE, challenge)])


class Application(ABC):
    """An ASGI application that answers every path that it is asked for.

    Args:
        servers: the servers, one object per revision.
        options: how they are served.

    Attributes:
        limits: resource limits for clients.
        places: the hosts and origins that are allowed.
        arriving: the bodies that are arriving.
    """

    def __init__(self, servers: "Sequence[ServerHandlers]", options: SseServerOptions) -> None:
        self._servers = servers
        self.places = Places.of(options.get("hosts"), options.get("origins", ()), options.get("trusted_proxies", ()))
        self._access = Access(servers, options.get("principal"), options.get("auth"))
        self.limits = options.get("limits") or HttpLimits()
        self._first: Delay[asyncio.Future[None]] = Delay(self.limits.stream_after, resolve)
        self._quiet: Delay[asyncio.Future[None]] = Delay(self.limits.keepalive, resolve)
        self.arriving = Arriving(self.limits)
        self._writing = TimeLimit(self.limits.write_timeout)
        self._refused: set[bytes] = set()
        self._starting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = AsyncExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or handle the lifespan of the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError(f"this is an HTTP endpoint; it cannot serve {scope['type']}")
        if self._loop is not asyncio.get_running_loop():
            await self.start()  # mounted without its lifespan
        request = HttpRequest(scope, receive, send, self._writing)
        try:
            request.read_headers(self.limits.max_header_bytes)
            self.places.admit(request)
            if (auth := self._access.auth) is None:
                self._access.identify(request)
            elif scope["path"] in auth.paths:
                await auth.metadata_app(scope, receive, send)
                return
            else:
                await self._access.authenticate(request, auth)
            await self._answer(request)
        except Refusal as refusal:
            if refusal.case is Case.HOST and len(self._refused) < MAX_REFUSED_HOSTS:
                self._report(request.headers.get(b"host", b""))
            with suppress(Disconnected):
                await request.refuse(refusal)
        except Disconnected:
            pass

    def _report(self, host: bytes) -> None:
        """Log a host that is not allowed, as a client sent it: each one once."""
        if host not in self._refused:
            self._refused.add(host)
            shown = clipped(repr(host)[1:], 100)
            log.warning("requests to the host %s are refused; hosts= names those that are allowed", shown)

    @property
    def metadata_paths(self) -> frozenset[str]:
        """The paths at which it serves the metadata of its authorization, which needs no token."""
        return frozenset() if self._access.auth is None else self._access.auth.paths

    @asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncGenerator[None]:
        """Begin and end with the enclosing application: ``FastAPI(lifespan=endpoint.lifespan)``."""
        await self.start()
        try:
            yield
        finally:
            await self.aclose()

    async def start(self) -> None:
        """Enter the lifespans of the servers, unless that has been done.

        Raises:
            LifespanError: one of them failed.
        """
        async with self._starting:
            if self._loop is not asyncio.get_running_loop():
                self._opened = AsyncExitStack()
                await self._opened.enter_async_context(lifespans(self._servers))
                self._loop = asyncio.get_running_loop()

    async def aclose(self) -> None:
        """End all sessions, cancel what runs, and leave the lifespans of the servers."""
        await self.end_sessions()
        for timer in (self._first, self._quiet, self._writing, self.arriving.time):
            timer.clear()
        await self._opened.aclose()

    @abstractmethod
    async def end_sessions(self) -> None:
        """End all sessions, and cancel what runs."""

    @abstractmethod
    def _answer(self, request: HttpRequest) -> Awaitable[None]:
        """Answer a request that passed the access checks.

        Raises:
            Refusal: the request is refused.
            Disconnected: the client disconnected, or does not read.
        """

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self.start()
                except LifespanError as error:
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return
