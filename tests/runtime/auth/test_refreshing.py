"""Tokens are refreshed once for all that use them, and stored before they are used."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2026_07_28
from mcp_runtime.auth import FileStore, MemoryStore, OAuth
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.protected import Protected

GREEN: Any = {"name": "brew", "arguments": {"kind": "green"}}


async def nobody(url: str) -> str:
    """Take the place of a person that is not there."""
    raise AuthorizationError("signing in", "", "nobody is here")


async def signed_in(server: Protected, issuer: Issuer, store: Any) -> None:
    """Sign in, and let the access token expire."""
    async with connect_http(server.url, auth=OAuth(store=store, visit=issuer.visit)) as peer:
        await v2026_07_28.Client.open(peer)
    expire(store)


def expire(store: Any) -> None:
    """Let the access token of a store expire, without telling the objects that use it."""
    document = store.read()
    (token,) = document["servers"].values()
    token["expires"] = time.time() - 1
    store.write(document)


@pytest.mark.requirement("signing-in.resource")
async def test_a_token_that_expires_is_refreshed_before_it_is_used(server: Protected, issuer: Issuer) -> None:
    issuer.lifetime = 0.5
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        client = await v2026_07_28.Client.open(peer)
        await asyncio.sleep(0.5)
        server.requests.clear()
        await client.call_tool(**GREEN)
    assert issuer.count("/token", grant_type="refresh_token", resource=server.url) == 1
    assert len(server.requests) == 1
    assert issuer.count("/authorize") == 1


async def test_fifty_calls_lead_to_one_refresh(server: Protected, issuer: Issuer) -> None:
    store = MemoryStore()
    await signed_in(server, issuer, store)
    auth = OAuth(store=store, visit=nobody)
    async with connect_http(server.url, auth=auth) as one, connect_http(server.url, auth=auth) as other:
        clients = [await v2026_07_28.Client.open(peer) for peer in (one, other)]
        await asyncio.gather(*(client.call_tool(**GREEN) for client in clients * 25))
    assert issuer.count("/token", grant_type="refresh_token") == 1


async def test_a_token_that_the_server_refuses_is_refreshed_once(server: Protected, issuer: Issuer) -> None:
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        client = await v2026_07_28.Client.open(peer)
        server.revoked.add(server.requests[-1][2])
        await asyncio.gather(*(client.call_tool(**GREEN) for _ in range(20)))
    assert issuer.count("/token", grant_type="refresh_token") == 1
    assert issuer.count("/authorize") == 1


async def test_only_invalid_grant_leads_to_a_new_sign_in(server: Protected, issuer: Issuer) -> None:
    store = MemoryStore()
    await signed_in(server, issuer, store)
    issuer.refresh_tokens.clear()
    async with connect_http(server.url, auth=OAuth(store=store, visit=issuer.visit)) as peer:
        await v2026_07_28.Client.open(peer)
    assert issuer.count("/authorize") == 2
    assert issuer.count("/token", grant_type="refresh_token") == 1


@pytest.mark.parametrize("error", ["invalid_request", "server_error", "invalid_client"])
async def test_any_other_error_of_a_refresh_is_reported(server: Protected, issuer: Issuer, error: str) -> None:
    store = MemoryStore()
    await signed_in(server, issuer, store)
    issuer.token_error = error
    async with connect_http(server.url, auth=OAuth(store=store, visit=issuer.visit)) as peer:
        with pytest.raises(AuthorizationError, match=f"requesting a token .*: the issuer answered {error}"):
            await v2026_07_28.Client.open(peer)
    assert issuer.count("/authorize") == 1
    assert (issuer.url in store.read()["clients"]) == (error != "invalid_client")
    issuer.token_error = ""
    async with connect_http(server.url, auth=OAuth(store=store, visit=issuer.visit)) as peer:
        await v2026_07_28.Client.open(peer)
    assert issuer.count("/register") == 1 + (error == "invalid_client")


async def test_a_rotated_token_is_stored_before_it_is_used(server: Protected, issuer: Issuer) -> None:
    """If it cannot be stored, no request has it."""
    store = MemoryStore()
    await signed_in(server, issuer, store)
    auth = OAuth(store=store, visit=nobody)

    def full(document: Any) -> None:
        raise AuthorizationError("storing tokens", "", "the disk is full")

    store.write = full  # type: ignore[method-assign]
    server.requests.clear()
    async with connect_http(server.url, auth=auth) as peer:
        with pytest.raises(AuthorizationError, match="the disk is full"):
            await v2026_07_28.Client.open(peer)
    assert server.requests == []


async def test_a_refresh_token_that_is_not_repeated_is_kept(server: Protected, issuer: Issuer) -> None:
    store = MemoryStore()
    await signed_in(server, issuer, store)
    (before,) = store.read()["servers"].values()
    issuer.rotates = False
    async with connect_http(server.url, auth=OAuth(store=store, visit=nobody)) as peer:
        await v2026_07_28.Client.open(peer)
    (after,) = store.read()["servers"].values()
    assert after["refresh"] == before["refresh"] != ""
    assert after["access"] != before["access"]


@pytest.mark.parametrize("kind", [FileStore, MemoryStore])
async def test_an_issuer_that_does_not_answer_holds_up_no_other_server(
    server: Protected, issuer: Issuer, kind: Any, tmp_path: Path
) -> None:
    store = kind() if kind is MemoryStore else kind(tmp_path / "tokens.json")
    await signed_in(server, issuer, store)
    is_asked, held = asyncio.Event(), list[asyncio.StreamWriter]()

    def take(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)  # or its connection would be closed
        is_asked.set()

    silent = await asyncio.start_server(take, "127.0.0.1", 0)
    document = store.read()
    (token,) = document["servers"].values()
    endpoint = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}/token"
    document["servers"]["http://127.0.0.1:1/mcp"] = {**token, "endpoint": endpoint}
    store.write(document)
    waiting = [asyncio.create_task(OAuth(store=store).begin("http://127.0.0.1:1/mcp")) for _ in range(2)]
    await is_asked.wait()
    assert (await OAuth(store=store).begin(server.url)).token
    assert await OAuth(store=store).sign_out(server.url)
    assert not any(each.done() for each in waiting)
    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    for writer in held:
        writer.close()
    silent.close()
    assert store.read()["servers"].keys() == {"http://127.0.0.1:1/mcp"}


async def test_a_cancelled_call_does_not_lose_a_rotated_token(server: Protected, issuer: Issuer) -> None:
    store = MemoryStore()
    await signed_in(server, issuer, store)
    auth = OAuth(store=store, visit=nobody)
    asked = asyncio.create_task(auth.begin(server.url))
    while not issuer.count("/token", grant_type="refresh_token"):
        await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait([asked])
    assert (await auth.begin(server.url)).token
    assert issuer.count("/token", grant_type="refresh_token") == 1


PROGRAM = """
import asyncio, sys
from mcp_bindings import v2026_07_28
from mcp_runtime.auth import FileStore, OAuth
from mcp_runtime.core.transports.http import connect_http

async def nobody(url): raise AssertionError("asked to sign in")

async def main(url, path):
    async with connect_http(url, auth=OAuth(store=FileStore(path), visit=nobody)) as peer:
        client = await v2026_07_28.Client.open(peer)
        for _ in range(10):
            await client.call_tool(name="brew", arguments={"kind": "green"})

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.slow
async def test_processes_share_one_refresh(server: Protected, issuer: Issuer, tmp_path: Path) -> None:
    store = FileStore(tmp_path / "tokens.json")
    await signed_in(server, issuer, store)
    programs = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, server.url, str(store.path))
        for _ in range(3)
    ]
    assert [await program.wait() for program in programs] == [0, 0, 0]
    assert issuer.count("/token", grant_type="refresh_token") == 1


@pytest.mark.requirement("signing-in.storage")
async def test_a_file_is_for_its_user_only(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "deep" / "tokens.json")
    assert store.read() == {}
    async with store.locked():
        store.write({"servers": {"a": 1}})
        store.write({"servers": {"a": 2}})
    assert json.loads(store.path.read_text()) == {"servers": {"a": 2}}
    assert store.path.stat().st_mode & 0o777 == 0o600
    assert store.path.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(os.listdir(store.path.parent)) == ["tokens.json", "tokens.json.lock"]


async def test_a_file_that_cannot_be_written_is_kept(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "tokens.json")
    async with store.locked():
        store.write({"a": 1})
        with pytest.raises(TypeError):
            store.write({"a": object()})
    assert store.read() == {"a": 1}
    assert sorted(os.listdir(tmp_path)) == ["tokens.json", "tokens.json.lock"]


async def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    path.write_text("[]")
    with pytest.raises(AuthorizationError, match=r"tokens\.json: not a JSON object; repair or delete the file"):
        await OAuth(store=FileStore(path)).begin("https://example.com/mcp")
    path.write_text('{"servers": {"https://example.com/mcp": {"issuer": 12}}}')
    assert (await OAuth(store=FileStore(path)).begin("https://example.com/mcp")).token == ""


async def test_a_lock_excludes_other_processes(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "tokens.json")
    code = f"import fcntl, os; fcntl.flock(os.open({str(tmp_path / 'tokens.json.lock')!r}, 2), 6)"
    async with store.locked():
        held = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert b"BlockingIOError" in held.stderr


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"access_token": 12, "token_type": "Bearer"}, "no access token"),
        ({"access_token": "a b", "token_type": "Bearer"}, "no access token"),
        ({"access_token": "abc\r\nx: y", "token_type": "Bearer"}, "no access token"),
        ({"access_token": "abc"}, "not a bearer token"),
        ({"access_token": "abc", "token_type": "DPoP"}, "not a bearer token"),
        ([], "no access token"),
        ("<html>", "no access token"),
    ],
)
async def test_a_malformed_answer_is_one_error(server: Protected, issuer: Issuer, answer: Any, problem: str) -> None:
    issuer.token_answer = answer
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit)) as peer:
        with pytest.raises(AuthorizationError, match=f"requesting a token .*{problem}"):
            await v2026_07_28.Client.open(peer)


@pytest.mark.requirement("signing-in.refresh-optional")
@pytest.mark.parametrize("lifetime", ["3600", 3600, None, "soon", -1, True, 1e300])
async def test_any_lifetime_is_accepted(server: Protected, issuer: Issuer, lifetime: Any) -> None:
    store = MemoryStore()
    access = issuer.token(audience=server.url)
    issuer.token_answer = {"access_token": access, "token_type": "bearer", "expires_in": lifetime}
    async with connect_http(server.url, auth=OAuth(visit=issuer.visit, store=store)) as peer:
        await v2026_07_28.Client.open(peer)
    (token,) = store.read()["servers"].values()
    known = str(lifetime) == "3600"
    assert (token["expires"] is not None) == known
    assert not known or 3500 < token["expires"] - time.time() < 3600
