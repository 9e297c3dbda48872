"""The keys of an issuer: fetched when a token needs them, and rarely again (RFC 7517, 8414)."""

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.auth.client.discovery import find_issuer
from mcp_runtime.auth.client.store import Shared
from mcp_runtime.auth.fetching import Reach, fetch
from mcp_runtime.core import sources
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.json.values import is_array, is_object

if TYPE_CHECKING:
    from joserfc.jwk import Key

log: Final = logging.getLogger("mcp_runtime")

ALGORITHMS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    **dict.fromkeys(("EdDSA", "Ed25519", "Ed448"), "OKP"),
}
"""The accepted algorithms, and the type of their keys. All are asymmetric: a server that can verify cannot sign."""
MAX_KEYS: Final = 100
"""How many keys of an issuer are read."""
AGAIN: Final = 60.0
"""Seconds after which keys may be fetched again, for a token that names an unknown one."""
MAX_AGE: Final = 600.0
"""Seconds for which keys are used; then one that the issuer has withdrawn is forgotten."""
RETRY: Final = 5.0
"""Seconds after which an issuer is asked again while none of its keys are known."""
_READING: Final = "reading the keys of the issuer"
_PUBLIC: Final = frozenset(("kty", "kid", "alg", "n", "e", "crv", "x", "y"))
"""The parameters of public keys that are used."""


class IssuerKeys:
    """The keys of one issuer.

    Args:
        issuer: its identifier.
        reach: which URLs may be fetched.
        given: its JWK set; None to fetch it.
    """

    def __init__(self, issuer: str, reach: Reach, given: Mapping[str, Any] | None) -> None:
        self._issuer = issuer
        self._reach = reach
        self._is_fixed = given is not None
        self._keys = read_keys(given or {})
        self._fetched = self._tried = float("-inf")
        self._error: AuthorizationError | None = None
        self._fetching = Shared[None]()

    async def find(self, algorithm: str, kid: object) -> "list[Key]":
        """Return the keys that may have signed a token.

        Args:
            algorithm: the algorithm of the token.
            kid: the id of the key; None if the token names none.

        Raises:
            AuthorizationError: no keys are known, and they cannot be fetched now.
        """
        found = [key for key in self._keys if _fits(key, algorithm, kid)]
        now = sources.now()
        if self._is_fixed or (found and now - self._fetched < MAX_AGE):
            return found
        await self._fetching.run("", self._fetch)
        if not self._keys and self._error is not None:
            raise self._error.with_traceback(None)
        return [key for key in self._keys if _fits(key, algorithm, kid)]

    async def _fetch(self) -> None:
        if sources.now() - self._tried < (AGAIN if self._keys else RETRY):
            return
        self._tried = sources.now()
        try:
            issuer = await find_issuer(self._issuer, self._reach)
            if not issuer.keys:
                raise AuthorizationError(_READING, self._issuer, "its metadata has no jwks_uri", "pass keys=")
            answer = await fetch(issuer.keys, _READING, self._reach)
            keys = read_keys(answer.json()) if answer.status == 200 else []
            if not keys:
                problem = f"the answer ({answer.status}) has no keys for signatures"
                raise AuthorizationError(_READING, issuer.keys, problem)
        except AuthorizationError as error:
            self._error = error
            if self._keys:
                log.warning("the keys of an issuer are not current: %s", error)
        else:
            self._keys, self._fetched, self._error = keys, sources.now(), None


def read_keys(jwks: Mapping[str, Any]) -> "list[Key]":
    """Return the public keys of a JWK set that verify signatures; others are ignored.

    Raises:
        ModuleNotFoundError: the extra ``mcp-bindings[auth]`` is not installed.
    """
    try:
        from joserfc.jwk import import_key  # It takes 0.17 s.
    except ModuleNotFoundError as error:
        message = f"tokens need {error.name}: pip install 'mcp-bindings[auth]'"
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


def _fits(key: "Key", algorithm: str, kid: object) -> bool:
    """Whether a key may have signed a token: a token without a key id, or a key without one, fits all."""
    named = key.get("kid")
    return (
        key.key_type == ALGORITHMS[algorithm]
        and key.get("alg", algorithm) == algorithm
        and (kid is None or named is None or kid == named)
    )
