"""The receiver takes one response, with the right state, and shows a static page."""

import asyncio
import os
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import Mock
from urllib.parse import unquote

import httpx2
import pytest

from mcp_bindings import v2026_07_28
from mcp_runtime.auth import MemoryStore, OAuth
from mcp_runtime.auth.client import receiver as module
from mcp_runtime.auth.client.receiver import receiving
from mcp_runtime.core.errors import AuthorizationError
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.testing import Issuer
from support.protected import Protected


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], list[str]]:
    """Replace the browser by a function, which runs in a thread; returns the URLs that it was given."""
    monkeypatch.delenv("SSH_CONNECTION", raising=False)

    def use(visit: Any) -> list[str]:
        seen: list[str] = []

        def opened(url: str) -> bool:
            seen.append(url)
            return bool(visit(url))

        monkeypatch.setattr(webbrowser, "open", opened)
        return seen

    return use


async def test_a_browser_signs_in(server: Protected, issuer: Issuer, browser: Any) -> None:
    pages: list[httpx2.Response] = []

    def visit(url: str) -> bool:
        pages.append(httpx2.get(url, follow_redirects=True))
        return True

    seen = browser(visit)
    store = MemoryStore()
    for _ in range(2):
        auth = OAuth(store=store)
        async with connect_http(server.url, auth=auth) as peer:
            await v2026_07_28.Client.open(peer)
        await auth.sign_out(server.url)
    assert len(seen) == 2
    assert all("You can close this page" in page.text for page in pages)
    assert pages[0].headers["content-security-policy"] == "default-src 'none'"
    assert "code" not in pages[0].text
    # The registration names the port, so the same one is used again.
    assert issuer.count("/register") == 1
    places = {form["redirect_uri"] for path, form in issuer.requests if path == "/authorize"}
    assert len(places) == 1
    assert places.pop().startswith("http://127.0.0.1:")


async def test_only_the_response_with_the_right_state_is_taken(browser: Any) -> None:
    browser(bool)
    async with receiving("", "", "st") as receiver, httpx2.AsyncClient() as http:
        waiting = asyncio.create_task(receiver.visit("https://login.example.com/"))
        uri = receiver.redirect_uri
        for wrong in ("", "?state=other&code=x", "?code=x", "?state=st&state=st", "/more?state=st"):
            assert (await http.get(f"{uri}{wrong}")).status_code == 404
        assert (await http.post(f"{uri}?state=st&code=x")).status_code == 404
        assert (await http.get(f"{uri}?state=st&code=y")).status_code == 200
        assert (await http.get(f"{uri}?state=st&code=z")).status_code == 404
        assert (await waiting).endswith("?state=st&code=y")


@pytest.mark.parametrize(
    "sent", [b"\r\n\r\n", b"\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"x" * 70_000, b"GET http:[ HTTP/1.1\r\n\r\n"]
)
async def test_malformed_requests_do_no_harm(sent: bytes) -> None:
    async with receiving("", "", "st") as receiver:
        port = httpx2.URL(receiver.redirect_uri).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        writer.write_eof()
        assert (await reader.read())[:12] in (b"", b"HTTP/1.1 404")
        writer.close()


@pytest.mark.parametrize(("size", "status"), [(10_000, b"HTTP/1.1 404"), (40_000, b""), (5_000_000, b"")])
async def test_a_request_has_at_most_16_kib_of_headers(size: int, status: bytes) -> None:
    async with receiving("", "", "st") as receiver:
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(receiver.redirect_uri).port)
        with suppress(ConnectionError):
            writer.write(b"GET / HTTP/1.1\r\nx: " + b"x" * size + b"\r\n\r\n")
            assert (await reader.read())[:12] == status
        writer.close()


async def test_a_person_has_five_minutes(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser(bool)
    assert module.SECONDS == 300
    monkeypatch.setattr(module, "SECONDS", 0.03)
    async with receiving("", "", "st") as receiver:
        with pytest.raises(AuthorizationError, match=r"no response within 0\.0005 minutes; repeat the call") as caught:
            await receiver.visit("https://login.example.com/a?state=st")
    assert "st" not in caught.value.url.partition("/a")[2]


async def test_a_fixed_port_must_be_free() -> None:
    async with receiving("", "", "st") as receiver:
        with pytest.raises(AuthorizationError, match="choose another port"):
            async with receiving(receiver.redirect_uri.replace("127.0.0.1", "localhost"), "", "st"):
                pass
        async with receiving("", receiver.redirect_uri, "st") as other:
            assert other.redirect_uri != receiver.redirect_uri


async def test_without_a_browser_the_url_is_printed(browser: Any, capsys: pytest.CaptureFixture[str]) -> None:
    browser(Mock(return_value=False))
    async with receiving("", "", "st") as receiver, httpx2.AsyncClient() as http:
        waiting = asyncio.create_task(receiver.visit("https://login.example.com/"))
        while "https://login" not in (text := capsys.readouterr().err):
            await asyncio.sleep(0.005)
        await http.get(f"{receiver.redirect_uri}?state=st&code=x")
        assert await waiting
    assert text == "Open this URL to sign in:\n\n  https://login.example.com/\n\n"


@pytest.mark.parametrize(
    "strange", ["\x1b[2J", "\x9b", "\r", "\n", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028", "ä"]
)
@pytest.mark.parametrize("has_browser", [True, False])
async def test_a_url_to_sign_in_shows_all_that_it_contains(
    strange: str, has_browser: bool, browser: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    given = f"https://login.example.com/a{strange}b?x=%20&y=[1]"
    opened = browser(Mock(return_value=has_browser))
    async with receiving("", "", "st") as receiver, httpx2.AsyncClient() as http:
        waiting = asyncio.create_task(receiver.visit(given))
        while not (text := capsys.readouterr().err):
            await asyncio.sleep(0.005)
        await http.get(f"{receiver.redirect_uri}?state=st&code=x")
        assert await waiting
    (url,) = opened
    assert url.isascii() and url.isprintable() and unquote(url) == unquote(given)
    assert has_browser or text == f"Open this URL to sign in:\n\n  {url}\n\n"


async def test_over_ssh_the_response_is_pasted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "1")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(webbrowser, "open", Mock(side_effect=AssertionError))
    own, other = os.openpty()
    with os.fdopen(other, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        async with receiving("", "", "st") as receiver:
            waiting = asyncio.create_task(receiver.visit("https://login.example.com/"))
            os.write(own, b"nonsense\n")
            await asyncio.sleep(0.02)
            os.write(own, f"{receiver.redirect_uri}?state=st&code=x\n".encode())
            assert (await waiting).endswith("code=x")
    os.close(own)
