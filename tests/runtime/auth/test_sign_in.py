"""A person signs in when a server asks for it (2026-07-28, basic/authorization)."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from mcp_bindings import v2024_11_05, v2025_11_25, v2026_07_28
from mcp_runtime.auth import MemoryStore, OAuth, Registered
from mcp_runtime.core.errors import AuthorizationError, ConnectionClosed
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http, connect_sse
from mcp_runtime.testing import Issuer
from mcp_runtime.web_server import sse_app
from support.protected import Protected, duration, protected

WRITE = b'"kind":"white"'


async def brew(server: Protected, auth: OAuth, *kinds: str) -> list[str]:
    """Call a tool as often as there are arguments, over one connection."""
    async with connect_http(server.url, auth=auth) as peer:
        client = await v2026_07_28.Client.open(peer)
        found: list[Any] = [await client.call_tool(name="brew", arguments={"kind": kind}) for kind in kinds]
    return [result.content[0].text for result in found]


@pytest.mark.requirement("signing-in.application-type", "signing-in.redirect-registered", "signing-in.resource")
@pytest.mark.parametrize("bindings", [v2025_11_25, v2026_07_28])
async def test_a_client_signs_in_once(server: Protected, issuer: Issuer, bindings: Any) -> None:
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        client = await bindings.Client.open(peer)
        result = await client.call_tool(name="brew", arguments={"kind": "green"})
    assert result.content[0].text == "green tea"
    assert issuer.count("/authorize", resource=server.url, code_challenge_method="S256", response_type="code") == 1
    assert issuer.count("/token", resource=server.url, grant_type="authorization_code") == 1
    registered = next(asked for path, asked in issuer.requests if path == "/register")
    assert registered["application_type"] == "native"
    assert "scope" not in registered


@pytest.mark.parametrize("bindings", [v2025_11_25, v2026_07_28])
async def test_a_server_may_close_the_connection_after_its_challenge(
    server: Protected, issuer: Issuer, bindings: Any
) -> None:
    server.closes = True
    server.scopes_of = lambda body: {"write"} if WRITE in body else set()
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        client = await bindings.Client.open(peer)
        result = await client.call_tool(name="brew", arguments={"kind": "white"})
    assert result.content[0].text == "white tea"
    assert issuer.count("/authorize") == 2


async def test_a_client_signs_in_over_http_sse(issuer: Issuer) -> None:
    class Tea(v2024_11_05.Server):
        async def list_prompts(self, params: Any, ctx: Any) -> v2024_11_05.ListPromptsResult:
            return v2024_11_05.ListPromptsResult(prompts=[])

    async with (
        protected(None, issuer, sse_app(Tea())) as server,
        connect_sse(server.url, auth=OAuth(visit=issuer.visit)) as peer,
    ):
        client = await v2024_11_05.Client.open(peer)
        assert (await client.list_prompts()).prompts == []
    assert issuer.count("/authorize") == 1
    assert {token for method, _, token in server.requests if method == "POST"} == {server.requests[-1][2]}


async def test_a_server_without_protection_needs_no_sign_in(issuer: Issuer, server: Protected) -> None:
    server.scopes_of = lambda body: set()
    auth = OAuth(visit=issuer.visit)
    async with connect_http(server.url, auth=auth) as peer:
        await v2026_07_28.Client.open(peer)
    assert await auth.sign_out(server.url)
    assert issuer.count("/revoke") == 1
    assert not await auth.sign_out(server.url)
    assert issuer.refresh_tokens == {}


@pytest.mark.requirement("signing-in.scopes")
async def test_the_scopes_of_a_challenge_are_requested_together_with_earlier_ones(
    server: Protected, issuer: Issuer
) -> None:
    server.scopes_of = lambda body: {"write"} if WRITE in body else {"read"}
    server.metadata["scopes_supported"] = ["read"]
    assert await brew(server, OAuth(visit=issuer.visit), "green", "white", "green") == [
        "green tea",
        "white tea",
        "green tea",
    ]
    asked = [form["scope"] for path, form in issuer.requests if path == "/authorize"]
    assert asked == ["read", "read write"]
    assert issuer.count("/register") == 1


@pytest.mark.parametrize("is_expired", [False, True])
async def test_scopes_of_the_program_are_asked_for_once(server: Protected, issuer: Issuer, is_expired: bool) -> None:
    store = MemoryStore()
    await brew(server, OAuth(visit=issuer.visit, store=store), "green")
    if is_expired:
        server.revoked.add(server.requests[-1][2])
    for scopes in (("write",), ("write",), ("write", "deep"), ()):
        await brew(server, OAuth(visit=issuer.visit, store=store, scopes=scopes), "green", "white")
    asked = [form.get("scope", "") for path, form in issuer.requests if path == "/authorize"]
    assert asked == ["", "write", "write deep"]


async def test_a_call_leads_to_at_most_three_sign_ins(server: Protected, issuer: Issuer) -> None:
    wanted = iter(range(100))
    server.scopes_of = lambda body: {f"s{next(wanted)}"}
    with pytest.raises(AuthorizationError, match="still answers 403 after 3 authorization requests"):
        await brew(server, OAuth(visit=issuer.visit))
    assert issuer.count("/authorize") == 3


async def test_tokens_that_others_replace_are_tried_six_times(server: Protected, issuer: Issuer) -> None:
    class Busy(MemoryStore):
        """Other programs replace the token all the time, by ones that are revoked."""

        def read(self) -> dict[str, Any]:
            document = super().read()
            for url, token in document.get("servers", {}).items():
                document["servers"] = {url: {**token, "access": f"{token['access']}x"}}
                server.revoked.add(document["servers"][url]["access"])
            self.write(document)
            return document

    store = Busy()
    assert await brew(server, OAuth(visit=issuer.visit, store=store), "green") == ["green tea"]
    server.requests.clear()
    with pytest.raises(ConnectionClosed, match="401"):
        await brew(server, OAuth(visit=issuer.visit, store=store), "green")
    tokens = [token for method, _, token in server.requests if method == "POST" and token]
    assert len(set(tokens)) == len(tokens) == 7


async def test_a_refusal_that_scopes_do_not_change_is_final(server: Protected, issuer: Issuer) -> None:
    auth = OAuth(visit=issuer.visit)
    assert await brew(server, auth, "green") == ["green tea"]
    server.scopes_of = lambda body: {"x"}
    server.insufficient = "forbidden"
    async with connect_http(server.url, auth=auth) as peer:
        with pytest.raises(Exception, match="403"):
            await v2026_07_28.Client.open(peer)
    assert issuer.count("/authorize") == 1


async def test_offline_access_is_requested_where_it_is_offered(server: Protected, issuer: Issuer) -> None:
    issuer.metadata["scopes_supported"] = ["openid", "offline_access"]
    await brew(server, OAuth(visit=issuer.visit), "green")
    assert issuer.count("/authorize", scope="offline_access", prompt="consent") == 1


async def test_options_change_the_requests(server: Protected, issuer: Issuer) -> None:
    del issuer.metadata["code_challenge_methods_supported"]
    auth = OAuth(
        visit=issuer.visit,
        client=Registered("i:t", issuer.url, "a:b %"),
        assume_pkce=True,
        send_resource=False,
        parameters={"audience": "tea"},
        redirect_uri="http://localhost:3118/back",
    )
    with pytest.raises(AuthorizationError):  # The token has no audience then.
        await brew(server, auth, "green")
    asked = next(form for path, form in issuer.requests if path == "/authorize")
    assert asked["audience"] == "tea"
    assert asked["redirect_uri"] == "http://localhost:3118/back"
    assert "resource" not in asked
    assert issuer.count("/token", client_id="i:t", client_secret="a:b %") > 0
    assert issuer.count("/register") == 0


@pytest.mark.requirement("signing-in.pkce-announced")
async def test_an_issuer_without_pkce_is_refused(server: Protected, issuer: Issuer) -> None:
    issuer.metadata["code_challenge_methods_supported"] = ["plain"]
    with pytest.raises(AuthorizationError, match="PKCE with S256; if it does, pass") as caught:
        await brew(server, OAuth(visit=issuer.visit))
    assert caught.value.url == issuer.url
    assert issuer.requests == []


@pytest.mark.requirement("signing-in.pkce")
async def test_a_verifier_proves_who_began(server: Protected, issuer: Issuer) -> None:
    """The issuer compares it with the challenge; each sign-in has another one, and another state."""
    for _ in range(2):
        await brew(server, OAuth(visit=issuer.visit), "green")
    asked = [form for path, form in issuer.requests if path == "/authorize"]
    proofs = [form["code_verifier"] for path, form in issuer.requests if path == "/token"]
    assert len({form["state"] for form in asked} | {form["code_challenge"] for form in asked} | {*proofs}) == 6
    assert all(43 <= len(proof) <= 128 for proof in proofs)


@pytest.mark.requirement("signing-in.client-id")
async def test_a_document_is_the_id_where_the_issuer_reads_it(server: Protected, issuer: Issuer) -> None:
    document = "https://app.example.com/client.json"
    issuer.metadata["client_id_metadata_document_supported"] = True
    await brew(server, OAuth(visit=issuer.visit, document=document), "green")
    assert issuer.count("/authorize", client_id=document) == 1
    assert issuer.count("/register") == 0


@pytest.mark.requirement("signing-in.client-id")
async def test_a_client_is_registered_once_for_its_issuer(server: Protected, issuer: Issuer) -> None:
    store = MemoryStore()
    await brew(server, OAuth(visit=issuer.visit, store=store), "green")
    await OAuth(store=store).sign_out(server.url)
    await brew(server, OAuth(visit=issuer.visit, store=store), "green")
    assert (issuer.count("/register"), issuer.count("/authorize")) == (1, 2)


@pytest.mark.requirement("signing-in.bound-to-issuer")
async def test_another_issuer_gets_another_client(server: Protected, issuer: Issuer) -> None:
    """Nothing of the first issuer is sent to the second one, though it has a refresh token."""
    visits = [issuer.visit]

    async def visit(url: str) -> str:
        return await visits[-1](url)

    auth = OAuth(visit=visit)
    await brew(server, auth, "green")
    server.revoked.add(server.requests[-1][2])
    before = len(issuer.requests)
    async with Issuer() as other:
        server.metadata["authorization_servers"] = [other.url]
        visits.append(other.visit)
        assert await brew(server, auth, "green") == ["green tea"]
        assert [path for path, _ in other.requests] == ["/register", "/authorize", "/token"]
    assert issuer.requests[before:] == []


@pytest.mark.requirement("signing-in.bound-to-issuer")
async def test_a_given_client_is_used_with_its_issuer_only(server: Protected, issuer: Issuer) -> None:
    auth = OAuth(visit=issuer.visit, client=Registered("it", "https://login.example.com", "s3cret"))
    with pytest.raises(AuthorizationError, match=r"not https://login\.example\.com") as caught:
        await brew(server, auth)
    assert "s3cret" not in f"{caught.value}{auth!r}{vars(auth)}"
    assert issuer.requests == []


@pytest.mark.requirement("signing-in.registration-refused")
async def test_an_issuer_that_registers_no_clients_needs_a_given_one(server: Protected, issuer: Issuer) -> None:
    del issuer.metadata["registration_endpoint"]
    with pytest.raises(AuthorizationError, match=r"pass OAuth\(client=Registered"):
        await brew(server, OAuth(visit=issuer.visit))


async def test_a_refused_sign_in_is_an_error(server: Protected, issuer: Issuer) -> None:
    issuer.error = "access_denied"
    with pytest.raises(AuthorizationError, match="the issuer answered access_denied") as caught:
        await brew(server, OAuth(visit=issuer.visit))
    assert caught.value.step == "signing in"


async def test_a_sign_in_may_take_longer_than_any_timeout(server: Protected, issuer: Issuer) -> None:
    """Neither the call nor the question about the era times out, which would make the server a legacy one."""

    async def brew_white(timeout: float, thinks: float = 0) -> None:
        async def visit(url: str) -> str:
            await asyncio.sleep(thinks)
            return await issuer.visit(url)

        async with connect_http(server.url, auth=OAuth(visit=visit)) as peer:
            client = await v2026_07_28.Client.open(peer, options=ClientOptions(probe_timeout=timeout, timeout=timeout))
            assert client.connection.revision == "2026-07-28"
            await client.call_tool(name="brew", arguments={"kind": "white"}, options=CallOptions(timeout=timeout))

    server.scopes_of = lambda body: {"write"} if WRITE in body else set()
    seconds = await duration(brew_white(60))
    await brew_white(3 * seconds, 4 * seconds)
    assert issuer.count("/authorize") == 4


async def test_other_calls_continue_during_a_sign_in_and_a_cancelled_one_cancels_no_other(
    server: Protected, issuer: Issuer
) -> None:
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def visit(url: str) -> str:
        if "write" in url:
            asked.set()
            await go_on.wait()
        return await issuer.visit(url)

    server.scopes_of = lambda body: {"write"} if WRITE in body else set()
    async with connect_http(server.url, auth=OAuth(visit=visit)) as peer:
        client = await v2026_07_28.Client.open(peer)
        white: Any = {"name": "brew", "arguments": {"kind": "white"}}
        calls = [asyncio.create_task(client.call_tool(**white)) for _ in range(3)]
        await asked.wait()
        assert (await client.call_tool(name="brew", arguments={"kind": "green"})).content
        calls[0].cancel()
        with suppress(asyncio.CancelledError):
            await calls[0]
        go_on.set()
        for call in calls[1:]:
            assert (await call).content
    assert issuer.count("/authorize") == 2


async def test_a_sign_in_that_nobody_waits_for_ends(server: Protected, issuer: Issuer) -> None:
    asked, ended = asyncio.Event(), asyncio.Event()

    async def visit(url: str) -> str:
        if ended.is_set():
            return await issuer.visit(url)
        asked.set()
        try:
            return await asyncio.Future()
        finally:
            ended.set()

    auth = OAuth(visit=visit)
    async with connect_http(server.url, auth=auth) as peer:
        opening = asyncio.create_task(v2026_07_28.Client.open(peer))
        await asked.wait()
        opening.cancel()
        await asyncio.wait([opening])
        await ended.wait()
    assert await brew(server, auth, "green") == ["green tea"]


async def test_only_requests_of_the_caller_start_a_sign_in(server: Protected, issuer: Issuer) -> None:
    """Neither the stream of Streamable HTTP, nor notifications, nor the end of a session."""
    auth = OAuth(visit=issuer.visit)
    async with connect_http(server.url, auth=auth) as peer:
        client = await v2025_11_25.Client.open(peer, options=ClientOptions(roots=[]))
        server.scopes_of = lambda body: {"more"} if not body or b"notifications/" in body else set()
        await client.notify_roots_list_changed()
        await client.ping()
    assert "DELETE" in [method for method, _, _ in server.requests]
    assert issuer.count("/authorize") == 1


@pytest.mark.requirement("signing-in.header")
async def test_a_token_is_sent_to_its_server_only(server: Protected, issuer: Issuer) -> None:
    await brew(server, OAuth(visit=issuer.visit), "green")
    assert all(not token for _, path, token in server.requests if path.startswith("/.well-known/"))


async def test_secrets_are_in_no_log_and_no_repr(
    server: Protected, issuer: Issuer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    auth = OAuth(visit=issuer.visit, client=Registered("it", issuer.url, "s3cret"))
    traced: list[bytes] = []
    async with connect_http(server.url, auth=auth) as peer:
        options = ClientOptions(trace=lambda way, message: traced.append(message))
        client = await v2026_07_28.Client.open(peer, options=options)
        await client.call_tool(name="brew", arguments={"kind": "green"})
    secrets = [*issuer.refresh_tokens, server.requests[-1][2], "s3cret"]
    secrets += [form["code_verifier"] for path, form in issuer.requests if path == "/token"]
    shown = f"{caplog.text}{traced}{auth!r}{vars(auth)}"
    assert len(secrets) == 4
    assert [secret for secret in secrets if secret in shown] == []


async def test_http_beyond_loopback_needs_insecure() -> None:
    async with connect_http("http://mcp.example.com/mcp", auth=OAuth()) as peer:
        with pytest.raises(AuthorizationError, match="not https; insecure=True"):
            await v2026_07_28.Client.open(peer)


@pytest.mark.requirement("signing-in.document")
def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="begins with https"):
        OAuth(document="http://app.example.com/c.json")
    with pytest.raises(ValueError, match="cannot replace state"):
        OAuth(parameters={"state": "x"})
