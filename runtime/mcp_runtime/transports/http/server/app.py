"""What both HTTP transports have in common as ASGI applications: access checks and lifespan."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from mcp_runtime.errors import LifespanError
from mcp_runtime.handshake.server import revisions_of
from mcp_runtime.server import lifespans
from mcp_runtime.transports.http.events import EventLog, HttpLimits, MemoryEventStore
from mcp_runtime.transports.http.server.access import Access, HttpServerOptions, SseServerOptions
from mcp_runtime.transports.http.server.asgi import (
    Delays,
    Disconnected,
    Headers,
    HttpRequest,
    Receive,
    Reply,
    Scope,
    Send,
    Sender,
    until,
)
from mcp_runtime.transports.http.server.checks import (
    ONLY_EVENTS,
    REMEMBERED,
    Arriving,
    RefusedHosts,
    Shared,
    check_accept,
    headers_of,
)
from mcp_runtime.transports.http.server.modern import ModernEndpoint
from mcp_runtime.transports.http.server.posts import Posts
from mcp_runtime.transports.http.server.sessions import Sessions
from mcp_runtime.transports.http.server.streams import Stream, pump
from mcp_runtime.transports.http.statuses import Case, Refusal

if TYPE_CHECKING:
    from mcp_runtime.handlers import ServerHandlers


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

    def check(self, headers: Headers, client: str | None) -> None:
        """Check the host that a request was sent to, and the origin of the web page that sent it, if there is one.

        Args:
            headers: the headers of the request.
            client: the address of the client.

        Raises:
            Refusal: one of them is not allowed.
        """
        host = headers.get(b"host", b"")
        if client is not None and client in self.proxies:
            host = headers.get(b"x-forwarded-host", host)
        if not _is_named(host, self.hosts):
            raise Refusal(Case.HOST)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_allowed(origin.lower()):
            raise Refusal(Case.ORIGIN)

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
        limits: resource limits for clients.
        arriving: the bodies that are arriving.
    """

    def __init__(self, servers: "Sequence[ServerHandlers]", options: SseServerOptions) -> None:
        self._servers = servers
        self._places = Places.of(options.get("hosts"), options.get("origins", ()), options.get("trusted_proxies", ()))
        self._access = Access(servers, options.get("principal"), options.get("auth"))
        self.limits = options.get("limits") or HttpLimits()
        self._delays = Delays(self.limits)
        self.arriving = Arriving(self.limits, self._delays)
        self._refused = RefusedHosts()
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
        reply = Reply(send, self._delays.write)
        try:
            headers, host = self.checked_headers(scope)
            if (auth := self._access.auth) is not None and scope["path"] in auth.paths:
                await auth.metadata_app(scope, receive, send)
                return
            principal = await self._access.sender(scope, headers)
            if scope["method"] not in ("POST", "OPTIONS"):
                self._access.check(principal)
            sender = Sender(principal, self._places.address(headers, host))
            await self._answer(HttpRequest(scope, headers, sender, receive, reply))
        except Refusal as refusal:
            if refusal.case is Case.HOST:
                self._refused.report(headers_of(scope, self.limits.max_header_bytes).get(b"host", b""))
            with suppress(Disconnected):
                await reply.refuse(refusal)
        except Disconnected:
            pass

    def checked_headers(self, scope: Scope) -> tuple[Headers, str | None]:
        """Return the headers of a request, and the address that it comes from.

        Raises:
            Refusal: they are malformed or too large, or name a host or an origin that is not allowed.
        """
        headers = headers_of(scope, self.limits.max_header_bytes)
        client = scope.get("client")
        address = client[0] if client else None
        self._places.check(headers, address)
        return headers, address

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


METHODS: Final = ("GET", "POST", "DELETE")
"""The methods of an endpoint with sessions; without them it accepts POST only."""


class HttpApp(Application):
    """One endpoint; created by `asgi_app`. It answers every path that it is asked for.

    Args:
        servers: the servers, one object per revision.
        options: how they are served.

    Attributes:
        sessions: the open sessions.
    """

    def __init__(self, servers: "Sequence[ServerHandlers]", options: HttpServerOptions) -> None:
        spoken, is_stateless = revisions_of(servers), options.get("stateless", False)
        super().__init__(servers, options)
        events = options["events"] if "events" in options else MemoryEventStore()
        kept = None if is_stateless or events is None else EventLog(events)
        shared = Shared.of(self.limits, kept)
        self.sessions = Sessions(servers, spoken.legacy, shared)
        self._endpoint = ModernEndpoint(servers, shared._replace(events=None))
        self._methods = METHODS if spoken.legacy and not is_stateless else ("POST",)
        self._posts = Posts(
            spoken, self.sessions, self._endpoint, self.arriving, self._access, is_stateless=is_stateless
        )

    @property
    def is_busy(self) -> bool:
        """Whether a POST is being answered."""
        return self._posts.requests.used > 0 or self.arriving.count.used > 0

    @property
    def is_stopping(self) -> bool:
        """Whether new requests are refused."""
        return self._posts.is_stopping

    def stop(self) -> None:
        """Refuse new requests; open ones are still answered, and streams of listening clients end."""
        self._posts.is_stopping = True
        self.sessions.stop_listening()
        self._endpoint.stop_listening()

    async def end_sessions(self) -> None:
        """End all sessions, and cancel what runs."""
        self.stop()
        await self.sessions.end_all("the server is shutting down")
        await self._endpoint.aclose("the server is shutting down")
        self._delays.clear()

    def _answer(self, request: HttpRequest) -> Awaitable[None]:
        method = request.scope["method"]
        if self.is_stopping and (method == "GET" or not len(self.sessions)):
            raise Refusal(Case.STOPPING)
        if method not in self._methods:
            allowed = ", ".join(self._methods)
            raise Refusal(Case.METHOD, allowed, headers=[(b"allow", allowed.encode())])
        if method == "POST":
            return self._posts.answer(request)
        return self._get(request) if method == "GET" else self._delete(request)

    async def _delete(self, request: HttpRequest) -> None:
        await self.sessions.end(self.sessions.named(request.headers, request.sender), "the client ended the session")
        await request.reply.respond(Case.ENDED.status)

    async def _get(self, request: HttpRequest) -> None:
        streams, peer = self._posts.streams, request.sender.peer
        if not streams.take(peer):
            raise Refusal(Case.STREAMS)
        try:
            await self._listen(request)
        finally:
            streams.add(peer, -1)

    async def _listen(self, request: HttpRequest) -> None:
        headers, sender = request.headers, request.sender
        check_accept(headers, ONLY_EVENTS)
        session = self.sessions.named(headers, sender)
        stream: Stream = session.common
        after: int | None = None
        if last := headers.get(b"last-event-id"):
            try:
                stream, after = await session.find(last.decode("latin-1"))
            except LookupError:
                raise Refusal(Case.NO_EVENT) from None
        session.enter()
        try:
            with until(sender.principal.expires if sender.principal else None, Stream.end_response, stream):
                await pump(stream, request, self._delays, after=after)
        finally:
            session.leave()
