"""2026-07-28 over HTTP with third-party servers, and the era detected for each."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from interop.modern_client import SEEN, Host, seen_by
from interop.processes import SDK1, SDK2, TESTS, interpreter
from mcp_bindings import v2025_11_25
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import PeerError, UnsupportedRevision
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.opening import open_any

pytestmark = pytest.mark.interop

MODERN_SERVER = str(TESTS / "interop" / "peers" / "sdk_modern_server.py")
OPTIONS = ClientOptions(timeout=60, probe_timeout=60)


@contextmanager
def serving(*command: str) -> Generator[str]:
    """Start a server; yields its URL."""
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def theirs(*options: str) -> tuple[str, ...]:
    return (interpreter(SDK2.runs), MODERN_SERVER, *options, "--http")


@pytest.mark.parametrize("options", [(), ("--modern",)], ids=["both eras", "modern only"])
async def test_our_client_at_their_server(options: tuple[str, ...]) -> None:
    host = Host()
    with serving(*theirs(*options)) as url:
        async with connect_http(url) as peer:
            client = await open_any(peer, v.Client, v2025_11_25.Client, handlers=[host], options=OPTIONS)
            assert isinstance(client, v.Client)
            seen = await seen_by(client, host)
            assert seen.pop("tools") == [*SEEN["tools"], "weigh"]
            assert seen == {name: value for name, value in SEEN.items() if name != "tools"}
            for region in ("us-west1", "Zürich\r\n", "=?base64?x?=", " "):
                result = await client.call_tool(name="weigh", arguments={"region": region, "grams": 5})
                assert [block.text for block in result.content if isinstance(block, v.TextContent)] == [f"{region} 5"]
        async with connect_http(url) as peer:
            client = await v.Client.open(peer, options=OPTIONS)
            # The tools were not listed, so their server refuses the call first.
            await client.call_tool(name="weigh", arguments={"region": "us-west1"})


async def test_a_server_of_both_eras_can_be_used_in_either() -> None:
    with serving(*theirs()) as url:
        async with connect_http(url) as peer:
            older = await open_any(peer, v.Client, v2025_11_25.Client, options=ClientOptions(era="legacy"))
            assert isinstance(older, v2025_11_25.Client)
            await older.ping()
        async with connect_http(url) as peer:
            assert isinstance(await open_any(peer, v.Client, v2025_11_25.Client, options=OPTIONS), v.Client)


def legacy_servers() -> dict[str, Any]:
    return {"mcp 2.3.0": lambda: theirs("--legacy"), "mcp 1.30.0": lambda: SDK1.server_command("--http")}


@pytest.mark.parametrize("server", legacy_servers())
async def test_a_legacy_server_is_detected(server: str) -> None:
    with serving(*legacy_servers()[server]()) as url:
        for _ in range(2):
            async with connect_http(url) as peer:
                client = await open_any(peer, v.Client, v2025_11_25.Client, options=OPTIONS)
                assert isinstance(client, v2025_11_25.Client)
                assert [tool.name async for tool in client.iter_tools()]
        async with connect_http(url) as peer:
            with pytest.raises(UnsupportedRevision, match=r"this side speaks 2026-07-28"):
                await v.Client.open(peer, options=replace(OPTIONS, revisions="own"))
        async with connect_http(url) as peer:
            bridged = await v.Client.open(peer, options=OPTIONS)
            assert bridged.connection.revision == v2025_11_25.REVISION


async def test_a_client_of_2025_11_25_is_bridged_to_a_modern_server() -> None:
    with serving(*theirs("--modern")) as url:
        async with connect_http(url) as peer:
            with pytest.raises(PeerError):
                await v2025_11_25.Client.open(peer, options=replace(OPTIONS, revisions="own"))
        async with connect_http(url) as peer:
            client = await v2025_11_25.Client.open(peer, options=OPTIONS)
            assert client.connection.revision == v.REVISION
            assert "weigh" in [tool.name async for tool in client.iter_tools()]
            result = await client.call_tool(name="weigh", arguments={"region": "us"})
            assert not result.is_error
