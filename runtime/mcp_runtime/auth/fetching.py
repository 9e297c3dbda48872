"""Bounded HTTP requests to URLs that peers name: no redirects, and no address that a peer should not make us reach.

The name of a host is resolved once, every address is checked, and the connection goes to an address that was checked;
the certificate must be that of the name. So a name that resolves differently the next time reaches nothing else.
Proxies of the environment are not used.
"""

import asyncio
import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

import httpx2

from mcp_runtime.core.errors import AuthorizationError, clipped
from mcp_runtime.core.json.values import is_object

MAX_BYTES: Final = 64 << 10
"""The maximum size of a response."""
SECONDS: Final = 10.0
"""Seconds for a whole request."""

_Address = IPv4Address | IPv6Address

_SPECIAL: Final = tuple(
    map(
        ip_network,
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
        " 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
        " 2001::/23 2001:db8::/32 3fff::/20".split(),
    )
)
"""What is not public, outside of what IPv6 reserves as a whole. `is_global` varies between versions of Python."""
_NEVER: Final = tuple(
    map(ip_network, "0.0.0.0/8 169.254.0.0/16 224.0.0.0/4 240.0.0.0/4 fe80::/10 ff00::/8 ::/128".split())
)
"""What no peer may name: link-local addresses, where clouds keep credentials, and addresses of no machine."""
_GLOBAL: Final = IPv6Network("2000::/3")
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Reach:
    """Which URLs may be fetched.

    Attributes:
        private: whether addresses that are not public may be reached, as where the MCP server has one itself.
        insecure: whether http is allowed beyond loopback.
    """

    private: bool = False
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response.

    Attributes:
        status: the HTTP status.
        body: the whole body.
    """

    status: int
    body: bytes

    @property
    def is_temporary(self) -> bool:
        """Whether the server is only busy or broken now: 429 or 5xx."""
        return self.status == HTTPStatus.TOO_MANY_REQUESTS or self.status >= HTTPStatus.INTERNAL_SERVER_ERROR

    def json(self) -> dict[str, Any]:
        """Return the object in the body; empty if it has none."""
        try:
            value: Any = json.loads(self.body)
        except (ValueError, RecursionError):
            return {}
        return value if is_object(value) else {}


def is_public(address: str) -> bool:
    """Whether an IP address is reachable from the whole internet. IPv4 inside of IPv6 counts as IPv4."""
    found = _unwrapped(address)
    if isinstance(found, IPv6Address) and found not in _GLOBAL:
        return False
    return not any(found in network for network in _SPECIAL)


def is_loopback(address: str) -> bool:
    """Whether an IP address is this machine's."""
    return _unwrapped(address).is_loopback


def check_url(url: str, step: str, *, insecure: bool = False) -> httpx2.URL:
    """Return a URL that may be used: https, or http on loopback, without a user.

    Args:
        url: the URL.
        step: what it is used for, for the error.
        insecure: whether http is allowed beyond loopback.

    Raises:
        AuthorizationError: it may not be used.
    """
    try:
        parsed = httpx2.URL(url)
        is_named = bool(parsed.host) and not (parsed.port is not None and not 0 < parsed.port < 1 << 16)
    except (httpx2.InvalidURL, TypeError, ValueError):
        raise AuthorizationError(step, str(url), "this is not a URL") from None
    if parsed.scheme not in ("https", "http") or not is_named:
        raise AuthorizationError(step, url, "this is not an https URL")
    if parsed.userinfo:
        raise AuthorizationError(step, url, "the URL has a user or password")
    if parsed.scheme == "http" and not insecure and not _is_local(parsed.host):
        raise AuthorizationError(step, url, "the URL is not https", "insecure=True allows http, for tests")
    return parsed


async def fetch(
    url: str,
    step: str,
    reach: Reach,
    *,
    method: str = "GET",
    content: bytes | None = None,
    headers: Mapping[str, str] | None = None,
) -> Fetched:
    """Send a request to a URL that a peer named, and read the whole response, whatever its status.

    Args:
        url: the URL.
        step: what the request is for, as an error begins: ``reading the metadata of the issuer``.
        reach: which URLs and addresses are allowed.
        method: the HTTP method.
        content: the body.
        headers: further headers.

    Raises:
        AuthorizationError: the URL or an address of it is not allowed; it cannot be reached; the response redirects, is
            larger than `MAX_BYTES`, or took longer than `SECONDS`.
    """
    parsed = check_url(url, step, insecure=reach.insecure)
    try:
        async with asyncio.timeout(SECONDS):
            addresses = await _resolve(parsed, step, url, reach)
            return await _send(parsed, addresses, method, content, headers or {})
    except TimeoutError:
        raise AuthorizationError(step, url, f"there was no response within {SECONDS:g} s") from None
    except (httpx2.HTTPError, httpx2.StreamError, _Unreadable) as error:
        raise AuthorizationError(step, url, clipped(str(error) or type(error).__name__)) from None


class _Unreadable(Exception):
    """A response is not read."""


async def _resolve(url: httpx2.URL, step: str, shown: str, reach: Reach) -> list[str]:
    """Return the addresses of a host, all of which may be reached."""
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(url.host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise AuthorizationError(step, shown, "the host is unknown") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    for address in addresses:
        inner = _unwrapped(address)
        if any(inner in network for network in _NEVER) or not (reach.private or is_public(address)):
            problem = f"{url.host} has the address {address}, which is not public"
            raise AuthorizationError(step, shown, problem, "only a server on a private network may name such a URL")
        if url.scheme == "http" and not reach.insecure and not is_loopback(address):
            raise AuthorizationError(step, shown, f"{url.host} is not this machine, and the URL is not https")
    return addresses


async def _send(
    url: httpx2.URL, addresses: list[str], method: str, content: bytes | None, headers: Mapping[str, str]
) -> Fetched:
    """Send a request to the first address that can be connected to."""
    own = {"accept": "application/json", "accept-encoding": "identity", "host": url.netloc.decode("ascii")}
    async with httpx2.AsyncClient(verify=trusted(), trust_env=False, timeout=SECONDS) as client:
        for address in addresses:
            target = url.copy_with(host=address)
            request = client.build_request(
                method,
                target,
                content=content,
                headers={**own, **headers},
                extensions={"sni_hostname": url.raw_host.decode()},
            )
            try:
                response = await client.send(request, stream=True, follow_redirects=False)
            except httpx2.ConnectError:
                if address == addresses[-1]:
                    raise
                continue
            try:
                if response.is_redirect:
                    raise _Unreadable("it redirects, which is not followed")
                return Fetched(response.status_code, await _body(response))
            finally:
                await response.aclose()
    raise _Unreadable("the host has no address")


async def _body(response: httpx2.Response) -> bytes:
    if "content-encoding" in response.headers:
        raise _Unreadable("the response is compressed")
    body = b""
    async for part in response.aiter_raw():
        body += part
        if len(body) > MAX_BYTES:
            raise _Unreadable(f"the response has more than {MAX_BYTES:,} bytes")
    return body


def _is_local(host: str) -> bool:
    try:
        return is_loopback(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _unwrapped(address: str) -> _Address:
    """Return an address, or the IPv4 address that it contains."""
    found = ip_address(address.partition("%")[0])
    if not isinstance(found, IPv6Address):
        return found
    if found in _TRANSLATED:
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found.ipv4_mapped or found.sixtofour or found


@cache
def trusted() -> Any:
    """Return the certificates to trust. Reading them blocks for 30 ms."""
    return httpx2.create_ssl_context()
