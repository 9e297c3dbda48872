"""Reads and checks requests (specification: basic/transports)."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from itertools import chain
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.journal import Journal, endpoint_journal
from mcp_runtime.core.connection.transport import Receiver, Transport
from mcp_runtime.core.json.text import ENDS
from mcp_runtime.core.transports.http.events import EventLog, HttpLimits
from mcp_runtime.core.transports.http.server.asgi import EVENTS, JSON, Disconnected, Headers, Receive, Scope, TimeLimit
from mcp_runtime.core.transports.http.statuses import Case, Refusal

_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_FRAMING: Final = (b"transfer-encoding", b"content-length")
_CLOSE: Final = ((b"connection", b"close"),)
"""The header of an answer to a body that is not read to its end: the connection cannot be used again."""


class TooLarge(Refusal):
    """A request whose body is too large.

    Args:
        max_bytes: the maximum size in bytes.
        start: the beginning of the body, if it was read.
        end: the end of the body, if it was read.
    """

    def __init__(self, max_bytes: int, start: bytes = b"", end: bytes = b"") -> None:
        super().__init__(Case.LONG_BODY, max_bytes, headers=_CLOSE)
        self.start = start
        self.end = end


SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"

EITHER: Final = (JSON.decode(), EVENTS.decode())
"""The media types of the answer to a POST."""
ONLY_EVENTS: Final = (EVENTS.decode(),)
"""The media type of the answer to a GET."""

REMEMBERED: Final = 64
"""How many checked headers are cached: clients send the same ones again and again."""


def is_framed(headers: Iterable[tuple[bytes, bytes]], version: str) -> bool:
    """Return whether all recipients of a request agree on where its body ends.

    Its only transfer coding is chunked, and there is no length beside it (RFC 9112, 6.1 and 6.3).
    """
    given = [(name, value.strip(b" \t").lower()) for name, value in headers if name in _FRAMING]
    return (b"transfer-encoding" not in dict(given)) or (given == [_CHUNKED] and version != "1.0")


def headers_of(scope: Scope, max_bytes: int) -> Headers:
    """Return the headers of a request: lower-case names, repeated values joined by commas.

    Raises:
        Refusal: they are too large.
    """
    raw: tuple[tuple[bytes, bytes], ...] = tuple(scope["headers"])
    if len(b"".join(chain.from_iterable(raw))) + 4 * len(raw) > max_bytes:
        raise Refusal(Case.HEADERS_TOO_LARGE, max_bytes)
    # ASGI requires lower-case names.
    found = dict(raw)
    if len(found) < len(raw):
        found.clear()
        for name, value in raw:
            found[name] = b"%b, %b" % (found[name], value) if name in found else value
    return found


def check_content_type(headers: Headers) -> None:
    """Check that a body is JSON.

    Raises:
        Refusal: it is not.
    """
    given = headers.get(b"content-type")
    if given != JSON and (given or b"").partition(b";")[0].strip().lower() != JSON:
        raise Refusal(Case.CONTENT_TYPE)


def check_accept(headers: Headers, wanted: tuple[str, ...]) -> None:
    """Check that a client accepts all media types that the answer may have.

    Raises:
        Refusal: it does not.
    """
    if not _accepts(headers.get(b"accept", b""), wanted):
        raise Refusal(Case.ACCEPT, " and ".join(wanted))


@lru_cache(REMEMBERED)
def _accepts(given: bytes, wanted: tuple[str, ...]) -> bool:
    parts = given.decode("latin-1").lower().split(",")
    ranges = {part.partition(";")[0].strip() for part in parts if not _is_excluded(part)}
    return all(ranges & {type_, f"{type_.partition('/')[0]}/*", "*/*"} for type_ in wanted)


def _is_excluded(part: str) -> bool:
    """Whether a client refuses a media range (RFC 9110, 12.4.2)."""
    return any(parameter.strip() in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in part.split(";")[1:])


class Arriving:
    """The bodies that are arriving at an endpoint.

    Args:
        limits: their size, number and time.

    Attributes:
        limits: the same.
        count: counts them.
        time: limits how long each takes.
        size: counts their bytes, except for those of bodies that arrive whole.
    """

    def __init__(self, limits: HttpLimits) -> None:
        self.count = Pool(limits.max_arriving)
        self.size = Pool(max(limits.max_arriving_bytes, 2 * limits.max_message_bytes))
        self.time = TimeLimit(limits.body_timeout)
        self.limits: Final = limits


class Shared(NamedTuple):
    """What the sessions of an endpoint have in common.

    Attributes:
        limits: resource limits.
        events: stores what was sent on streams; None to store nothing.
        unread: counts the bytes that clients have not read yet.
        journal: limits the log lines about all sessions.
    """

    limits: HttpLimits
    events: EventLog | None
    unread: Pool
    journal: Journal

    @classmethod
    def of(cls, limits: HttpLimits, events: EventLog | None) -> "Shared":
        """Return what sessions with these limits and this store share."""
        return cls(limits, events, Pool(limits.max_unread_total), endpoint_journal())


class Owner(Transport):
    """A transport with a channel for each POST.

    Attributes:
        id: its id.
        shared: what all sessions have in common.
        primes: whether streams begin with an event without data, so that clients can resume them from the start.
        connection: the conversation over it.
        receiver: receives the messages.
    """

    id = ""
    shared: Shared
    primes = False
    connection: Connection
    receiver: Receiver

    async def start(self, receiver: Receiver) -> None:
        """Start carrying messages."""
        self.receiver = receiver

    @abstractmethod
    def finished(self, stream: Any) -> None:
        """Forget a stream that has ended."""


async def read_body(receive: Receive, headers: Headers, peer: str | None, arriving: Arriving) -> bytes:
    """Read the body of a request, which is not compressed: clients do not, and a small one could grow large.

    Args:
        receive: ASGI's receive function.
        headers: the headers of the request.
        peer: its sender.
        arriving: the bodies that are arriving.

    Raises:
        TooLarge: the body is too large.
        Refusal: it arrives too slowly, too much is arriving, or it is compressed.
        Disconnected: the client disconnected.
    """
    max_bytes, seconds = arriving.limits.max_message_bytes, arriving.limits.body_timeout
    length = headers.get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > 2 * max_bytes):
        raise TooLarge(max_bytes)
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise Refusal(Case.ENCODING)
    if not arriving.count.take(peer):
        raise Refusal(Case.ARRIVING, headers=_CLOSE)
    try:
        with arriving.time():
            return await _all_parts(receive, peer, arriving)
    except TimeoutError:
        raise Refusal(Case.SLOW_BODY, seconds) from None
    finally:
        arriving.count.add(peer, -1)


async def _all_parts(receive: Receive, peer: str | None, arriving: Arriving) -> bytes:
    max_bytes = arriving.limits.max_message_bytes
    size, start, end, body = 0, b"", b"", bytearray()
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Disconnected
            part: bytes = message.get("body", b"")
            is_last = not message.get("more_body", False)
            if is_last and not size and len(part) <= max_bytes:
                return part  # Most bodies arrive whole.
            size += len(part)
            if size > max_bytes:
                start = start or bytes((body + part)[:ENDS])
                end = (end + part)[-ENDS:]
                arriving.size.add(peer, -len(body))
                body.clear()
                if is_last or size > 2 * max_bytes:
                    # As much again was read and discarded: clients that are still sending rarely look for a response.
                    raise TooLarge(max_bytes, start, end if is_last else b"")
            elif arriving.size.take(peer, len(part)):
                body += part
            else:
                raise Refusal(Case.ARRIVING, headers=_CLOSE)
            if is_last:
                return bytes(body)
    finally:
        if body:
            arriving.size.add(peer, -len(body))


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
