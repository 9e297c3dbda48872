"""Programs obtain tokens without a person (extensions of 2026-07-28 on authorization)."""

import asyncio
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from joserfc import jwt
from joserfc.jwk import import_key

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.auth import ClientCredentials, JwtBearer
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.protected import Protected

CREDENTIALS = "io.modelcontextprotocol/oauth-client-credentials"
ENTERPRISE = "io.modelcontextprotocol/enterprise-managed-authorization"


async def opened(server: Protected, auth: Any) -> dict[str, Any]:
    """Open a conversation, and return what the client has declared."""
    async with connect_http(server.url, auth=auth) as peer:
        client = await v2026_07_28.Client.open(peer)
        await client.list_tools()
        meta: Any = client.connection.requester.meta
    declared: dict[str, Any] = meta["io.modelcontextprotocol/clientCapabilities"]
    found: dict[str, Any] = declared.get("extensions", {})
    return found


async def test_a_client_with_a_secret(server: Protected, issuer: Issuer) -> None:
    server.metadata["scopes_supported"] = ["read"]
    assert await opened(server, ClientCredentials("it", issuer=issuer.url, secret="s:1")) == {CREDENTIALS: {}}
    assert [path for path, _ in issuer.requests] == ["/token"]
    assert issuer.count("/token", client_id="it", client_secret="s:1", scope="read", resource=server.url) == 1


async def test_a_secret_is_posted_where_the_issuer_wants_that(server: Protected, issuer: Issuer) -> None:
    issuer.metadata["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    await opened(server, ClientCredentials("it", issuer=issuer.url, secret="s:1"))
    assert issuer.count("/token", client_id="it", client_secret="s:1") == 1


@pytest.mark.parametrize(
    ("key", "algorithm"),
    [
        (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ec.generate_private_key(ec.SECP384R1()), "ES384"),
        (rsa.generate_private_key(65537, 2048), "RS256"),
    ],
)
async def test_a_client_with_a_key(server: Protected, issuer: Issuer, key: Any, algorithm: str) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    await opened(server, ClientCredentials("it", issuer=issuer.url, key=pem))
    form = next(form for path, form in issuer.requests if path == "/token")
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    token = jwt.decode(
        form["client_assertion"], import_key(public, "RSA" if algorithm == "RS256" else "EC"), algorithms=[algorithm]
    )
    assert token.header["alg"] == algorithm
    assert {name: token.claims[name] for name in ("iss", "sub", "aud")} == {"iss": "it", "sub": "it", "aud": issuer.url}
    assert 0 < token.claims["exp"] - time.time() <= 60
    assert form["client_id"] == "it"
    assert "client_secret" not in form


async def test_a_token_is_obtained_again_when_it_expires(server: Protected, issuer: Issuer) -> None:
    issuer.lifetime = 0.2
    auth = ClientCredentials("it", issuer=issuer.url, secret="s")
    await opened(server, auth)
    server.requests.clear()
    await asyncio.sleep(0.2)
    await opened(server, auth)
    assert all(token for method, _, token in server.requests if method == "POST")


@pytest.mark.parametrize(("is_workload", "declared"), [(False, {ENTERPRISE: {}}), (True, {})])
async def test_an_assertion_is_exchanged(
    server: Protected, issuer: Issuer, is_workload: bool, declared: dict[str, Any]
) -> None:
    asked: list[tuple[str, str]] = []

    async def assertion(issuer: str, resource: str) -> str:
        asked.append((issuer, resource))
        return "a.b.c"

    auth = JwtBearer("it", issuer=issuer.url, assertion=assertion, is_workload=is_workload)
    assert await opened(server, auth) == declared
    assert asked == [(issuer.url, server.url)]
    assert issuer.count("/token", assertion="a.b.c", client_id="it") == 1


async def test_legacy_revisions_have_no_extensions(server: Protected, issuer: Issuer) -> None:
    async with connect_http(server.url, auth=ClientCredentials("it", issuer=issuer.url, secret="s")) as peer:
        client = await v2025_11_25.Client.open(peer)
        assert "extensions" not in client.connection.declared[client.connection.side]


async def test_credentials_are_sent_to_their_issuer_only(server: Protected, issuer: Issuer) -> None:
    auth = ClientCredentials("it", issuer="https://login.example.com", secret="s3cret")
    with pytest.raises(AuthorizationError, match=r"not https://login\.example\.com"):
        await opened(server, auth)
    assert issuer.requests == []
    assert "s3cret" not in f"{auth!r}{vars(auth)}"


async def test_a_bridged_client_declares_it_too(server: Protected, issuer: Issuer) -> None:
    auth = ClientCredentials("it", issuer=issuer.url, secret="s")
    seen: list[bytes] = []
    inner = server.app

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        async def received() -> Any:
            message = await receive()
            seen.append(message.get("body", b""))
            return message

        await inner(scope, received, send)

    server.app = watched
    await opened(server, auth)
    assert all(CREDENTIALS.encode() in body for body in seen if body)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="either a secret or a key"):
        ClientCredentials("it", issuer="https://a.example")
    with pytest.raises(ValueError, match="not a private key"):
        ClientCredentials("it", issuer="https://a.example", key={"kty": "oct", "k": "AAAA"})
