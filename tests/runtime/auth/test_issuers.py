"""A protected server asks the issuer for its keys, or about each token; the issuer is a real one, on loopback."""

import asyncio
import logging
import time
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.auth import Bearer, InvalidToken, Registered
from mcp_runtime.auth.server.tokens import MAX_ASKED
from mcp_runtime.core import sources
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import asgi_app
from support.http import served
from support.http_modern import asked, modern_client
from support.tokens import RESOURCE, Login, claims, ec_key, segment, signed

KEY = ec_key("one")


@asynccontextmanager
async def login(**options: Any) -> AsyncGenerator[tuple[Login, Bearer]]:
    found = Login()
    found.keys = [KEY]
    async with served(found) as url:
        found.url = url
        yield found, Bearer(RESOURCE, issuer=url, **options)


def token(issuer: Login, key: Any = KEY, **changed: Any) -> str:
    return signed(key, claims(iss=issuer.url, **changed))


async def test_keys_are_fetched_for_the_first_token() -> None:
    async with login() as (issuer, auth):
        found = await asyncio.gather(*(auth.verify(token(issuer, sub=str(number))) for number in range(20)))
        assert {each.subject for each in found} == {str(number) for number in range(20)}
        assert issuer.paths == ["/.well-known/oauth-authorization-server", "/jwks"]


async def test_unknown_keys_are_fetched_at_most_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    new = ec_key("two")
    start, later = time.monotonic, 0.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: start() + later))
    async with login() as (issuer, auth):
        await auth.verify(token(issuer))
        for number in range(50):
            with pytest.raises(InvalidToken, match="no key"):
                await auth.verify(token(issuer, new, sub=str(number)))
        assert issuer.paths.count("/jwks") == 1
        issuer.keys.append(new)
        later = 61.0
        assert (await auth.verify(token(issuer, new))).subject == "ada"
        assert issuer.paths.count("/jwks") == 2


async def test_ten_thousand_invalid_tokens_fetch_the_keys_once() -> None:
    async with login() as (issuer, auth):
        said = segment(claims(iss=issuer.url))
        for number in range(10_000):
            with pytest.raises(InvalidToken, match="no key"):
                await auth.verify(f"{segment({'alg': 'ES256', 'kid': str(number)})}.{said}.AA")
        assert issuer.paths.count("/jwks") == 1


async def test_withdrawn_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    start, later = time.monotonic, 0.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: start() + later))
    async with login() as (issuer, auth):
        await auth.verify(token(issuer))
        issuer.keys = [ec_key("two")]
        later = 601.0
        with pytest.raises(InvalidToken, match="no key"):
            await auth.verify(token(issuer, sub="eve"))
        issuer.is_down, later = True, 1300.0
        # An issuer that is down does not shut out those who have signed in.
        issuer.keys.append(KEY)
        with pytest.raises(InvalidToken, match="no key"):
            await auth.verify(token(issuer, sub="bob"))


async def test_an_issuer_that_is_down_is_not_the_fault_of_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with login() as (issuer, auth):
        issuer.is_down = True
        async with modern_client(asgi_app(mcp.App("files"), auth=auth)) as client:
            given = {"authorization": f"Bearer {token(issuer)}"}
            answers = [await client.post(asked("server/discover"), **given) for _ in range(3)]
            assert [answer.status_code for answer in answers] == [503] * 3
            assert int(answers[0].headers["retry-after"]) > 0 and issuer.url not in answers[0].text
            assert len(issuer.paths) == 1
        warnings = [record for record in caplog.records if record.name == "mcp_runtime"]
        assert len(warnings) == 1 and "503" in warnings[0].getMessage()


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "https://evil.example.com"},
        {"jwks_uri": None},
        {"jwks_uri": "http://93.184.215.14/jwks"},
        {"jwks_uri": "https://[fe80::1]/jwks"},
        {"jwks_uri": "https://169.254.169.254/latest"},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": 7},
    ],
    ids=str,
)
async def test_metadata_that_is_not_used(changed: dict[str, Any]) -> None:
    async with login() as (issuer, auth):
        issuer.metadata = changed
        with pytest.raises(AuthorizationError):
            await auth.verify(token(issuer))
        assert "/jwks" not in issuer.paths


async def test_a_page_instead_of_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    async with login() as (issuer, auth):
        issuer.keys = []
        with pytest.raises(AuthorizationError, match="no keys"):
            await auth.verify(token(issuer))


async def test_a_cancelled_request_does_not_stop_the_others() -> None:
    async with login() as (issuer, auth):
        first = asyncio.ensure_future(auth.verify(token(issuer, sub="1")))
        second = asyncio.ensure_future(auth.verify(token(issuer, sub="2")))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second).subject == "2"
        assert issuer.paths.count("/jwks") == 1


@asynccontextmanager
async def introspecting(**options: Any) -> AsyncGenerator[tuple[Login, Bearer]]:
    found = Login()
    async with served(found) as url:
        found.url = url
        client = Registered("files:1", url, secret="s3cret/+")
        yield found, Bearer(RESOURCE, issuer=url, introspection=client, **options)


async def test_the_issuer_is_asked_about_opaque_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    later = 0.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: time.monotonic() + later))
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None, scope="a b")}
        for _ in range(3):
            found = await auth.verify("opaque")
            assert (found.key, found.scopes) == (f"{issuer.url} ada", frozenset(("a", "b")))
            with pytest.raises(InvalidToken):
                await auth.verify("other")
        assert issuer.paths.count("/introspect") == 2
        # The parts are encoded first, or the colon would end the id (RFC 6749, 2.3.1).
        assert b64decode(issuer.credentials[0].removeprefix("Basic ")) == b"files%3A1:s3cret%2F%2B"
        later = 31.0
        issuer.said.clear()
        with pytest.raises(InvalidToken, match="not active"):
            await auth.verify("opaque")


async def test_an_issuer_need_not_say_when_an_opaque_token_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    """`exp` is optional in an introspection (RFC 7662, 2.2): the token is valid until the issuer says otherwise."""
    later = 0.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(now=lambda: time.monotonic() + later))
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None, exp=None)}
        assert (await auth.verify("opaque")).expires is None
        later = 29.0
        issuer.said["opaque"] = {"active": False}
        assert (await auth.verify("opaque")).subject == "ada"
        later = 31.0
        with pytest.raises(InvalidToken, match="not active"):
            await auth.verify("opaque")


async def test_a_clock_that_is_set_back_prolongs_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = jumped = 0.0
    clocks = sources.Sources(now=lambda: time.monotonic() + passed, wall=lambda: time.time() + passed + jumped)
    monkeypatch.setattr(sources, "in_use", clocks)
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None, exp=time.time() + 20)}
        await auth.verify("opaque")
        issuer.said["opaque"] = {"active": False}
        passed, jumped = 31.0, -3600.0
        with pytest.raises(InvalidToken, match="not active"):
            await auth.verify("opaque")


async def test_a_remembered_token_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0.0
    monkeypatch.setattr(sources, "in_use", sources.Sources(wall=lambda: time.time() + passed))
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None, exp=time.time() + 20)}
        await auth.verify("opaque")
        passed = 600.0
        with pytest.raises(InvalidToken, match="expired"):
            await auth.verify("opaque")


async def test_invalid_tokens_do_not_displace_valid_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_runtime.auth.server.bearer.MAX_KNOWN", 10)
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None)}
        await auth.verify("opaque")
        for number in range(30):
            with pytest.raises(InvalidToken, match="not active"):
                await auth.verify(f"bad{number}")
        asked = issuer.paths.count("/introspect")
        assert (await auth.verify("opaque")).subject == "ada"
        with pytest.raises(InvalidToken, match="not active"):
            await auth.verify("bad29")
        assert issuer.paths.count("/introspect") == asked
        with pytest.raises(InvalidToken, match="not active"):
            await auth.verify("bad0")
        assert issuer.paths.count("/introspect") == asked + 1, "they have a place of their own, but a small one"


async def test_simultaneous_requests_share_a_question() -> None:
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None)}
        waiting = [asyncio.ensure_future(auth.verify("opaque")) for _ in range(20)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        assert {(await each).subject for each in waiting[1:]} == {"ada"}
        assert issuer.paths.count("/introspect") == 1


@pytest.mark.parametrize("has_addresses", [True, False], ids=["addresses", "one address"])
async def test_a_flood_of_opaque_tokens_does_not_reach_the_issuer(has_addresses: bool) -> None:
    async with introspecting() as (issuer, auth):
        issuer.said |= {name: {"active": True, **claims(iss=None)} for name in ("known", "own")}
        endpoint = asgi_app(mcp.Server(), auth=auth, trusted_proxies=["127.0.0.1"])
        async with modern_client(endpoint) as client:

            async def status(token: str, address: str) -> int:
                sent = {"authorization": f"Bearer {token}", "x-forwarded-for": address}
                return (await client.post(asked("server/discover"), **sent)).status_code

            assert await status("known", "192.0.2.1") == 200
            issuer.is_quick.clear()
            flood = [
                asyncio.ensure_future(status(f"bad{number}", f"192.0.2.{number if has_addresses else 1}"))
                for number in range(1, 101)
            ]
            most = MAX_ASKED if has_addresses else MAX_ASKED // 2
            async with asyncio.timeout(30):
                while len(issuer.waiting) < most or sum(each.done() for each in flood) < len(flood) - most:
                    await asyncio.sleep(0.01)
            assert len(issuer.waiting) == most
            assert {each.result() for each in flood if each.done()} == {503}
            assert await status("known", "192.0.2.1") == 200
            other = asyncio.ensure_future(status("own", "192.0.2.200"))
            again = asyncio.ensure_future(status(issuer.waiting[0], "192.0.2.201"))
            if has_addresses:
                assert await other == 503
            else:
                async with asyncio.timeout(30):
                    while "own" not in issuer.waiting:
                        await asyncio.sleep(0.01)
            issuer.is_quick.set()
            assert has_addresses or await other == 200
            # One that is being asked about already is not asked about again.
            assert await again == 401 and {await each for each in flood} == {401, 503}
            assert issuer.paths.count("/introspect") == 1 + most + (not has_addresses)
            assert await status("own", "192.0.2.200") == 200


BAD: dict[str, dict[str, Any]] = {
    "not active": {"active": False},
    "active as text": {"active": "true"},
    "a foreign audience": {"aud": "https://other.example.com"},
    "no audience": {"aud": None},
    "a foreign issuer": {"iss": "https://evil.example.com"},
    "bound to a key": {"cnf": {"jkt": "x"}},
    "expired": {"exp": 1},
}


@pytest.mark.parametrize("name", BAD)
async def test_opaque_tokens_that_are_not_accepted(name: str) -> None:
    async with introspecting() as (issuer, auth):
        said = {"active": True, **claims(iss=None), **BAD[name]}
        issuer.said["opaque"] = {key: value for key, value in said.items() if value is not None}
        with pytest.raises(InvalidToken):
            await auth.verify("opaque")


async def test_an_introspection_that_fails_is_not_the_fault_of_the_token() -> None:
    async with introspecting() as (issuer, auth):
        issuer.said["opaque"] = {"active": True, **claims(iss=None)}
        issuer.is_down = True
        with pytest.raises(AuthorizationError):
            await auth.verify("opaque")
        issuer.is_down = False
        assert (await auth.verify("opaque")).subject == "ada"
        assert "s3cret" not in repr(auth) + repr(vars(auth))


def test_one_way_to_check_tokens() -> None:
    async def verify(token: str) -> None:
        return None

    client = Registered("id", "https://login.example.com", secret="x")
    with pytest.raises(ValueError, match="one of"):
        Bearer(RESOURCE, issuer=client.issuer, introspection=client, verify=verify)
    with pytest.raises(ValueError, match="issuer"):
        Bearer(RESOURCE, issuer="https://other.example.com", introspection=client)
