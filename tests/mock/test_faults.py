"""Faults happen when they are asked for, in the same process, over stdio and over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from mcp_bindgen.mock import serve, server
from mcp_bindgen.mock.faults import Faults
from mcp_bindings import Client, v2025_11_25, v2026_07_28
from mcp_runtime.core.errors import McpError, PeerError
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.testing import connect
from mock.cafe import cafe, record
from mock.locks import tool, write_lock
from support.http import BOTH, SESSION, browser, served
from support.programs import quick_python

ARGUMENTS = {"city": "Oslo"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
INITIALIZE = {
    **LIST,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ERAS = (v2025_11_25, v2026_07_28)


def lock(folder: Path) -> Path:
    return write_lock(folder, tool("a"), tool("b"))


async def outcomes(client: Any, names: str) -> list[bool]:
    """Call tools; return whether each call failed."""
    found = [await client.call_tool(name=name, arguments=ARGUMENTS) for name in names]
    return [bool(each.is_error) for each in found]


@pytest.mark.parametrize(
    ("fault", "failed"),
    [
        ("error", [True, True, True, True]),
        ("error:b", [False, True, False, True]),
        ("error@2", [False, True, False, False]),
        ("error@2+", [False, True, True, True]),
        ("error:b@2", [False, False, False, True]),
        ("error:tools/list", [False, False, False, False]),
    ],
)
async def test_errors_happen_to_the_calls_that_they_are_for(tmp_path: Path, fault: str, failed: list[bool]) -> None:
    async with connect(server(lock=lock(tmp_path), faults=[fault]), Client) as client:
        assert await outcomes(client, "abab") == failed


async def test_a_tool_that_changed_is_gone_and_clients_are_told(tmp_path: Path) -> None:
    changed = asyncio.Event()

    class Hearing(v2025_11_25.ClientHandlers):
        async def on_tool_list_changed(self, params: Any, ctx: Any) -> None:
            changed.set()

    made = server(lock=lock(tmp_path), faults=["changed:b@2"])
    async with connect(made, v2025_11_25.Client, handlers=Hearing()) as client:
        assert await outcomes(client, "ab") == [False, False]
        with pytest.raises(PeerError, match="Unknown tool: b"):
            await client.call_tool(name="b", arguments=ARGUMENTS)
        await asyncio.wait_for(changed.wait(), 30)
        assert [each.name for each in (await client.list_tools()).tools] == ["a"]


async def test_a_session_has_faults_too(tmp_path: Path) -> None:
    await record(cafe(), Client, tmp_path / "s.jsonl")
    async with connect(server(session=tmp_path / "s.jsonl", faults=["error:serve@1"]), Client) as client:
        assert (await client.call_tool(name="serve", arguments={"tea": "green"})).is_error
        assert (await client.call_tool(name="serve", arguments={"tea": "green"})).structured_content == {"cups": 1}


async def test_a_malformed_answer_and_a_closed_connection(tmp_path: Path) -> None:
    async with connect(server(lock=lock(tmp_path), faults=["malformed:a", "disconnect:b"]), Client) as client:
        for name in "ab":
            with pytest.raises(McpError):
                await client.call_tool(name=name, arguments=ARGUMENTS)
        assert client.connection.closed_because


async def test_a_delay_outlasts_a_timeout(tmp_path: Path) -> None:
    async with connect(server(lock=lock(tmp_path), faults=["delay=3600:a", "delay=0.01:b"]), Client) as client:
        assert await outcomes(client, "b") == [False]
        with pytest.raises(McpError, match="no answer within"):
            await client.call_tool(name="a", arguments=ARGUMENTS, options=CallOptions(timeout=0.2))


@pytest.mark.slow
@pytest.mark.parametrize("package", ERAS, ids=lambda package: package.REVISION)
async def test_faults_below_messages_over_http(tmp_path: Path, package: Any) -> None:
    faults = ["malformed:a@1", "disconnect:a@2", "lost-session:b@1"]
    with serve(lock=lock(tmp_path), faults=faults) as mock:
        async with connect_http(mock.url) as peer:
            client = await package.Client.open(peer)
            for _ in range(2):
                with pytest.raises(McpError):
                    await client.call_tool(name="a", arguments=ARGUMENTS)
            assert await outcomes(client, "a") == [False]
            assert await outcomes(client, "ba") == [False, False], "a lost session is begun again"
        async with connect_http(mock.url) as peer:
            assert await outcomes(await package.Client.open(peer), "ab") == [False, False]
        assert [method for method, _ in mock.calls].count("tools/call") >= 3


async def test_a_lost_session_stays_lost(tmp_path: Path) -> None:
    app = Faults.of(["lost-session:b"], over_http=True).over(asgi_app(server(lock=lock(tmp_path))))
    async with served(app) as url, browser(url) as http:
        begun = await http.post("/", json=INITIALIZE, headers=BOTH)
        headers = {**BOTH, SESSION: begun.headers[SESSION]}
        statuses = [
            (
                await http.post("/", json={**LIST, "method": method, "params": {"name": name}}, headers=headers)
            ).status_code
            for method, name in (("tools/list", "b"), ("tools/call", "b"), ("tools/list", "b"))
        ]
        again = await http.post("/", json=INITIALIZE, headers=BOTH)
    assert statuses == [200, 404, 404] and again.status_code == 200


@pytest.mark.slow
async def test_faults_over_stdio(tmp_path: Path) -> None:
    words = ("-m", "mcp_bindgen", "mock", "--lock", lock(tmp_path), "--fault", "malformed@1", "--fault", "disconnect@2")
    async with connect_stdio(quick_python(), *words) as peer:
        client = await Client.open(peer)
        for reason in ("not JSON", "exited with status 0|closed its output"):
            with pytest.raises(McpError, match=reason):
                await client.call_tool(name="a", arguments=ARGUMENTS)
