"""URLs that a user is asked to open (client/elicitation, "Safe URL Handling")."""

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize
from urllib.parse import urlsplit

MAX_URL: Final = 8192
"""The maximum length of a URL in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlView:
    """A URL as a user should see it before agreeing to open it.

    Attributes:
        url: the whole URL.
        host: the part to show most prominently.
        warnings: what makes it suspicious; empty if nothing does.
    """

    url: str
    host: str
    warnings: tuple[str, ...]


def inspect_url(url: str) -> UrlView:
    """Return what a user should know of a URL; it is neither opened nor fetched ("Safe URL Handling").

    Args:
        url: the URL.

    Raises:
        ValueError: it is not the URL of a web page, or contains a user name or characters that could disguise the
            target.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("not a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("not the URL of a web page (https://host/...)")
    if (
        len(url) > MAX_URL
        or parts.username is not None
        or "%" in normalize("NFKC", host)
        or "\\" in url
        or any(map(str.isspace, url))
    ):
        raise ValueError("the URL could disguise its target")
    if not url.isprintable():
        raise ValueError("the URL contains characters that cannot be shown")
    warnings: list[str] = []
    if parts.scheme != "https":
        warnings.append("it is not encrypted (http)")
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        warnings.append("its host contains letters that look like others")
    if _is_address(host):
        warnings.append("its host is a number, not a name")
    if port not in (None, 80, 443):
        warnings.append(f"it uses an unusual port ({port})")
    return UrlView(url=url, host=host, warnings=tuple(warnings))


def _is_address(host: str) -> bool:
    """Whether a host is an address, in any form that a browser accepts: ``127.1``, ``0x7f000001``."""
    host = normalize("NFKC", host).replace("\u3002", ".").removesuffix(".")
    try:
        if ":" in host:
            ipaddress.IPv6Address(host)
        else:
            socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    return True
