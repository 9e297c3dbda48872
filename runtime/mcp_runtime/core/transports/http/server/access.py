"""Who may call an endpoint (basic/transports, basic/authorization), and what all endpoints share as applications."""

import asyncio
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any, Final, TypedDict
from urllib.parse import urlsplit

from mcp_runtime.core import sources
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import AuthorizationError, InvalidToken, LifespanError, clipped
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.server import lifespans
from mcp_runtime.core.transports.http.events import EventStore
from mcp_runtime.core.transports.http.server import asgi
from mcp_runtime.core.transports.http.server.asgi import Delay, Headers, HttpRequest, Sender, TimeLimit
from mcp_runtime.core.transports.http.statuses import Case, HttpLimits, Refusal

_TOKEN: Final = re.compile(rb"[A-Za-z0-9\-._~+/]+=*")
"""An access token (RFC 6750, 2.1)."""
_AUTHORIZATION: Final = b"authorization"
_CHALLENGE: Final = b"www-authenticate"
REMEMBERED: Final = 64
"""How many checked headers are cached: clients send the same ones again and again."""
MAX_REFUSED_HOSTS: Final = 20
"""How many hosts that are not allowed an endpoint logs: clients name any."""
WARNING_EVERY: Final = 60.0
"""Seconds between two log lines about an issuer that cannot be reached."""


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
    principal: Callable[[asgi.Scope], str | None] | None
    auth: asgi.Protection | None
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


LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
"""The hosts of this machine, which are accepted by default."""


@dataclass(frozen=True, slots=True)
class Places:
    """The hosts that requests may be sent to, and the origins of web pages that may send them.

    Attributes:
        hosts: hosts as in a `Host` header; one without a port matches every port.
        origins: origins of web pages (``https://example.com``) in addition to those on these hosts.
        proxies: addresses of the proxies whose ``X-Forwarded-Host`` and ``X-Forwarded-For`` are trusted.
    """

    hosts: frozenset[str]
    origins: frozenset[str]
    proxies: frozenset[str]

    @classmethod
    def of(cls, hosts: Iterable[str] | None, origins: Iterable[str], proxies: Iterable[str]) -> "Places":
        """Parse the names given by a program; None for the hosts of this machine.

        Raises:
            TypeError: a string was given instead of a collection of strings.
            ValueError: a name is not a valid host or origin; wildcards are not supported.
        """
        for given in (hosts, origins, proxies):
            if isinstance(given, str):
                raise TypeError(f"give a collection of names, not one string: ({given!r},)")
        known = frozenset(host.lower() for host in (LOOPBACK if hosts is None else hosts))
        allowed = frozenset(origin.lower().rstrip("/") for origin in origins)
        for host in known:
            if not host or "*" in host or "/" in host:
                raise ValueError(f"{host!r} is not a host; give names like example.com or example.com:8443")
        for origin in allowed:
            if "*" in origin or urlsplit(origin).scheme not in ("http", "https"):
                raise ValueError(f"{origin!r} is not an origin; give names like https://example.com")
        return cls(known, allowed, frozenset(proxies))

    def admit(self, request: HttpRequest) -> None:
        """Check the host that a request was sent to, and the origin of the web page that sent it, if there is one.

        The address that it comes from becomes its sender.

        Raises:
            Refusal: one of them is not allowed.
        """
        headers, given = request.headers, request.scope.get("client")
        client = given[0] if given else None
        host = headers.get(b"host", b"")
        if client is not None and client in self.proxies:
            host = headers.get(b"x-forwarded-host", host)
        if not _is_named(host, self.hosts):
            raise Refusal(Case.HOST)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_allowed(origin.lower()):
            raise Refusal(Case.ORIGIN)
        request.sender = Sender(None, self.address(headers, client))

    def address(self, headers: Headers, client: str | None) -> str | None:
        """Return where a request comes from; see `Sender`.

        Args:
            headers: the headers of the request.
            client: the address of the client, or of a proxy.
        """
        if client is not None and client in self.proxies:
            passed = [each.strip() for each in headers.get(b"x-forwarded-for", b"").decode("latin-1").split(",")]
            # Whatever precedes the last address that is not a proxy's may be invented.
            client = next((each for each in reversed(passed) if each and each not in self.proxies), client)
        return None if client is None else _network(client)

    def _is_allowed(self, origin: bytes) -> bool:
        if origin.decode("latin-1") in self.origins:
            return True
        scheme, _, host = origin.partition(b"://")
        return scheme in (b"http", b"https") and _is_named(host, self.hosts)


@lru_cache(REMEMBERED)
def _is_named(host: bytes, hosts: frozenset[str]) -> bool:
    """Whether a host is in a set, with or without its port."""
    whole = host.decode("latin-1").lower()
    return whole in hosts or without_port(whole) in hosts


@lru_cache(REMEMBERED)
def _network(client: str) -> str:
    """Return an IPv4 address as it is, and the /64 of an IPv6 address, which is one customer's; both without a port."""
    try:
        address = ip_address(without_port(client).strip("[]"))
    except ValueError:
        return client[:REMEMBERED]
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))
    return str(address)


def without_port(host: str) -> str:
    """Return a host without its port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and (":" not in name or name.endswith("]")) else host


class Application(ABC):
    """An ASGI application that answers every path that it is asked for.

    Args:
        servers: the servers, one object per revision.
        options: how they are served.

    Attributes:
        auth: what protects it; None for nothing.
        limits: resource limits for clients.
        places: the hosts and origins that are allowed.
        arriving: the bodies that are arriving.

    Raises:
        ValueError: there are both `auth` and `principal`, or a function needs scopes and there is no `auth`.
    """

    def __init__(self, servers: Sequence[ServerHandlers], options: SseServerOptions) -> None:
        self._servers = servers
        self.places = Places.of(options.get("hosts"), options.get("origins", ()), options.get("trusted_proxies", ()))
        self._principal, self.auth = options.get("principal"), options.get("auth")
        if self.auth is not None and self._principal is not None:
            raise ValueError("give either auth= or principal=: both say who sends a request")
        needed = sorted({s for each in servers for name in each.__answered__() for s in each.__scopes_for__(name)})
        if self.auth is None and needed:
            raise ValueError(f"functions of this server need scopes ({' '.join(needed)}): pass auth=Bearer(...)")
        self._warned = float("-inf")
        self.limits = options.get("limits") or HttpLimits()
        self._first: Delay[asyncio.Future[None]] = Delay(self.limits.stream_after, asgi.resolve)
        self._quiet: Delay[asyncio.Future[None]] = Delay(self.limits.keepalive, asgi.resolve)
        self.arriving = asgi.Arriving(self.limits)
        self._writing = TimeLimit(self.limits.write_timeout)
        self._refused: set[bytes] = set()
        self._starting = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = AsyncExitStack()

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
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
            if (auth := self.auth) is None:
                self._identify(request)
            elif scope["path"] in auth.paths:
                await auth.metadata_app(scope, receive, send)
                return
            else:
                await self._authenticate(request, auth)
            await self._answer(request)
        except Refusal as refusal:
            if refusal.case is Case.HOST and len(self._refused) < MAX_REFUSED_HOSTS:
                self._report(request.headers.get(b"host", b""))
            with suppress(asgi.Disconnected):
                await request.refuse(refusal)
        except asgi.Disconnected:
            pass

    def _identify(self, request: HttpRequest) -> None:
        """Determine the sender of a request where nothing needs authorization, and drop any token."""
        request.headers.pop(_AUTHORIZATION, None)
        if self._principal is not None and (subject := self._principal(request.scope)) is not None:
            request.sender = Sender(Principal(subject), request.sender.address)

    async def _authenticate(self, request: HttpRequest, auth: asgi.Protection) -> None:
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
            self.check_scopes(principal)

    async def _verified(self, request: HttpRequest, auth: asgi.Protection, scheme: bytes, token: bytes) -> Principal:
        if sum(name == _AUTHORIZATION for name, _ in request.scope["headers"]) > 1:
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

    def check_scopes(self, principal: Principal | None, body: bytes = b"") -> None:
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

    def _report(self, host: bytes) -> None:
        """Log a host that is not allowed, as a client sent it: each one once."""
        if host not in self._refused:
            self._refused.add(host)
            shown = clipped(repr(host)[1:], 100)
            log.warning("requests to the host %s are refused; hosts= names those that are allowed", shown)

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
            asgi.Disconnected: the client disconnected, or does not read.
        """

    async def _live(self, receive: asgi.Receive, send: asgi.Send) -> None:
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


def _refused(case: Case, challenge: bytes, *values: object) -> Refusal:
    return Refusal(case, *values, headers=[(_CHALLENGE, challenge)])
