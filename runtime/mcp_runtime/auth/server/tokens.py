"""Access tokens as JWTs: their signature, their issuer, their audience, and when they are valid (RFC 7519, 9068)."""

import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.connection.requester import Principal
from mcp_runtime.errors import InvalidToken
from mcp_runtime.protocol.jsonrpc import Fault, is_array, is_object, parse

if TYPE_CHECKING:
    from joserfc.jwk import Key

SKEW: Final = 30.0
"""Seconds by which the clocks of an issuer and a server may differ."""
ALGORITHMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519", "Ed448"), "OKP"),
}
"""The accepted algorithms, and the type of their keys. All are asymmetric: who can verify cannot sign."""
TYPES: Final = frozenset(("", "jwt", "at+jwt", "application/at+jwt"))
"""The accepted types of tokens, in lower case."""
_COMPACT: Final = re.compile(r"([\w-]+)\.([\w-]+)\.[\w-]+", re.ASCII)
_END: Final = 1e12
"""A time that no token reaches, in seconds since the epoch."""
MAX_KEYS: Final = 100
"""How many keys of an issuer are read."""


class JwtTokens:
    """Verifies JWTs.

    Args:
        issuers: the issuers whose tokens are accepted.
        audience: what ``aud`` must contain.
        keys: the JWK set of the issuers.
    """

    def __init__(self, issuers: Sequence[str], audience: str, keys: Mapping[str, Any] | None) -> None:
        self._issuers = issuers
        self._audience = audience
        self._keys = read_keys(keys or {})

    async def verify(self, token: str) -> Principal:
        """Return the owner of a token.

        Raises:
            InvalidToken: it is not valid here, or has expired.
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
        issuer = claims.get("iss")
        if issuer not in self._issuers:
            raise InvalidToken("its issuer is not one of this server's")
        keys = [key for key in self._keys if _fits(key, algorithm, kid)]
        if not any(_is_signed(token, key, algorithm) for key in keys):
            raise InvalidToken("no key of its issuer verifies its signature")
        return principal_of(claims, str(issuer), self._audience)


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
    now, expires, begins = time.time(), _moment(claims, "exp"), _moment(claims, "nbf")
    if expires is None or expires + SKEW <= now:
        raise InvalidToken("it has expired" if expires is not None else "it does not say when it expires")
    if begins is not None and begins - SKEW > now:
        raise InvalidToken("it is not valid yet")
    if "cnf" in claims:
        raise InvalidToken("it is bound to a key of its client, which is not supported here")
    subject, client = _text(claims, "sub"), _text(claims, "client_id") or _text(claims, "azp")
    if not subject and not client:
        raise InvalidToken("it names neither a subject nor a client")
    return Principal(subject, issuer, client, _scopes(claims), expires + SKEW, claims)


def read_keys(jwks: Mapping[str, Any]) -> "list[Key]":
    """Return the public keys of a JWK set that may verify signatures; others are ignored.

    Raises:
        ModuleNotFoundError: the extra ``mcp-bindgen[auth]`` is not installed.
    """
    try:
        from joserfc.jwk import import_key  # It takes 0.17 s.
    except ModuleNotFoundError as error:
        message = f"tokens need {error.name}: pip install 'mcp-bindgen[auth]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    found: list[Key] = []
    entries: Any = jwks.get("keys")
    for entry in entries[:MAX_KEYS] if is_array(entries) else ():
        if not is_object(entry) or entry.get("kty") not in ALGORITHMS.values() or entry.get("use", "sig") != "sig":
            continue
        try:
            found.append(import_key({name: entry[name] for name in entry.keys() & _PUBLIC}))
        except Exception:  # Whatever the library says of it, another key may be the right one.
            continue
    return found


_PUBLIC: Final = frozenset(("kty", "kid", "alg", "n", "e", "crv", "x", "y"))
"""The parameters of public keys that are used."""


def _fits(key: "Key", algorithm: str, kid: object) -> bool:
    """Whether a key may have signed a token: a token without a key id, or a key without one, fits all."""
    named = key.get("kid")
    return (
        key.key_type == ALGORITHMS[algorithm]
        and key.get("alg", algorithm) == algorithm
        and (kid is None or named is None or kid == named)
    )


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
