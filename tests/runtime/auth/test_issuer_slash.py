"""An issuer whose metadata spells it with another slash after the origin: refused, unless the program accepts it."""

import itertools
import time
from typing import Any

import pytest

from mcp_bindings import v2026_07_28
from mcp_runtime.auth import MemoryStore, OAuth, Registered
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.protected import Protected

SLASHES = [(named, said) for named, said in itertools.product(("", "/"), repeat=2) if named != said]
OTHERS = [
    ("", "//"),
    ("//", "/"),
    ("/t", "/t/"),
    ("/t/", "/t"),
    ("", "/t"),
    ("/", "/t/"),
    ("", "#"),
    ("", "?"),
]
"""Pairs that do not differ by the slash after the origin only."""


async def opened(server: Protected, auth: OAuth) -> str:
    async with connect_http(server.url, auth=auth) as peer:
        client = await v2026_07_28.Client.open(peer)
        block: Any = (await client.call_tool(name="brew", arguments={"kind": "green"})).content[0]
        return str(block.text)


def spelled(server: Protected, issuer: Issuer, named: str, said: str) -> None:
    """Let the server name the issuer in one way, and the issuer itself in another."""
    server.metadata["authorization_servers"] = [issuer.url + named]
    issuer.metadata["issuer"] = issuer.url + said


@pytest.mark.requirement("signing-in.issuer-metadata-validated")
@pytest.mark.parametrize(("named", "said"), SLASHES)
async def test_the_error_shows_both_spellings_and_the_option(
    server: Protected, issuer: Issuer, named: str, said: str
) -> None:
    spelled(server, issuer, named, said)
    with pytest.raises(AuthorizationError) as raised:
        await opened(server, OAuth(visit=issuer.visit))
    text = str(raised.value)
    assert f"it is about the issuer {issuer.url + said}, not {issuer.url + named};" in text
    assert "OAuth(issuer_slash=True)" in text and issuer.count("/authorize") == 0


@pytest.mark.parametrize(("named", "said"), [*SLASHES, ("", ""), ("/", "/")])
async def test_the_option_accepts_the_slash_and_everything_is_kept_once(
    server: Protected, issuer: Issuer, named: str, said: str
) -> None:
    spelled(server, issuer, named, said)
    store = MemoryStore()
    assert await opened(server, OAuth(visit=issuer.visit, store=store, issuer_slash=True)) == "green tea"
    document: Any = store.read()
    (token,) = document["servers"].values()
    token["access"], token["expires"] = "refused", time.time() + 3600
    store.write(document)
    # The server refuses the token, which belongs to an issuer that it names: it is refreshed without a person.
    again = OAuth(visit=None, store=store, issuer_slash=True, redirect_uri="http://127.0.0.1/never")
    assert await opened(server, again) == "green tea"
    assert (issuer.count("/authorize"), issuer.count("/register")) == (1, 1)


@pytest.mark.parametrize("known", ["", "/"])
async def test_a_client_of_the_program_may_name_either_spelling(server: Protected, issuer: Issuer, known: str) -> None:
    spelled(server, issuer, "", "/")
    client = Registered("test", issuer.url + known)
    assert await opened(server, OAuth(visit=issuer.visit, client=client, issuer_slash=True)) == "green tea"


@pytest.mark.requirement("signing-in.issuer-metadata-validated")
@pytest.mark.parametrize(("named", "said"), OTHERS)
async def test_no_other_difference_is_accepted(server: Protected, issuer: Issuer, named: str, said: str) -> None:
    spelled(server, issuer, named, said)
    with pytest.raises(AuthorizationError):
        await opened(server, OAuth(visit=issuer.visit, issuer_slash=True))
    assert issuer.count("/authorize") == 0


@pytest.mark.parametrize("iss", ["", "/x", "//"])
async def test_the_issuer_of_a_response_is_the_one_of_the_metadata(server: Protected, issuer: Issuer, iss: str) -> None:
    spelled(server, issuer, "", "/")

    async def visit(url: str) -> str:
        issuer.metadata["issuer"] = issuer.url + iss
        return await issuer.visit(url)

    with pytest.raises(AuthorizationError, match="from another issuer"):
        await opened(server, OAuth(visit=visit, issuer_slash=True))
