"""Checks the headers of requests: framing and types of the body, allowed hosts and origins (basic/transports)."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from mcp_runtime.core.transports.http.server.asgi import EVENTS, JSON, Headers, HttpRequest, Sender
from mcp_runtime.core.transports.http.statuses import Case, Refusal

_CHUNKED: Final = (b"transfer-encoding", b"chunked")
_FRAMING: Final = (b"transfer-encoding", b"content-length")
REMEMBERED: Final = 64
"""How many checked headers are cached: clients send the same ones again and again."""


def is_framed(headers: Iterable[tuple[bytes, bytes]], version: str) -> bool:
    """Return whether all recipients of a request agree on where its body ends.

    Its only transfer coding is chunked, and there is no length beside it (RFC 9112, 6.1 and 6.3).
    """
    given = [(name, value.strip(b" \t").lower()) for name, value in headers if name in _FRAMING]
    return (b"transfer-encoding" not in dict(given)) or (given == [_CHUNKED] and version != "1.0")


EITHER: Final = (JSON.decode(), EVENTS.decode())
"""The media types of the answer to a POST."""
ONLY_EVENTS: Final = (EVENTS.decode(),)
"""The media type of the answer to a GET."""


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
