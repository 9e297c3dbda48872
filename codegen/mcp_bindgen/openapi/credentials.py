"""Where the API is, and its credentials: the security schemes of a document, and the options of the user."""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, clip
from mcp_bindgen.ir.json_values import as_list, as_object
from mcp_bindgen.openapi.document import Document, Json
from mcp_bindgen.openapi.operations import Operation, alternatives

PLACES = ("header", "query", "cookie")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_NOT_WORD = re.compile(r"[^A-Z0-9]+")
_NOT_FORWARDED = (
    "authorization",
    "cookie",
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
)
_MARKS = set("{}?#\\ \"'<>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Where the secret of a security scheme comes from, and where it goes.

    Attributes:
        scheme: the name of the scheme.
        kind: ``bearer``, ``basic``, or the place of a key.
        env: the environment variable.
        name: the name of the header, the parameter or the cookie of a key.
    """

    scheme: str
    kind: str
    env: str
    name: str = ""


def origin_of(document: Document, url: str) -> str:
    """Return the URL of the API: the given one, else that of the document's first server.

    Raises:
        InputError: it is not https, or http on this machine; or there is none.
    """
    found = url or _first_server(document)
    parts = urlsplit(found) if not _MARKS & set(found) and found.isascii() and found.isprintable() else urlsplit("")
    try:
        is_whole = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_whole = False
    if parts.scheme not in ("http", "https") or not is_whole or parts.username is not None:
        raise InputError.at("--url", f"give the URL of the API; its document says {clip(repr(found), 80)}")
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise InputError.at("--url", f"{clip(found, 80)} is not https, which only an API on this machine may be")
    return found.rstrip("/")


def secrets_of(
    document: Document, given: Sequence[str], module: str, used: Iterable[str], diagnostics: Diagnostics
) -> list[Secret]:
    """Return the secrets of the schemes that are used: of `--auth`, else variables named after the module.

    Raises:
        InputError: an option of `--auth` is not one.
    """
    schemes = document.security_schemes
    found = {each.scheme: each for each in (_given(text, schemes) for text in given)}
    for name in dict.fromkeys(used):
        if name in found:
            continue
        kind, place = _kind_of(schemes.get(name, {}))
        if not kind or not (name.isascii() and name.isprintable()):
            where = Location(source=document.source)
            diagnostics.warning(where, f"the security scheme {clip(repr(name), 80)} is not supported; use --auth")
            continue
        env = _NOT_WORD.sub("_", f"MCP_API_{module}_{name}".upper()).strip("_")
        found[name] = Secret(scheme=name, kind=kind, env=env, name=place)
    return list(found.values())


def security_of(document: Document, secrets: Sequence[Secret], given: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the alternatives of schemes that operations need by default: without any, those of `--auth`."""
    stated = alternatives(document.raw.get("security")) or ()
    return stated or tuple(
        (each.scheme,) for each in secrets[: len(given)] if each.scheme not in document.security_schemes
    )


def used_schemes(document: Document, operations: Iterable[Operation]) -> list[str]:
    """Return the names of the schemes that operations need."""
    default = alternatives(document.raw.get("security")) or ()
    needed = (default if one.security is None else one.security for one in operations)
    return [name for sets in needed for names in sets for name in names]


def refuse_header(name: str) -> None:
    """Refuse to forward a header that belongs to the connection of the caller.

    Raises:
        InputError: it does, or it is not the name of a header.
    """
    lower = name.lower()
    if not _TOKEN.fullmatch(name):
        raise InputError.at("--forward", f"{clip(repr(name), 60)} is not the name of a header")
    if lower in _NOT_FORWARDED or lower.startswith(("proxy-", "mcp-")):
        raise InputError.at("--forward", f"{name} belongs to the connection of the caller; choose a header of your own")


def _given(text: str, schemes: Json) -> Secret:
    """Return the secret of an option: ``SCHEME=KIND:VARIABLE``, for a key also ``SCHEME=PLACE:VARIABLE:NAME``."""
    scheme, _, rest = text.partition("=")
    kind, env, name = (*rest.split(":", 2), "", "")[:3]
    stated, place = _kind_of(schemes.get(scheme, {}))
    if kind == "apikey":
        kind, name = stated, name or place
    is_key = kind in PLACES
    is_wrong = not scheme or not _ENV.fullmatch(env) or kind not in ("bearer", "basic", *PLACES)
    if is_wrong or is_key != bool(_TOKEN.fullmatch(name or ("" if not is_key else place))):
        form = "SCHEME=bearer:VARIABLE, basic:VARIABLE, apikey:VARIABLE or header:VARIABLE:NAME (query, cookie)"
        raise InputError.at("--auth", f"{clip(repr(text), 80)} is not {form}")
    return Secret(scheme=scheme, kind=kind, env=env, name=(name or place) if is_key else "")


def _kind_of(scheme: Json) -> tuple[str, str]:
    """Return how a scheme sends its secret, and the name of a key; empty if it is not supported."""
    kind, place, name = scheme.get("type"), scheme.get("in"), scheme.get("name")
    if kind in ("oauth2", "openIdConnect"):
        return "bearer", ""
    if kind == "http":
        stated = str(scheme.get("scheme")).lower()
        return (stated, "") if stated in ("bearer", "basic") else ("", "")
    if kind == "apiKey" and place in PLACES and isinstance(name, str) and _TOKEN.fullmatch(name):
        lower = name.lower()
        is_framing = lower in ("host", "cookie", "content-length", "transfer-encoding", "connection")
        return ("", "") if place == "header" and is_framing else (str(place), name)
    return "", ""


def _first_server(document: Document) -> str:
    server = as_object(next(iter(as_list(document.raw.get("servers"))), None))
    url = str(server.get("url", ""))
    for name, variable in as_object(server.get("variables")).items():
        url = url.replace(f"{{{name}}}", str(as_object(variable).get("default", "")))
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
