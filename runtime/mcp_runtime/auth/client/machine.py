"""Tokens without a person: client credentials and assertions (extensions of 2026-07-28 on authorization)."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

from mcp_runtime.auth.client.authorizer import Authorizer
from mcp_runtime.auth.client.discovery import Issuer
from mcp_runtime.auth.client.store import Store
from mcp_runtime.auth.client.tokens import Registered, Token, method_for, request_token
from mcp_runtime.auth.fetching import Reach
from mcp_runtime.core import sources

LIFETIME: Final = 60
"""Seconds for which an assertion of a client is valid."""
_ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ALGORITHMS: Final = {"RSA": "RS256", "P-256": "ES256", "P-384": "ES384", "P-521": "ES512"}


class _Machine(Authorizer):
    """Obtains tokens by a grant that can be repeated at any time."""

    async def _renewal(self, held: Token) -> dict[str, str] | None:
        return await self._form(held)

    async def _grant(self, issuer: Issuer, blank: Token, reach: Reach) -> Token:
        assert self._given is not None
        method = self._given.method or method_for(self._given.secret, issuer.methods)
        token = replace(blank, client=replace(self._given, issuer=issuer.name, method=method))
        return await request_token(token, await self._form(token), reach)

    async def _form(self, token: Token) -> dict[str, str]:
        """Return the grant."""
        raise NotImplementedError


class ClientCredentials(_Machine):
    """Obtains tokens for a program of its own, not for a person (extension ``oauth-client-credentials``).

    Args:
        id: the id of the client.
        issuer: the identifier of the issuer that knows it; its credentials are used with no other one.
        secret: its secret.
        key: its private key instead, as PEM or JWK, which signs an assertion. Needs the extra ``mcp-bindings[auth]``.
        store: keeps tokens; in memory by default.
        send_resource: whether requests name the server as the resource (RFC 8707).
        insecure: whether http is allowed beyond loopback, for tests.

    Raises:
        ValueError: there is not exactly one of a secret and a key, or the key is of an unknown kind.
        ModuleNotFoundError: there is a key, and the extra is not installed.
    """

    extension = "io.modelcontextprotocol/oauth-client-credentials"

    def __init__(
        self,
        id: str,
        *,
        issuer: str,
        secret: str = "",
        key: "str | bytes | dict[str, Any] | None" = None,
        store: Store | None = None,
        send_resource: bool = True,
        insecure: bool = False,
    ) -> None:
        if bool(secret) == bool(key):
            raise ValueError("a client has either a secret or a key")
        super().__init__(Registered(id, issuer, secret), store, send_resource=send_resource, insecure=insecure)
        self._key = _Key(key) if key else None

    async def _form(self, token: Token) -> dict[str, str]:
        form = {"grant_type": "client_credentials"}
        if token.scopes:
            form["scope"] = " ".join(token.scopes)
        if self._key is not None:
            form["client_assertion_type"] = _ASSERTION
            form["client_assertion"] = self._key.assertion(token.client.id, token.issuer)
        return form


class JwtBearer(_Machine):
    """Exchanges an assertion of an identity provider or a workload platform for tokens (RFC 7523).

    Args:
        id: the id of the client.
        issuer: the identifier of the issuer that accepts the assertion; it is sent to no other one.
        assertion: returns the assertion, a JWT, given the issuer and the resource that it is for.
        secret: the secret of the client; may be empty.
        is_workload: whether the assertion identifies the workload that the client runs as. Otherwise it is that of a
            person in an enterprise, which is declared (extension ``enterprise-managed-authorization``).
        store: keeps tokens; in memory by default.
        send_resource: whether requests name the server as the resource (RFC 8707).
        insecure: whether http is allowed beyond loopback, for tests.
    """

    def __init__(
        self,
        id: str,
        *,
        issuer: str,
        assertion: Callable[[str, str], Awaitable[str]],
        secret: str = "",
        is_workload: bool = False,
        store: Store | None = None,
        send_resource: bool = True,
        insecure: bool = False,
    ) -> None:
        super().__init__(Registered(id, issuer, secret), store, send_resource=send_resource, insecure=insecure)
        self.extension = "" if is_workload else "io.modelcontextprotocol/enterprise-managed-authorization"
        self._assertion = assertion

    async def _form(self, token: Token) -> dict[str, str]:
        form = {"grant_type": _JWT_BEARER, "assertion": await self._assertion(token.issuer, token.resource)}
        return {**form, "scope": " ".join(token.scopes)} if token.scopes else form


class _Key:
    """Signs assertions of a client (RFC 7523, 3)."""

    def __init__(self, key: str | bytes | dict[str, Any]) -> None:
        from joserfc.errors import JoseError
        from joserfc.jwk import ECKey, RSAKey

        kinds: tuple[Any, ...] = (ECKey, RSAKey)
        for kind in kinds:
            with suppress(JoseError, ValueError, TypeError):
                self._key: Any = kind.import_key(key)
                public: dict[str, Any] = self._key.as_dict(private=False)
                self._algorithm = _ALGORITHMS.get(public.get("crv", public["kty"]), "")
                if self._algorithm and self._key.is_private:
                    return
        raise ValueError("the key is not a private key of a kind that signs: RSA, or EC of NIST")

    def assertion(self, id_: str, issuer: str) -> str:
        """Return an assertion for one use."""
        from joserfc import jwt

        now = int(sources.wall())
        claims = {
            "iss": id_,
            "sub": id_,
            "aud": issuer,
            "iat": now,
            "exp": now + LIFETIME,
            "jti": sources.token_hex(16),
        }
        return jwt.encode({"alg": self._algorithm}, claims, self._key, algorithms=[self._algorithm])
