"""Checks of a request (specification: basic/transports, Security Warning), and the HTTP status for each failure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mcp_runtime.protocol import jsonrpc, modern
from mcp_runtime.transports.http.server.asgi import EVENTS, JSON, Headers, Refusal


def not_now(reason: str, seconds: int, *, status: int = 503) -> Refusal:
    """Return the refusal of a request that may succeed later.

    Args:
        reason: why it is refused, for people; nothing secret.
        seconds: how long the client should wait before it tries again.
        status: the HTTP status.
    """
    return Refusal(status, reason, [(b"retry-after", b"%d" % seconds)])


def stopping() -> Refusal:
    """Return the refusal of a request to a server that is shutting down."""
    return not_now("the server is shutting down", 5)


def too_many_requests() -> Refusal:
    """Return the refusal of a POST beyond the limit."""
    return not_now("too many requests are open; try again later", 1)


def too_many_of_session() -> Refusal:
    """Return the refusal of a POST beyond the limit of its session."""
    return not_now("too many requests of this session are open; try again later", 1, status=429)


def too_many_sessions() -> Refusal:
    """Return the refusal of a session beyond the limit."""
    return not_now("there are too many sessions; try again later", 30)


def too_many_streams() -> Refusal:
    """Return the refusal of a stream beyond the limit."""
    return not_now("too many streams are open; try again later", 30)


LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
"""The hosts of this machine, which are accepted by default."""

SESSION: Final = b"mcp-session-id"
VERSION: Final = b"mcp-protocol-version"

EITHER: Final = (JSON.decode(), EVENTS.decode())
"""The media types of the answer to a POST."""
ONLY_EVENTS: Final = (EVENTS.decode(),)
"""The media type of the answer to a GET."""

REMEMBERED: Final = 64
"""How many checked headers are cached: clients send the same ones again and again."""


@dataclass(frozen=True, slots=True)
class Places:
    """The hosts that requests may be sent to, and the origins of web pages that may send them.

    Attributes:
        hosts: hosts as in a `Host` header; one without a port matches every port.
        origins: origins of web pages (``https://example.com``) in addition to those on these hosts.
        proxies: addresses of the proxies whose ``X-Forwarded-Host`` is trusted.
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
            raise Refusal(403, "this host is not allowed; a server lists its hosts with hosts=")
        origin = headers.get(b"origin")
        if origin is not None and not self._is_allowed(origin.lower()):
            raise Refusal(403, "pages of this origin may not call this server")

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


def without_port(host: str) -> str:
    """Return a host without its port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and (":" not in name or name.endswith("]")) else host


def check_content_type(headers: Headers) -> None:
    """Check that a body is JSON.

    Raises:
        Refusal: it is not.
    """
    given = headers.get(b"content-type", b"")
    if given != JSON and given.partition(b";")[0].strip().lower() != JSON:
        raise Refusal(415, "the Content-Type of a message must be application/json")


def check_accept(headers: Headers, wanted: tuple[str, ...]) -> None:
    """Check that a client accepts all media types that the answer may have.

    Raises:
        Refusal: it does not.
    """
    if not _accepts(headers.get(b"accept", b""), wanted):
        raise Refusal(406, f"the Accept header must name {' and '.join(wanted)}")


@lru_cache(REMEMBERED)
def _accepts(given: bytes, wanted: tuple[str, ...]) -> bool:
    parts = given.decode("latin-1").lower().split(",")
    ranges = {part.partition(";")[0].strip() for part in parts if not _is_excluded(part)}
    return all(ranges & {type_, f"{type_.partition('/')[0]}/*", "*/*"} for type_ in wanted)


def _is_excluded(part: str) -> bool:
    """Whether a client refuses a media range (RFC 9110, 12.4.2)."""
    return any(parameter.strip() in ("q=0", "q=0.0", "q=0.00", "q=0.000") for parameter in part.split(";")[1:])


class Check(NamedTuple):
    """A check of a request.

    Attributes:
        fault: what is wrong with a request that fails it.
        status: the HTTP status of the answer.
        code: the error code in the answer; -32600 where no message was read yet.
    """

    fault: str
    status: int
    code: int = jsonrpc.INVALID_REQUEST


CHECKS: Final = (
    Check("the headers are too large", 431),
    Check("`Host` or `Origin` is not allowed", 403),
    Check("the endpoint does not support the HTTP method", 405),
    Check("`Content-Type` is not JSON", 415),
    Check("`Accept` does not name both types", 406),
    Check("the body is too large", 413),
    Check("the body is not JSON", 400, jsonrpc.PARSE_ERROR),
    Check("the body is not one request or notification", 400, jsonrpc.INVALID_REQUEST),
    Check("`_meta` names no revision", 400, jsonrpc.INVALID_PARAMS),
    Check("`MCP-Protocol-Version` is missing or differs from `_meta`", 400, modern.HEADER_MISMATCH),
    Check("the revision is not supported", 400, modern.UNSUPPORTED_VERSION),
    Check("the rest of `_meta` is not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("`Mcp-Method` or `Mcp-Name` is missing or differs from the body", 400, modern.HEADER_MISMATCH),
    Check("there is no such method", 404, jsonrpc.METHOD_NOT_FOUND),
    Check("the params are not valid", 400, jsonrpc.INVALID_PARAMS),
    Check("an `Mcp-Param-*` is missing or differs from the arguments", 400, modern.HEADER_MISMATCH),
    Check("the client lacks a capability", 400, modern.MISSING_CAPABILITY),
)
"""The checks in order: if a request has several faults, the first one is answered.

Until the revision is known to be supported, only what future revisions will have as well is checked.
"""

STATUSES: Final[Mapping[int, int]] = {check.code: check.status for check in CHECKS if check.status in (400, 404)}
"""Error codes and their statuses, wherever they were raised; answers with any other code have the status 200."""
