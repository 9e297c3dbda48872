"""`mcp-bindgen proxy --record` writes down what passes, and a mock of it says the same, over stdio and HTTP."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.live.recording.record import Recorder
from mcp_bindgen.live.relaying.http_proxy import UrlRelay
from mcp_bindgen.mock import serve
from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.core.transports.http import connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from mock.cafe import lines_of
from mock.locks import tool, write_lock
from support.command import Cli
from support.documents import ROOT
from support.http import served
from support.programs import quick_python

TRACKER = str(ROOT / "examples" / "tracker.py")
MOCK = ("-m", "mcp_bindgen", "mock", "--session")


async def track(client: Any) -> None:
    """Hold a conversation with the tracker."""
    await client.list_tools()
    await client.call_tool(name="open_issue", arguments={"title": "Leaks"})
    await client.call_tool(name="import_issues", arguments={"titles": ["a", "b"]})
    await client.call_tool(name="get_issue", arguments={"number": 9})
    await client.call_tool(name="search_issues", arguments={"limit": 99})


@pytest.mark.slow
@pytest.mark.parametrize("package", [v2025_11_25, v2026_07_28], ids=lambda package: package.REVISION)
async def test_a_session_over_stdio_is_replayed_byte_for_byte(tmp_path: Path, package: Any) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    for path, words in ((first, (TRACKER,)), (second, (*MOCK, str(first)))):
        proxy = (quick_python(), "-m", "mcp_bindgen", "proxy", "--record", str(path), "--", quick_python(), *words)
        async with connect_stdio(*proxy, cwd=str(tmp_path)) as peer:
            await track(await package.Client.open(peer))
    for side in (None, "client", "server"):  # messages of the two sides may cross
        replayed, original = ([line for line in lines_of(path) if line[0] == side] for path in (second, first))
        assert replayed == original and original


@asynccontextmanager
async def recorded(url: str, path: Path) -> AsyncGenerator[str]:
    """Record what passes over HTTP; yields the URL of the proxy."""
    recorder = Recorder(path, mask=True)
    async with served(UrlRelay(url, lambda text, findings: None, recorder.take)) as proxy:
        yield f"{proxy}/mcp"
    recorder.close()


@pytest.mark.slow
@pytest.mark.parametrize("package", [v2025_11_25, v2026_07_28], ids=lambda package: package.REVISION)
async def test_a_session_over_http_is_replayed_byte_for_byte(tmp_path: Path, package: Any) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    lock = write_lock(tmp_path, tool("a"), tool("b"))
    with serve(lock=lock) as real:
        async with recorded(real.url, first) as url, connect_http(url) as peer:
            await ask_twice(await package.Client.open(peer))
    with serve(session=first) as mock:
        async with recorded(mock.url, second) as url, connect_http(url) as peer:
            await ask_twice(await package.Client.open(peer))
        assert mock.unrecorded == []
    for replayed, written in zip(lines_of(second), lines_of(first), strict=True):
        assert replayed == written


async def ask_twice(client: Any) -> None:
    await client.list_tools()
    for city in ("Oslo", "Rome"):
        await client.call_tool(name="a", arguments={"city": city})


def test_recordings_hold_what_is_not_json_and_how_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    recorder = Recorder(path, mask=True)
    recorder.take(1, "client", b'{"jsonrpc": "2.0",  "id": 1e2, "method": "ping"}')
    recorder.take(1, "server", b"Bearer abcdefghijkl0123456789 starting")
    recorder.take(2, "server", b'{\n"a": {"password": "x"}}')
    recorder.close()
    header, ping, noise, secret = path.read_text("utf-8").splitlines()
    assert json.loads(header) == {"session": 1}
    assert ping.endswith('"message": {"jsonrpc": "2.0",  "id": 1e2, "method": "ping"}}')
    assert json.loads(noise)["text"] == "Bearer *** starting"
    assert json.loads(secret)["message"] == {"a": {"password": "***"}}


def test_a_recording_that_cannot_be_written_is_one_line(cli: Cli, tmp_path: Path) -> None:
    (line,) = cli("proxy", "--record", tmp_path, "--", "true", expect=2).err.splitlines()
    assert line.endswith("cannot be written: Is a directory")
