"""Requests to URLs that peers name are bounded, and reach only what a peer may name."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_runtime.auth import fetching
from mcp_runtime.auth.fetching import MAX_BYTES, Reach, check_url, fetch, is_public
from mcp_runtime.core.errors import AuthorizationError
from support.certificates import certificate

HERE = Reach(private=True)
JSON = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"tea": 12}'


@asynccontextmanager
async def answering(answer: bytes, tls: ssl.SSLContext | None = None) -> AsyncGenerator[tuple[int, list[bytes]]]:
    """Answer each request with the same bytes, or not at all; yields the port and the heads of the requests."""
    heads: list[bytes] = []

    async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        await (writer.drain() if answer else reader.read())
        writer.close()

    server = await asyncio.start_server(answered, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield server.sockets[0].getsockname()[1], heads


def resolving(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Let names resolve to the given addresses, a list per question; returns the names that were asked for."""
    asked: list[str] = []
    rest = list(answers)

    async def getaddrinfo(self: Any, host: Any, port: Any, **_: Any) -> Any:
        asked.append(host)
        return [(2, 1, 6, "", (address, port)) for address in (rest.pop(0) if len(rest) > 1 else rest[0])]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", getaddrinfo)
    return asked


async def test_a_document_is_read() -> None:
    async with answering(JSON) as (port, heads):
        found = await fetch(f"http://127.0.0.1:{port}/a?b=c", "reading", HERE, headers={"x-tea": "green"})
    assert (found.status, found.json()) == (200, {"tea": 12})
    head = heads[0].decode()
    assert head.startswith("GET /a?b=c HTTP/1.1\r\n")
    assert f"host: 127.0.0.1:{port}\r\n" in head.lower()
    assert "x-tea: green" in head


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 302 Found\r\nlocation: https://example.com/\r\ncontent-length: 0\r\n\r\n", "redirects"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (MAX_BYTES + 1), "more than 65,536 bytes"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\nxx", "compressed"),
        (b"what?", "what|protocol|disconnected"),
    ],
    ids=["redirect", "large", "compressed", "not http"],
)
async def test_an_unusual_response_is_an_error(answer: bytes, problem: str) -> None:
    async with answering(answer) as (port, heads):
        with pytest.raises(AuthorizationError, match=problem) as caught:
            await fetch(f"http://127.0.0.1:{port}/a?secret=1", "reading keys", HERE)
    assert len(heads) == 1
    assert caught.value.step == "reading keys"
    assert caught.value.url == f"http://127.0.0.1:{port}/a"
    assert "secret" not in f"{caught.value} {caught.value!r} {caught.value.args}"
    assert caught.value.__suppress_context__


async def test_a_silent_server_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "SECONDS", 0.05)
    async with answering(b"") as (port, _):
        with pytest.raises(AuthorizationError, match=r"no response within 0\.05 s"):
            await fetch(f"http://127.0.0.1:{port}/", "reading", HERE)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://127.0.0.1.example.com/",
        "http://127.0.0.1@example.com/",
        "https://user:pw12@example.com/",
        "https://user@example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https:///path",
        "https://example.com:0/",
        "//example.com/",
        "",
        "https://[::1",
    ],
)
@pytest.mark.requirement("signing-in.https")
def test_a_url_that_is_not_safe_is_refused(url: str) -> None:
    with pytest.raises(AuthorizationError) as caught:
        check_url(url, "reading")
    assert "pw12" not in str(caught.value)


def test_insecure_allows_http() -> None:
    assert check_url("http://example.com/", "reading", insecure=True).host == "example.com"
    assert check_url("http://localhost:3000/", "reading").port == 3000


@pytest.mark.parametrize(
    "address",
    (
        "127.0.0.1 10.1.2.3 172.31.0.1 192.168.0.1 100.64.0.1 169.254.169.254 0.0.0.0 192.0.0.8 198.18.0.1 224.0.0.1"
        " 255.255.255.255 ::1 :: fc00::1 fe80::1 ff02::1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b::7f00:1"
        " 64:ff9b:1::808:808 2002:a00:1:: 2001:db8::1 2001:0:1:: fec0::1 fe80::1%1 ::127.0.0.1"
    ).split(),
)
@pytest.mark.requirement("signing-in.addresses")
async def test_addresses_that_are_not_public_are_not_reached(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    assert not is_public(address)
    asked = resolving(monkeypatch, [address])
    with pytest.raises(AuthorizationError, match="not public"):
        await fetch("https://example.com/", "reading", Reach())
    assert asked == ["example.com"]


def test_public_addresses_are_public() -> None:
    for address in "8.8.8.8 192.0.1.1 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8 2002:808:808::".split():
        assert is_public(address), address


@pytest.mark.parametrize("address", ["169.254.169.254", "64:ff9b::a9fe:a9fe", "fe80::1", "0.0.0.0", "224.0.0.1"])
async def test_some_addresses_are_never_reached(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving(monkeypatch, [address])
    with pytest.raises(AuthorizationError, match="not public"):
        await fetch("https://example.com/", "reading", Reach(private=True, insecure=True))


async def test_one_address_that_is_not_public_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["8.8.8.8", "10.0.0.1"])
    with pytest.raises(AuthorizationError, match=r"10\.0\.0\.1, which is not public"):
        await fetch("https://example.com/", "reading", Reach())


async def test_http_needs_a_loopback_address(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, ["10.0.0.1"])
    with pytest.raises(AuthorizationError, match="not https"):
        await fetch("http://localhost/", "reading", HERE)


async def test_a_name_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection goes to the address that was checked, whatever the name resolves to the next time."""
    async with answering(JSON) as (port, heads):
        asked = resolving(monkeypatch, ["127.0.0.1"], ["10.0.0.1"])
        found = await fetch(f"http://login.localhost:{port}/", "reading", HERE)
    assert found.status == 200
    assert asked == ["login.localhost"]
    assert f"host: login.localhost:{port}" in heads[0].decode().lower()


async def test_the_next_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async with answering(JSON) as (port, _):
        resolving(monkeypatch, ["127.0.0.99", "127.0.0.1"])
        assert (await fetch(f"http://localhost:{port}/", "reading", HERE)).status == 200


@pytest.fixture
def trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ssl.SSLContext]:
    """Make and trust a certificate; returns the context of its server."""

    def made(name: str) -> ssl.SSLContext:
        chain, key = certificate(tmp_path, name)
        monkeypatch.setattr(fetching, "trusted", lambda: ssl.create_default_context(cafile=str(chain)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain, key)
        return context

    return made


async def test_the_certificate_is_that_of_the_name(
    monkeypatch: pytest.MonkeyPatch, trusted: Callable[[str], ssl.SSLContext]
) -> None:
    async with answering(JSON, trusted("login.example.com")) as (port, _):
        resolving(monkeypatch, ["127.0.0.1"])
        assert (await fetch(f"https://login.example.com:{port}/", "reading", HERE)).status == 200
        with pytest.raises(AuthorizationError, match=r"(?i)certificate"):
            await fetch(f"https://other.example.com:{port}/", "reading", HERE)
