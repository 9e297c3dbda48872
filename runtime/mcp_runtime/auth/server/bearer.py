"""Protects an endpoint with access tokens: who may call it, and how clients learn where to get one (RFC 6750, 9728)."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from mcp_runtime.auth.client.tokens import Registered
from mcp_runtime.auth.fetching import Reach
from mcp_runtime.auth.server.keys import IssuerKeys
from mcp_runtime.auth.server.tokens import JwtTokens, OpaqueTokens
from mcp_runtime.core import sources
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.errors import InvalidToken
from mcp_runtime.core.protocol.jsonrpc import dump
from mcp_runtime.decorators import check_scope_names

Verify: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Takes an access token, and returns its owner; None if it is not valid here."""

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""The place of the metadata at the root of a server (RFC 9728, 3)."""
MAX_KNOWN: Final = 10_000
"""How many verified tokens are remembered, and how many that an issuer calls invalid."""
JWT_FOR: Final = 300.0
"""Seconds for which a verified JWT is remembered, unless it expires before."""
OPAQUE_FOR: Final = 30.0
"""Seconds for which the answer of an issuer about a token is remembered."""

_NOT_VALID: Final = "it was not issued for this server, or has expired"
_T = TypeVar("_T")


class Bearer:
    """Lets only requests with a valid access token pass: ``asgi_app(server, auth=Bearer(...))``.

    Tokens are JWTs that an issuer signed, unless `introspection` or `verify` checks them. The sender of a request is
    `Context.principal`; functions that need more than every request does are marked with
    `mcp_runtime.requires_scopes`.

    Args:
        resource: the URL of the endpoint, as clients write it: ``https://mcp.example.com/mcp``.
        issuer: the authorization server that issues the tokens, by the exact text of its ``issuer``; or several.
        scopes: the scopes that every request needs.
        audience: what ``aud`` of a token must contain, by its exact text; by default the resource.
        includes: the scopes that a scope implies, by the scope: ``{"admin": ["files:write"]}``.
        keys: the JWK set of the issuers; None to fetch what their metadata names.
        introspection: how this server authenticates to its issuer, which is asked about each token (RFC 7662).
        verify: checks tokens instead, including their audience; its results are not remembered.
        insecure: whether http is allowed beyond loopback.

    Attributes:
        resource: the same.
        scopes: the same.
        paths: the paths of its metadata on its server.

    Raises:
        ValueError: a URL is not https, or http on loopback; something is not a scope; there is no issuer; there are
            several ways to check tokens; or `introspection` is of another issuer.
        ModuleNotFoundError: the extra ``mcp-bindings[auth]`` is not installed, and JWTs are to be verified.
    """

    def __init__(
        self,
        resource: str,
        *,
        issuer: str | Iterable[str],
        scopes: Iterable[str] = (),
        audience: str | None = None,
        includes: Mapping[str, Collection[str]] | None = None,
        keys: Mapping[str, Any] | None = None,
        introspection: Registered | None = None,
        verify: Verify | None = None,
        insecure: bool = False,
    ) -> None:
        self.resource = resource
        self.scopes = tuple(scopes)
        self._issuers = (issuer,) if isinstance(issuer, str) else tuple(issuer)
        for url in (resource, *self._issuers):
            _check_url(url, insecure=insecure)
        if not self._issuers:
            raise ValueError("name at least one issuer= of tokens")
        if isinstance(scopes, str):
            raise ValueError(f"scopes: must be a collection of scopes, such as [{scopes!r}]")
        self._includes = {scope: tuple(implied) for scope, implied in (includes or {}).items()}
        check_scope_names((*self.scopes, *self._includes, *(s for each in self._includes.values() for s in each)))
        path = urlsplit(resource).path
        self._place = WELL_KNOWN + ("" if path == "/" else path)
        self.paths = frozenset((self._place, WELL_KNOWN))
        if sum(way is not None for way in (keys, introspection, verify)) > 1:
            raise ValueError("give one of keys=, introspection= and verify=")
        self._valid: dict[bytes, tuple[float, Principal]] = {}
        self._invalid: dict[bytes, tuple[float, str]] = {}
        self._known_for = 0.0
        self._opaque: OpaqueTokens | None = None
        self._verify = verify or self._own(audience or resource, keys, introspection, Reach(True, insecure))

    def __repr__(self) -> str:
        return f"Bearer({self.resource!r}, issuer={self._issuers!r}, scopes={self.scopes!r})"

    async def verify(self, token: str, address: str | None = None) -> Principal:
        """Return the owner of an access `token`, with all that its scopes imply.

        Args:
            token: the token.
            address: where it was sent from; None if nobody else can send one.

        Raises:
            InvalidToken: it is not valid here, or has expired.
            AuthorizationError: it cannot be checked now.
        """
        # Not the token itself: what is in memory may end up in a dump.
        digest, now = sha256(token.encode()).digest(), sources.now()
        known = self._valid.get(digest) or self._invalid.get(digest)
        found = known[1] if known is not None and known[0] > now else await self._checked(token, address)
        if isinstance(found, str):
            raise InvalidToken(found)
        if found.expires is not None and found.expires <= sources.wall():
            raise InvalidToken(_NOT_VALID)
        return found

    def _own(
        self, audience: str, keys: Mapping[str, Any] | None, introspection: Registered | None, reach: Reach
    ) -> Verify:
        """Return what checks tokens, unless the program does."""
        if introspection is None:
            self._known_for = JWT_FOR
            return JwtTokens({name: IssuerKeys(name, reach, keys) for name in self._issuers}, audience).verify
        if self._issuers != (introspection.issuer,):
            raise ValueError(f"introspection= is of {introspection.issuer}, which must be the only issuer")
        self._known_for = OPAQUE_FOR
        self._opaque = OpaqueTokens(introspection, audience, reach)
        return self._opaque.verify

    async def _checked(self, token: str, address: str | None) -> Principal | str:
        """Return the owner of a token, or what an issuer says is wrong with it, and remember that for a while.

        Invalid tokens, which anybody can make up, have a place of their own.
        """
        digest, until = sha256(token.encode()).digest(), sources.now() + self._known_for
        try:
            opaque = self._opaque
            found = await (self._verify(token) if opaque is None else opaque.verify(token, address))
        except InvalidToken as error:
            if self._known_for != OPAQUE_FOR:
                raise  # Checking it again costs less than its place among the others.
            _remember(self._invalid, digest, (until, str(error)))
            return str(error)
        if found is None:
            raise InvalidToken(_NOT_VALID)
        owner = replace(found, scopes=self._implied(found.scopes))
        if self._known_for:
            _remember(self._valid, digest, (until, owner))
        return owner

    def challenge(self, error: str = "", reason: str = "", scopes: Collection[str] = ()) -> bytes:
        """Return a ``WWW-Authenticate`` header, which tells clients where to get a token, and for which scopes.

        Args:
            error: the error code of RFC 6750; empty if there was no token.
            reason: what is wrong, for people.
            scopes: the scopes that the request needs, besides those that all need.
        """
        origin = self.resource[: len(self.resource) - len(urlsplit(self.resource).path)]
        said = {
            "error": error,
            "error_description": "".join(ch for ch in reason if " " <= ch <= "~" and ch not in '"\\'),
            "scope": " ".join(dict.fromkeys((*self.scopes, *scopes))),
            "resource_metadata": f"{origin}{self._place}",
        }
        return ("Bearer " + ", ".join(f'{name}="{value}"' for name, value in said.items() if value)).encode("ascii")

    async def metadata_app(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer every path with the metadata of the resource (RFC 9728): ASGI's `scope`, `receive` and `send`.

        `serve_http` and an `asgi_app` that is the whole application serve it themselves. Elsewhere, route
        ``/.well-known/oauth-protected-resource`` and what is below it here.
        """
        is_read = scope["method"] in ("GET", "HEAD")
        body = self._metadata if is_read else b""
        own = (
            [(b"content-type", b"application/json"), (b"cache-control", b"max-age=300")]
            if is_read
            else [(b"allow", b"GET, HEAD")]
        )
        headers = [(b"content-length", b"%d" % len(body)), *own]
        await send({"type": "http.response.start", "status": 200 if is_read else 405, "headers": headers})
        await send({"type": "http.response.body", "body": body if scope["method"] == "GET" else b""})

    @cached_property
    def _metadata(self) -> bytes:
        said: dict[str, Any] = {
            "resource": self.resource,
            "authorization_servers": self._issuers,
            "bearer_methods_supported": ["header"],
        }
        return dump({**said, "scopes_supported": self.scopes} if self.scopes else said)

    def _implied(self, scopes: frozenset[str]) -> frozenset[str]:
        """Return scopes with all that they imply, directly or not."""
        found, new = set(scopes), list(scopes)
        while new:
            more = [scope for scope in self._includes.get(new.pop(), ()) if scope not in found]
            found.update(more)
            new += more
        return frozenset(found)


def _remember(known: dict[bytes, _T], digest: bytes, what: _T) -> None:
    known.pop(digest, None)
    known[digest] = what
    if len(known) > MAX_KNOWN:
        del known[next(iter(known))]


def _check_url(url: str, *, insecure: bool) -> None:
    parts = urlsplit(url)
    if (
        parts.scheme not in ("https", "http")
        or not parts.hostname
        or "@" in parts.netloc
        or not url.isascii()
        or not all(ch.isprintable() and ch not in ' "\\<>?#' for ch in url)
    ):
        raise ValueError(f"{url!r} is not a URL of a server: it has a scheme, a host and perhaps a path, and no more")
    if parts.scheme == "http" and not insecure and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError(f"{url!r} must be https; insecure=True allows http, for tests")
