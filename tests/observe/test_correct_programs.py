"""Correct programs that were called broken: clients that fall back to an older era, early changes, and HTTP clients."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from mcp_bindgen.live.bindings import packages_of
from mcp_bindgen.live.bindings import revisions as released
from mcp_bindgen.live.recording.readings import Reader
from mcp_bindgen.live.relaying.http_proxy import UrlRelay
from mcp_bindings import App, CallOptions, Client, RequestTimeout, asgi_app, connect_http
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.observe.observer import Finding, Observer
from observe.faults import CLIENT, SERVER, Said, call, note, result
from support.http import served
from support.programs import quick_python

META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CODES: Final = (-32000, -32600, -32601, -32602, -32603, 0)
AREAS: Final = ("tools", "prompts", "resources")
INFO: Final = {"name": "x", "version": "1"}
STUBBORN: Final = """\
import json, os, sys, time
print(os.getpid(), file=sys.stderr, flush=True)
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}}), flush=True)
time.sleep(600)
"""
"""A server that ignores the end of its input."""


def handshake(revision: str, capabilities: dict[str, Any], first: int = 1) -> list[Said]:
    """Return a handshake up to the answer of the server."""
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": INFO}
    answer = {"protocolVersion": revision, "capabilities": capabilities, "serverInfo": INFO}
    return [(CLIENT, call(first, "initialize", params)), (SERVER, result(first, answer))]


def fallback(dice: random.Random) -> list[Said]:
    """Return the conversation of a client that probes a legacy server, and falls back."""
    lines: list[Said] = []
    for id_ in range(1, 1 + dice.randint(1, 3)):
        lines.append((CLIENT, call(id_, dice.choice(("server/discover", "tools/list")), {"_meta": META})))
        if dice.random() < 0.8:  # others wait until their time is up
            error = {"jsonrpc": "2.0", "id": id_, "error": {"code": dice.choice(CODES), "message": "no"}}
            lines.append((SERVER, json.dumps(error).encode()))
    lines += handshake(dice.choice(released()[:-1]), {"tools": {}}, 10)
    lines += [(CLIENT, note("notifications/initialized"))]
    return [*lines, (CLIENT, call(11, "tools/list")), (SERVER, result(11, {"tools": []}))]


def watched(lines: list[Said]) -> list[Finding]:
    """Return what an observer reports of a conversation."""
    watching = Observer(package.BINDING for package in packages_of(released()))
    sides = {CLIENT: Side.CLIENT, SERVER: Side.SERVER}
    return [finding for who, line in lines for finding in watching.take(sides[who], line)]


@pytest.mark.parametrize("seed", range(24))
def test_a_client_may_probe_and_fall_back(seed: int) -> None:
    lines = fallback(random.Random(seed))
    assert watched(lines) == []
    reader = Reader(released())
    assert all(reader.read(line, number).is_valid for number, (_, line) in enumerate(lines, start=1))


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("revision", released()[:-1])
def test_a_list_may_change_before_the_client_is_ready(revision: str, area: str) -> None:
    early: Said = (SERVER, note(f"notifications/{area}/list_changed"))
    assert watched([*handshake(revision, {area: {"listChanged": True}}), early]) == []
    [finding] = watched([*handshake(revision, {area: {}}), early])
    assert f"needs the capability server.{area}.listChanged" in finding.reason and not finding.is_warning


@pytest.mark.parametrize("revision", released()[:-1])
def test_an_early_request_of_a_server_is_a_warning(revision: str) -> None:
    [finding] = [
        each
        for each in watched([*handshake(revision, {}), (SERVER, call(1, "roots/list"))])
        if "capability" not in each.reason
    ]
    assert finding.is_warning and "before notifications/initialized" in finding.reason


def test_a_terminated_proxy_ends_a_server_that_ignores_the_end_of_its_input() -> None:
    words = (quick_python(), "-m", "mcp_bindgen", "proxy", "--", sys.executable, "-c", STUBBORN)
    with subprocess.Popen(words, stdin=-1, stdout=-1, stderr=-1) as process:
        assert process.stdin is not None and process.stderr is not None
        server = int(process.stderr.readline())
        process.stdin.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        with pytest.raises(ProcessLookupError):
            os.kill(server, 0)


async def test_a_client_that_disconnects_from_a_url_cancels_its_request(tmp_path: Path) -> None:
    app: App = App("s")
    cancelled = asyncio.Event()

    @app.tool()
    async def wait() -> None:
        """Wait indefinitely."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with (
        served(asgi_app(app)) as url,
        served(UrlRelay(f"{url}/mcp", lambda text, findings: None)) as proxy,
        connect_http(f"{proxy}/mcp") as peer,
    ):
        client = await Client.open(peer)
        with pytest.raises(RequestTimeout):
            await client.call_tool(name="wait", options=CallOptions(timeout=0.2))
        async with asyncio.timeout(20):
            await cancelled.wait()


async def test_an_error_that_explains_a_status_is_not_taken_for_an_answer() -> None:
    reported: list[Any] = []
    async with (
        served(asgi_app(App("s"))) as url,
        served(UrlRelay(f"{url}/mcp", lambda text, findings: reported.append(findings))) as proxy,
        httpx2.AsyncClient(headers={"accept": "application/json, text/event-stream"}) as http,
    ):
        [(_, hello), _] = handshake("2025-11-25", {})
        begun = await http.post(f"{proxy}/mcp", content=hello, headers={"content-type": "application/json"})
        session = {"mcp-session-id": begun.headers["mcp-session-id"]}
        gone = {**session, "accept": "text/event-stream", "last-event-id": "99999-1"}
        for headers in (gone, {**session, "mcp-protocol-version": "1999-01-01"}, {**session, "accept": "text/plain"}):
            assert (await http.get(f"{proxy}/mcp", headers=headers)).status_code >= 400
    assert reported == []
