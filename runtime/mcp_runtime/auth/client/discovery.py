"""What a protected server and its issuer say about themselves (2026-07-28, basic/authorization, discovery).

The revision is unknown before a client has signed in, so what the server shows decides: without resource metadata
(RFC 9728), the origin of the server is the issuer, as in 2025-03-26.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_runtime.auth.fetching import Fetched, Reach, check_url, fetch
from mcp_runtime.core.errors import AuthorizationError, clipped
from mcp_runtime.core.json.values import is_array

READING_RESOURCE: Final = "reading the metadata of the server"
READING_ISSUER: Final = "reading the metadata of the issuer"

_PARAMETER: Final = re.compile(r'([\w!#$%&\'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?')
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,256}")
MAX_SCOPES: Final = 256


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a refusal says about authorization (RFC 6750, 3; RFC 9728, 5.1).

    Attributes:
        error: the error code; empty if there was no token.
        scopes: the scopes that the request needs; None if it does not say.
        metadata: the URL of the resource metadata; may be empty.
    """

    error: str = ""
    scopes: tuple[str, ...] | None = None
    metadata: str = ""

    @classmethod
    def of(cls, header: str) -> "Challenge":
        """Read the Bearer challenge of a WWW-Authenticate header, which may have several."""
        scheme, found = "", dict[str, str]()
        for match in _PARAMETER.finditer(header[:16_384]):
            name, quoted, plain = match.groups()
            if quoted is None and plain is None:
                scheme = name.lower()
            elif scheme == "bearer":
                found.setdefault(name.lower(), plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        scopes = scopes_in(found["scope"].split()) if "scope" in found else None
        return cls(found.get("error", ""), scopes, found.get("resource_metadata", ""))


@dataclass(frozen=True, slots=True)
class Resource:
    """A protected server.

    Attributes:
        name: the resource that tokens are requested for: the URL of the server, or a parent of it.
        issuers: those that may issue tokens.
        scopes: the scopes to request if a challenge names none.
        is_old: whether it has no metadata, so that its origin is the issuer.
        any_slash: whether an issuer may differ by the slash after its origin.
    """

    name: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    is_old: bool = False
    any_slash: bool = False

    def names(self, issuer: str) -> bool:
        """Return whether an issuer is one of its issuers."""
        return any(issuer in _spellings(each, any_slash=self.any_slash) for each in self.issuers)

    def known(self, is_known: Callable[[str], object]) -> str:
        """Return the first issuer that is known in one of its spellings, or else the first one.

        Args:
            is_known: whether an issuer is known; takes its identifier.
        """
        any_slash = self.any_slash
        known = (each for each in self.issuers if any(map(is_known, _spellings(each, any_slash=any_slash))))
        return next(known, self.issuers[0])


@dataclass(frozen=True, slots=True)
class Issuer:
    """An authorization server.

    Attributes:
        name: its identifier.
        authorization: where people sign in.
        token: where tokens are issued.
        registration: where clients register; may be empty.
        revocation: where tokens are revoked; may be empty.
        methods: how clients may authenticate.
        scopes: the scopes it supports, as far as it says.
        has_pkce: whether it supports PKCE with S256.
        sends_issuer: whether its responses name it (RFC 9207).
        reads_documents: whether the id of a client may be the URL of a document.
        keys: where its keys are; may be empty.
        introspection: where it says which tokens are valid; may be empty.
    """

    name: str
    authorization: str
    token: str
    registration: str = ""
    revocation: str = ""
    methods: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    has_pkce: bool = True
    sends_issuer: bool = False
    reads_documents: bool = False
    keys: str = ""
    introspection: str = ""


def scopes_in(values: object) -> tuple[str, ...]:
    """Return the valid scopes of a list, each once."""
    return tuple(dict.fromkeys(each for each in texts_in(values)[:MAX_SCOPES] if _SCOPE.fullmatch(each)))


def texts_in(values: object) -> list[str]:
    """Return the texts of a JSON array; empty if it is not one."""
    return [each for each in values if isinstance(each, str)] if is_array(values) else []


async def find_resource(url: str, challenge: Challenge, reach: Reach, *, any_slash: bool = False) -> Resource:
    """Return what a server says about its authorization.

    Args:
        url: the URL of the server.
        challenge: its refusal.
        reach: which URLs may be fetched.
        any_slash: see `Resource`.

    Raises:
        AuthorizationError: its metadata cannot be read now, belongs to another server, or names no issuer.
    """
    parts = urlsplit(url)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    known = f"{origin}/.well-known/oauth-protected-resource"
    for place in dict.fromkeys(filter(None, (challenge.metadata, known + path, known))):
        found = _document(await fetch(place, READING_RESOURCE, reach), READING_RESOURCE, place)
        if not found:
            continue
        name = _text(found, "resource", READING_RESOURCE, place)
        if not _is_parent(name, url):
            problem = f"it is about {clipped(name, 200)}, not about {origin}{parts.path}"
            raise AuthorizationError(READING_RESOURCE, place, problem, "the server must name its own URL")
        if not (issuers := texts_in(found.get("authorization_servers"))):
            raise AuthorizationError(READING_RESOURCE, place, "it names no authorization servers")
        return Resource(name, tuple(issuers), scopes_in(found.get("scopes_supported")), any_slash=any_slash)
    return Resource(url, (origin,), is_old=True, any_slash=True)


async def find_issuer(name: str, reach: Reach, *, is_old: bool = False, any_slash: bool = False) -> Issuer:
    """Return what an issuer says about itself.

    Args:
        name: its identifier, a URL.
        reach: which URLs may be fetched.
        is_old: whether it is the origin of a server without metadata, which may lack metadata of its own too, and is
            spelled with or without a slash.
        any_slash: whether its metadata may spell it with or without the slash after the origin.

    Raises:
        AuthorizationError: its metadata is missing, cannot be read now, or belongs to another issuer.
    """
    parts = urlsplit(str(check_url(name, READING_ISSUER, insecure=reach.insecure)) and name)
    if parts.query or parts.fragment:
        raise AuthorizationError(READING_ISSUER, name, "the URL of an issuer has no query or fragment")
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
    places = (origin + oauth,) if is_old else (origin + oauth + path, origin + openid + path, origin + path + openid)
    for place in dict.fromkeys(places):
        if found := _document(await fetch(place, READING_ISSUER, reach), READING_ISSUER, place):
            return _issuer(found, name, place, reach, any_slash=any_slash or is_old)
    if is_old:
        return Issuer(name, f"{origin}/authorize", f"{origin}/token", f"{origin}/register")
    raise AuthorizationError(READING_ISSUER, name, "it has no metadata", "check the issuer that the server names")


def _issuer(found: dict[str, Any], name: str, place: str, reach: Reach, *, any_slash: bool) -> Issuer:
    step = READING_ISSUER
    said = _text(found, "issuer", step, place)
    if said not in _spellings(name, any_slash=any_slash):
        remedy = _ABOUT_SLASH if said in _spellings(name, any_slash=True) else ""
        problem = f"it is about the issuer {clipped(said, 200)}, not {clipped(name, 200)}"
        raise AuthorizationError(step, place, problem, remedy)
    urls = {each: _text(found, each, step, place, needed=False) for each in _ENDPOINTS}
    for url in filter(None, urls.values()):
        check_url(url, step, insecure=reach.insecure)
    if not urls["token_endpoint"]:
        raise AuthorizationError(step, place, "it has no token_endpoint")
    authorization, token, registration, revocation, keys, introspection = urls.values()
    return Issuer(
        said,
        authorization,
        token,
        registration,
        revocation,
        methods=scopes_in(found.get("token_endpoint_auth_methods_supported")),
        scopes=scopes_in(found.get("scopes_supported")),
        has_pkce="S256" in texts_in(found.get("code_challenge_methods_supported")),
        sends_issuer=found.get("authorization_response_iss_parameter_supported") is True,
        reads_documents=found.get("client_id_metadata_document_supported") is True,
        keys=keys,
        introspection=introspection,
    )


_ENDPOINTS: Final = (
    *("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"),
    *("jwks_uri", "introspection_endpoint"),
)


_ABOUT_SLASH: Final = (
    "both must be spelled alike (RFC 8414, 3.3): correct one of them, or accept the slash with OAuth(issuer_slash=True)"
)


def _spellings(issuer: str, *, any_slash: bool) -> tuple[str, ...]:
    """Return an identifier, also with or without the slash after the origin if that may differ."""
    bare = issuer.removesuffix("/")
    return (bare, f"{bare}/") if any_slash and not urlsplit(bare).path else (issuer,)


def _document(fetched: Fetched, step: str, place: str) -> dict[str, Any]:
    """Return a document; empty if this place has none."""
    if fetched.is_temporary:
        raise AuthorizationError(step, place, f"the answer is {fetched.status}", "try again later")
    return fetched.json() if fetched.status == 200 else {}


def _text(found: dict[str, Any], name: str, step: str, place: str, *, needed: bool = True) -> str:
    value = found.get(name)
    if value is None and not needed:
        return ""
    if not isinstance(value, str) or (needed and not value):
        raise AuthorizationError(step, place, f"its {name} is missing, or not text")
    return value


def _is_parent(name: str, url: str) -> bool:
    """Whether a resource is the server, or a parent of it by whole segments of the path."""
    parent, own = _normal(name), _normal(url)
    if parent[0] != own[0] or ".." in parent[1] or "." in parent[1] or "#" in name:
        return False
    if parent[2]:
        return parent == own
    return own[1][: len(parent[1])] == parent[1]


def _normal(url: str) -> tuple[tuple[str, str, int], list[str], str]:
    """Return the origin, the segments of the path, and the query of a URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return ("", "", 0), [], ""
    userless = (parts.hostname or "") if "@" not in parts.netloc else ""
    return (parts.scheme, userless, port), parts.path.rstrip("/").split("/"), parts.query
