"""URLs that a person is asked to open (client/elicitation, "Safe URL Handling")."""

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final
from unicodedata import normalize
from urllib.parse import urlsplit

MAX_URL: Final = 8192
"""How many characters a URL may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlView:
    """A URL as a person should see it before agreeing to open it.

    Attributes:
        url: all of it.
        host: the part to be shown most clearly.
        warnings: what makes it suspicious, in words; empty if nothing does.
    """

    url: str
    host: str
    warnings: tuple[str, ...]


def look_at_url(url: str) -> UrlView:
    """Return what a person should know of a URL; it is neither opened nor fetched ("Safe URL Handling").

    Raises:
        ValueError: it is not the URL of a web page, or has a user or characters that could hide where it leads.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("this is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("this is no URL of a web page (https://host/...)")
    if (
        len(url) > MAX_URL
        or parts.username is not None
        or "%" in normalize("NFKC", host)
        or "\\" in url
        or any(map(str.isspace, url))
    ):
        raise ValueError("this URL could hide where it leads")
    if not url.isprintable():
        raise ValueError("this URL has characters that cannot be shown")
    warnings: list[str] = []
    if parts.scheme != "https":
        warnings.append("it is not encrypted (http)")
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        warnings.append("its host has letters that look like others")
    if _is_address(host):
        warnings.append("its host is a number, not a name")
    if port not in (None, 80, 443):
        warnings.append(f"it is at an unusual port ({port})")
    return UrlView(url=url, host=host, warnings=tuple(warnings))


def _is_address(host: str) -> bool:
    """Whether a host is an address, in any spelling that a browser takes for one: ``127.1``, ``0x7f000001``."""
    host = normalize("NFKC", host).replace("\u3002", ".").removesuffix(".")
    try:
        if ":" in host:
            ipaddress.IPv6Address(host)
        else:
            socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    return True
