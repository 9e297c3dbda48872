"""What a protected server and its issuer say about themselves decides how a client signs in."""

import json
from typing import Any

import pytest

from mcp_bindings import v2025_11_25
from mcp_runtime.auth import OAuth
from mcp_runtime.auth.client.discovery import Challenge, find_issuer, find_resource, scopes_in
from mcp_runtime.auth.fetching import Reach
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.protected import Protected

ROOT = "/.well-known/oauth-protected-resource"
OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
HERE = Reach(private=True)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", Challenge()),
        ("Bearer", Challenge()),
        ('Bearer realm="x", scope="a b"', Challenge(scopes=("a", "b"))),
        ('bearer ERROR="invalid_token",Scope=""', Challenge("invalid_token", ())),
        ('Bearer error=insufficient_scope, scope="a\\"b c"', Challenge("insufficient_scope", ("c",))),
        (
            'Basic realm="scope=x", Bearer resource_metadata="https://a.example/m", scope="a", scope="b"',
            Challenge("", ("a",), "https://a.example/m"),
        ),
        ('Bearer scope="a", DPoP scope="b", error="c"', Challenge("", ("a",))),
        ('Negotiate abc==, Digest scope="b"', Challenge()),
        ("Bearer " + 'scope="' + "x " * 100_000, Challenge()),
        ('Bearer scope="a a b"', Challenge("", ("a", "b"))),
        ('Bearer scope="a' + chr(7) + ' b"', Challenge("", ("b",))),
    ],
)
def test_a_challenge_is_read(header: str, found: Challenge) -> None:
    assert Challenge.of(header) == found


async def opened(server: Protected, issuer: Issuer) -> None:
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        await v2025_11_25.Client.open(peer)


@pytest.mark.parametrize("number", [256, 257, 5_000])
def test_at_most_256_scopes_are_read(number: int) -> None:
    scopes = tuple(f"s{each}" for each in range(number))
    assert scopes_in([*scopes]) == scopes[:256]


def wells(server: Protected) -> list[str]:
    """Return which metadata the server was asked for, in order."""
    return [path for _, path, _ in server.requests if "well-known" in path]


@pytest.mark.requirement("signing-in.resource-metadata")
async def test_the_metadata_that_the_challenge_names_comes_first(server: Protected, issuer: Issuer) -> None:
    named = "/.well-known/elsewhere"
    server.challenge = f'resource_metadata="{server.url.replace("/mcp", named)}"'
    server.documents[named] = 200, json.dumps(server.metadata).encode()
    await opened(server, issuer)
    assert wells(server) == [named]


@pytest.mark.requirement("signing-in.resource-metadata")
async def test_then_the_path_and_then_the_root(server: Protected, issuer: Issuer) -> None:
    server.documents[ROOT] = 200, json.dumps({**server.metadata, "resource": server.url[:-4]}).encode()
    server.metadata = {}
    server.url, own = server.url[:-4], server.url
    async with connect_http(own, auth=OAuth(visit=issuer.visit)) as peer:
        await v2025_11_25.Client.open(peer)
    assert wells(server) == [f"{ROOT}/mcp", ROOT]
    assert issuer.count("/authorize", resource=own[:-4]) == 1


async def test_html_is_not_metadata(server: Protected, issuer: Issuer) -> None:
    server.documents[f"{ROOT}/mcp"] = 200, b"<!doctype html><title>All pages</title>"
    server.documents[ROOT] = 200, json.dumps(server.metadata).encode()
    await opened(server, issuer)
    assert wells(server) == [f"{ROOT}/mcp", ROOT]


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_server_that_is_busy_has_not_said_that_it_has_no_metadata(
    server: Protected, issuer: Issuer, status: int
) -> None:
    server.documents[f"{ROOT}/mcp"] = status, b""
    with pytest.raises(AuthorizationError, match=f"the answer is {status}; try again later"):
        await opened(server, issuer)
    assert wells(server) == [f"{ROOT}/mcp"]
    assert issuer.requests == []


@pytest.mark.parametrize(
    "resource",
    [
        "https://other.example/mcp",
        "{origin}/mc",
        "{origin}/mcp/more",
        "{origin}/mcp?a=b",
        "{origin}/mcp#a",
        "{origin}/./mcp/..",
        "http://user@127.0.0.1/mcp",
        "",
        12,
        None,
    ],
)
async def test_metadata_of_another_server_is_refused(server: Protected, issuer: Issuer, resource: Any) -> None:
    origin = server.url.removesuffix("/mcp")
    server.metadata["resource"] = resource.format(origin=origin) if isinstance(resource, str) else resource
    with pytest.raises(AuthorizationError, match="reading the metadata of the server"):
        await opened(server, issuer)
    assert issuer.requests == []


@pytest.mark.parametrize("issuers", [None, [], "https://login.example.com", [12], {}])
async def test_metadata_without_issuers_is_refused(server: Protected, issuer: Issuer, issuers: Any) -> None:
    server.metadata["authorization_servers"] = issuers
    with pytest.raises(AuthorizationError, match="names no authorization servers"):
        await opened(server, issuer)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("javascript:alert(1)", "not an https URL"),
        ("http://login.example.com", "not https"),
        ("https://u:p@login.example.com", "a user or password"),
        ("http://127.0.0.1:1/x?tenant=1", "no query"),
    ],
)
async def test_the_url_of_an_issuer_is_checked(server: Protected, issuer: Issuer, url: str, reason: str) -> None:
    server.metadata["authorization_servers"] = [url]
    with pytest.raises(AuthorizationError, match=reason):
        await opened(server, issuer)


@pytest.mark.requirement("signing-in.https")
@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
@pytest.mark.parametrize("url", ["javascript:alert(1)", "http://example.com/x", "https://u:p@example.com/", 12])
async def test_the_endpoints_of_an_issuer_are_checked(server: Protected, issuer: Issuer, name: str, url: Any) -> None:
    issuer.metadata[name] = url
    with pytest.raises(AuthorizationError, match="reading the metadata of the issuer"):
        await opened(server, issuer)
    assert issuer.requests == []


@pytest.mark.requirement("signing-in.issuer-metadata-validated")
@pytest.mark.parametrize("suffix", ["/", "/x", "#"])
async def test_metadata_of_another_issuer_is_refused(server: Protected, issuer: Issuer, suffix: str) -> None:
    issuer.metadata["issuer"] = issuer.url + suffix
    with pytest.raises(AuthorizationError, match="it is about the issuer"):
        await opened(server, issuer)
    assert issuer.requests == []


@pytest.mark.requirement("signing-in.issuer-metadata")
async def test_an_issuer_with_a_path_is_asked_in_three_places(server: Protected) -> None:
    origin = server.url.removesuffix("/mcp")
    places = [f"{OAUTH}/t", f"{OPENID}/t", f"/t{OPENID}"]
    with pytest.raises(AuthorizationError, match="it has no metadata"):
        await find_issuer(f"{origin}/t", HERE)
    assert [path for _, path, _ in server.requests] == places
    metadata = {"issuer": f"{origin}/t", "token_endpoint": f"{origin}/token"}
    server.documents[places[1]] = 200, json.dumps(metadata).encode()
    found = await find_issuer(f"{origin}/t", HERE)
    assert (found.name, found.token, found.has_pkce) == (f"{origin}/t", f"{origin}/token", False)


@pytest.mark.requirement("signing-in.old-servers")
async def test_without_any_metadata_the_origin_is_the_issuer(server: Protected) -> None:
    """As in 2025-03-26: with the metadata of an issuer, or with fixed paths."""
    origin, server.metadata = server.url.removesuffix("/mcp"), {}
    resource = await find_resource(server.url, Challenge(), HERE)
    assert (resource.name, resource.issuers, resource.is_old) == (server.url, (origin,), True)
    issuer = await find_issuer(origin, HERE, is_old=True)
    ends = (issuer.authorization, issuer.token, issuer.registration)
    assert ends == (f"{origin}/authorize", f"{origin}/token", f"{origin}/register")
    metadata = {"issuer": f"{origin}/", "token_endpoint": f"{origin}/t"}
    server.documents[OAUTH] = 200, json.dumps(metadata).encode()
    assert (await find_issuer(origin, HERE, is_old=True)).token == f"{origin}/t"


async def test_a_public_server_cannot_make_a_client_reach_a_private_network(server: Protected) -> None:
    with pytest.raises(AuthorizationError, match="not public"):
        await find_resource("https://1.1.1.1/mcp", Challenge(metadata="https://10.0.0.1/"), Reach())
