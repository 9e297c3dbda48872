"""Access tokens as JWTs: their signature, their issuer, their audience, and when they are valid (RFC 7519, 9068)."""

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.auth.client.discovery import find_issuer
from mcp_runtime.auth.client.store import Shared
from mcp_runtime.auth.client.tokens import Registered, post_form
from mcp_runtime.auth.fetching import Reach
from mcp_runtime.auth.server.keys import ALGORITHMS, IssuerKeys
from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Pool
from mcp_runtime.core.connection.requester import Principal
from mcp_runtime.core.errors import AuthorizationError, InvalidToken
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.protocol.jsonrpc import Fault, parse

if TYPE_CHECKING:
    from joserfc.jwk import Key

SKEW: Final = 30.0
"""Seconds by which the clocks of an issuer and a server may differ."""
MAX_ASKED: Final = 20
"""How many tokens an issuer is asked about at the same time; half of them for one address."""
_ASKING: Final = "asking the issuer about a token"
TYPES: Final = frozenset(("", "jwt", "at+jwt", "application/at+jwt"))
"""The accepted types of tokens, in lower case."""
_COMPACT: Final = re.compile(r"([\w-]+)\.([\w-]+)\.[\w-]+", re.ASCII)
_END: Final = 1e12
"""A time that no token reaches, in seconds since the epoch."""


class JwtTokens:
    """Verifies JWTs.

    Args:
        keys: the keys of each issuer whose tokens are accepted.
        audience: what ``aud`` must contain.
    """

    def __init__(self, keys: Mapping[str, IssuerKeys], audience: str) -> None:
        self._keys = keys
        self._audience = audience

    async def verify(self, token: str) -> Principal:
        """Return the owner of a token.

        Raises:
            InvalidToken: it is not valid here, or has expired.
            AuthorizationError: the keys of its issuer are not known now.
        """
        parts = _COMPACT.fullmatch(token)
        if parts is None:
            raise InvalidToken("it is not a signed JWT")
        header, claims = _decoded(parts[1]), _decoded(parts[2])
        algorithm, kid = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
            raise InvalidToken("its algorithm is not accepted")
        if "crit" in header or "b64" in header:
            raise InvalidToken("it has critical headers")
        if not isinstance(type_ := header.get("typ", ""), str) or type_.lower() not in TYPES:
            raise InvalidToken("it is of another type than access tokens")
        issuer: Any = claims.get("iss")
        if not isinstance(issuer, str) or issuer not in self._keys:
            raise InvalidToken("its issuer is not one of this server's")
        keys = await self._keys[issuer].find(algorithm, kid)
        if not any(_is_signed(token, key, algorithm) for key in keys):
            raise InvalidToken("no key of its issuer verifies its signature")
        if claims.get("exp") is None:
            raise InvalidToken("it does not say when it expires")
        return principal_of(claims, issuer, self._audience)


class OpaqueTokens:
    """Asks an issuer about tokens (RFC 7662).

    Args:
        client: how this server authenticates to the issuer.
        audience: what ``aud`` of the answer must contain.
        reach: which URLs may be fetched.
    """

    def __init__(self, client: Registered, audience: str, reach: Reach) -> None:
        self._client = client
        self._audience = audience
        self._reach = reach
        self._endpoint = ""
        self._asking = Shared[Principal]()
        self._questions = Pool(MAX_ASKED)

    async def verify(self, token: str, address: str | None = None) -> Principal:
        """Return the owner of a token, which may be sent from an address.

        Raises:
            InvalidToken: it is not valid here, or has expired.
            AuthorizationError: the issuer cannot be asked now, perhaps since it is asked about too many tokens.
        """
        return (await self._asking.run(token, lambda: self._counted(token, address)))[0]

    async def _counted(self, token: str, address: str | None) -> Principal:
        if not self._questions.take(address):
            raise AuthorizationError(_ASKING, self._client.issuer, "it is being asked about too many others")
        try:
            return await self._ask(token)
        finally:
            self._questions.add(address, -1)

    async def _ask(self, token: str) -> Principal:
        issuer = self._client.issuer
        if not self._endpoint:
            self._endpoint = (await find_issuer(issuer, self._reach)).introspection
        if not self._endpoint:
            raise AuthorizationError(_ASKING, issuer, "its metadata has no introspection_endpoint")
        answer = await post_form(self._endpoint, _ASKING, {"token": token}, self._client, self._reach)
        if answer.get("active") is not True:
            raise InvalidToken("it is not active")
        if answer.get("iss", issuer) != issuer:
            raise InvalidToken("its issuer is not one of this server's")
        return principal_of(answer, issuer, self._audience)


def principal_of(claims: Mapping[str, Any], issuer: str, audience: str) -> Principal:
    """Return the owner of a token, given its claims, after checking that they are meant for this server, and now.

    Args:
        claims: what the issuer says, keyed by the names of the claims; of a JWT or of an introspection.
        issuer: the issuer.
        audience: what ``aud`` must contain.

    Raises:
        InvalidToken: they are not valid here, or have expired.
    """
    meant: Any = claims.get("aud")
    if meant != audience and not (is_array(meant) and audience in meant):
        raise InvalidToken("its audience is not this server")
    now, expires, begins = sources.wall(), _moment(claims, "exp"), _moment(claims, "nbf")
    if expires is not None and expires + SKEW <= now:
        raise InvalidToken("it has expired")
    if begins is not None and begins - SKEW > now:
        raise InvalidToken("it is not valid yet")
    if "cnf" in claims:
        raise InvalidToken("it is bound to a key of its client, which is not supported here")
    subject, client = _text(claims, "sub"), _text(claims, "client_id") or _text(claims, "azp")
    if not subject and not client:
        raise InvalidToken("it names neither a subject nor a client")
    end = None if expires is None else expires + SKEW
    return Principal(subject, issuer, client, _scopes(claims), end, claims)


def _is_signed(token: str, key: "Key", algorithm: str) -> bool:
    from joserfc.jws import JWSRegistry, deserialize_compact

    registry = JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    try:
        deserialize_compact(token, key, registry=registry)
    except Exception:  # The bytes are a stranger's: whatever the libraries say of them, nothing is verified.
        return False
    return True


def _decoded(part: str) -> dict[str, Any]:
    try:
        value = parse(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (Fault, ValueError):
        raise InvalidToken("it is not a signed JWT") from None
    if not is_object(value):
        raise InvalidToken("it is not a signed JWT")
    return value


def _moment(claims: Mapping[str, Any], name: str) -> float | None:
    """Return a time, in seconds since the epoch."""
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _END:
        raise InvalidToken(f"its {name} is not a time")
    return float(value)


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name, "")
    if not isinstance(value, str):
        raise InvalidToken(f"its {name} is not a string")
    return value


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """Return the scopes: text with blanks (RFC 8693), or a list of texts; some issuers call them ``scp``."""
    given: Any = claims.get("scope", claims.get("scp", ""))
    found: Any = given.split(" ") if isinstance(given, str) else given
    if not is_array(found) or not all(isinstance(scope, str) for scope in found):
        raise InvalidToken("its scopes are not text")
    return frozenset(str(scope) for scope in found if scope)
