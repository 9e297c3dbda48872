"""Who may call a protected server: tokens, challenges, and the metadata that they point to."""

import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.auth import Bearer, InvalidToken, Principal
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.web_server import sse_app
from support.http import BOTH, SESSION, call, hello, raw_client, request
from support.http_modern import called, modern_client
from support.http_server import chatty
from support.tokens import ISSUER, RESOURCE, bearer, claims, ec_key, signed

NEWEST = "2025-11-25"
KEY = ec_key()
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"


def app(**options: Any) -> mcp.App:
    made = mcp.App("files", **options)

    @made.tool()
    def who(ctx: mcp.Context) -> str:
        """Say who calls."""
        principal = ctx.principal
        assert principal is not None
        return f"{ctx.requester.principal} {principal.client} {' '.join(sorted(principal.scopes))}"

    @made.tool()
    def headers(ctx: mcp.Context) -> str:
        """Return all that the transport knows."""
        return f"{dict(ctx.requester.headers)} {ctx.requester!r} {ctx.principal!r}"

    return made


@asynccontextmanager
async def protected(**options: Any) -> AsyncGenerator[httpx2.AsyncClient]:
    async with modern_client(asgi_app(app(), auth=bearer(KEY, **options))) as client:
        yield client.http


def anybody(scope: Any) -> str:
    return "x"


def with_token(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def said(endpoint: Any, message: Any, **headers: str) -> httpx2.Response:
    async with modern_client(endpoint) as client:
        return await client.post(message, **headers)


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_token_is_a_sender(era: str) -> None:
    endpoint = asgi_app(app(), auth=bearer(KEY))
    token = with_token(signed(KEY, claims(scope="files:read files:write")))
    if era == "modern":
        answer = await said(endpoint, called("who"), **token)
    else:
        async with raw_client(endpoint) as client:
            begun = await client.post(request("initialize", hello(NEWEST)), **token)
            client.session = {SESSION: begun.headers[SESSION], "mcp-protocol-version": NEWEST}
            answer = await client.post(call("who"), **token)
    assert answer.status_code == 200
    assert answer.json()["result"]["content"][0]["text"] == f"{ISSUER} ada app files:read files:write"


@pytest.mark.requirement("auth.challenge", "auth.statuses")
async def test_a_request_without_a_token_is_challenged() -> None:
    endpoint = asgi_app(app(), auth=bearer(KEY, scopes=["files:read"]))
    for headers in ({}, {"authorization": "Basic dXNlcjpwYXNz"}, {"authorization": "Bearer"}):
        answer = await said(endpoint, called("who"), **headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == f'Bearer scope="files:read", resource_metadata="{METADATA}"'
        assert answer.json()["error"]["code"] == -32600 and "id" not in answer.json()


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT"])
@pytest.mark.requirement("auth.every-request")
async def test_every_request_needs_a_token(method: str) -> None:
    async with protected() as http:
        answer = await http.request(method, "/mcp", headers={**BOTH, "content-type": "application/json"})
    assert answer.status_code == 401


async def test_preflight_requests_are_refused_as_ever() -> None:
    async with protected(scopes=["files:read"]) as http:
        answer = await http.options("/mcp")
    assert answer.status_code == 405 and "www-authenticate" not in answer.headers


@pytest.mark.requirement("auth.not-in-query")
async def test_a_token_in_the_url_counts_for_nothing() -> None:
    async with protected() as http:
        url = f"/mcp?access_token={signed(KEY)}"
        answer = await http.post(url, json=called("who"), headers=BOTH)
    assert answer.status_code == 401 and "error=" not in answer.headers["www-authenticate"]


@pytest.mark.parametrize(
    "headers",
    [
        [("authorization", "Bearer {}"), ("authorization", "Bearer {}")],
        [("authorization", "Basic dXNlcjpwYXNz"), ("authorization", "Bearer {}")],
        [("authorization", "Bearer {}, Bearer {}")],
        [("authorization", "Bearer {} x")],
        [("authorization", 'Bearer "{}"')],
    ],
    ids=str,
)
@pytest.mark.requirement("auth.statuses")
async def test_there_is_one_token(headers: list[tuple[str, str]]) -> None:
    given = [(name, value.replace("{}", signed(KEY))) for name, value in headers]
    async with protected() as http:
        answer = await http.post("/mcp", json=called("who"), headers=[*BOTH.items(), *given])
    assert answer.status_code == 400
    assert answer.headers["www-authenticate"].startswith('Bearer error="invalid_request"')


@pytest.mark.requirement("auth.challenge")
async def test_a_refused_token_is_explained() -> None:
    answer = await said(asgi_app(app(), auth=bearer(KEY)), called("who"), **with_token(signed(KEY, claims(aud="x"))))
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == (
        'Bearer error="invalid_token", error_description="its audience is not this server",'
        f' resource_metadata="{METADATA}"'
    )


@pytest.mark.parametrize("place", ["", "/mcp"])
@pytest.mark.requirement("auth.metadata")
async def test_metadata_needs_no_token(place: str) -> None:
    async with protected(scopes=["files:read"]) as http:
        url = f"/.well-known/oauth-protected-resource{place}"
        answer = await http.get(url)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert answer.json() == {
            "resource": RESOURCE,
            "authorization_servers": [ISSUER],
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["files:read"],
        }
        head = await http.head(url)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == answer.headers["content-length"]
        assert (await http.post(url)).status_code == 405
        assert (await http.get(url, headers={"host": "evil.example.com"})).status_code == 403


async def test_an_application_around_it_serves_the_metadata() -> None:
    from starlette.applications import Starlette
    from starlette.routing import Mount

    auth = bearer(KEY)
    endpoint = asgi_app(app(), auth=auth)
    site = Starlette(
        routes=[
            Mount("/.well-known/oauth-protected-resource", auth.metadata_app),
            Mount("/mcp", endpoint),
        ],
        lifespan=endpoint.lifespan,
    )
    async with modern_client(site) as client:
        for place in ("", "/mcp"):
            answer = await client.http.get(f"/.well-known/oauth-protected-resource{place}", follow_redirects=True)
            assert answer.json()["resource"] == RESOURCE


async def test_the_root_is_one_place() -> None:
    auth = Bearer("https://mcp.example.com", issuer=ISSUER, keys={})
    assert auth.paths == {"/.well-known/oauth-protected-resource"}
    assert auth.challenge().endswith(
        b'resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource"'
    )


@pytest.mark.requirement("auth.no-passthrough")
async def test_handlers_and_logs_never_see_a_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    token = signed(KEY)
    for endpoint in (asgi_app(app(), auth=bearer(KEY)), asgi_app(app(), principal=anybody)):
        answer = await said(endpoint, called("headers"), **with_token(token), x_tenant="tea")
        shown = answer.json()["result"]["content"][0]["text"]
        assert "tea" in shown and "authorization" not in shown.lower()
        assert token not in shown and token.rpartition(".")[2] not in caplog.text
    auth = bearer(KEY)
    await auth.verify(token)
    assert token not in repr(auth) and token not in repr(vars(auth))


async def test_a_program_may_verify_tokens_itself() -> None:
    async def verify(token: str) -> Principal | None:
        if token == "broken":
            raise InvalidToken("it is broken")
        return Principal("ada", issuer=ISSUER, scopes=frozenset({"admin"})) if token == "opaque" else None

    auth = Bearer(RESOURCE, issuer=ISSUER, verify=verify, includes={"admin": ["write"], "write": ["read", "admin"]})
    endpoint = asgi_app(app(), auth=auth)
    answer = await said(endpoint, called("who"), **with_token("opaque"))
    assert answer.json()["result"]["content"][0]["text"] == f"{ISSUER} ada  admin read write"
    assert (await said(endpoint, called("who"), **with_token("other"))).status_code == 401
    assert "it is broken" in (await said(endpoint, called("who"), **with_token("broken"))).headers["www-authenticate"]


@pytest.mark.requirement("auth.session")
async def test_a_session_belongs_to_issuer_and_subject() -> None:
    other = "https://other.example.com"
    auth = Bearer(RESOURCE, issuer=[ISSUER, other], keys={"keys": [KEY.as_dict(private=False)]})
    async with raw_client(asgi_app(chatty(NEWEST), auth=auth)) as client:
        begun = await client.post(request("initialize", hello(NEWEST)), **with_token(signed(KEY)))
        client.session = {SESSION: begun.headers[SESSION], "mcp-protocol-version": NEWEST}
        renewed = claims(exp=claims()["exp"] + 60, scope="more")
        statuses = [
            (await client.post(request("ping"), **with_token(signed(KEY, said)))).status_code
            for said in (renewed, claims(sub="eve"), claims(iss=other), claims(sub=None))
        ]
    assert statuses == [200, 404, 404, 404]


def test_keys_of_principals_are_unambiguous() -> None:
    keys = [
        Principal("ada").key,
        Principal("ada", ISSUER).key,
        Principal("", ISSUER, "ada").key,
        Principal(f"client {ISSUER} ada", ISSUER).key,
        Principal("ada", "https://other.example.com").key,
    ]
    assert len(set(keys)) == len(keys)
    assert str(Principal("ada", ISSUER, "app")) == Principal("ada", ISSUER).key
    assert Principal("ada", ISSUER) == Principal("ada", ISSUER, scopes=frozenset("x"))
    assert "mail" not in repr(Principal("ada", claims={"email": "mail"}))


@pytest.mark.parametrize(
    "given",
    [
        {"resource": "http://mcp.example.com/mcp"},
        {"resource": "https://ada@mcp.example.com/mcp"},
        {"resource": "https://mcp.example.com/mcp?x=1"},
        {"resource": "https://mcp.example.com/mcp#x"},
        {"resource": "/mcp"},
        {"issuer": "http://login.example.com"},
        {"issuer": []},
        {"scopes": ["offline_access"]},
        {"scopes": ["a b"]},
        {"scopes": 'a"b'},
        {"includes": {"admin": ["offline_access"]}},
    ],
    ids=str,
)
@pytest.mark.requirement("auth.no-offline-access")
def test_what_is_wrong_is_found_at_once(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"https|URL|scope|issuer|offline"):
        make({"resource": RESOURCE, "issuer": ISSUER, "keys": {}, **given})


def make(given: dict[str, Any]) -> Bearer:
    return Bearer(**given)


def test_http_is_for_this_machine() -> None:
    for url in ("http://127.0.0.1:8000/mcp", "http://localhost/mcp", "http://[::1]:8000/mcp"):
        Bearer(url, issuer=ISSUER, keys={})
    Bearer("http://mcp.example.com/mcp", issuer=ISSUER, keys={}, insecure=True)


@pytest.mark.parametrize("make", [asgi_app, sse_app])
def test_there_is_one_source_of_senders(make: Any) -> None:
    with pytest.raises(ValueError, match="either auth= or principal="):
        make(chatty(NEWEST), auth=bearer(KEY), principal=anybody)


async def test_http_with_sse_needs_a_token_too() -> None:
    async with raw_client(sse_app(chatty(NEWEST), auth=bearer(KEY))) as client:
        for method in ("GET", "POST"):
            answer = await client.http.request(method, "/sse", headers={"accept": "text/event-stream"})
            assert answer.status_code == 401
        assert (await client.http.options("/sse")).status_code == 405
