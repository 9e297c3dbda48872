"""`mcp-bindgen proxy --http -- COMMAND`: HTTP clients of both eras at a server on standard input and output."""

import asyncio
import json
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.http import connect_http
from support.programs import quick_python
from support.talk import bindings

SERVER = """
import asyncio, os
from pydantic import BaseModel
from mcp_bindings import App, Context

app = App("kitchen")

class Choice(BaseModel):
    cups: int

@app.tool()
async def brew(tea: str, ctx: Context) -> str:
    "Ask and brew."
    await ctx.report_progress(1, 2, tea)
    choice = await ctx.elicit(f"How much {tea}?", Choice)
    await ctx.log("info", tea)
    return f"{tea}: {choice.cups}" if choice else "none"

@app.tool()
async def process() -> int:
    "Which process?"
    return os.getpid()

@app.tool()
async def end() -> int:
    "End without an answer."
    os._exit(3)

@app.tool()
async def wait(path: str) -> str:
    "Wait until it is cancelled, and write that to a file."
    try:
        await asyncio.sleep(60)
    finally:
        open(path, "w").write("cancelled")
    return "late"

app.run()
"""
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
INFO = {"name": "x", "version": "1"}


@contextmanager
def served(folder: Path) -> Generator["tuple[str, subprocess.Popen[str]]"]:
    """Start the proxy before a server; yields its URL and its process."""
    server = folder / "kitchen.py"
    server.write_text(SERVER)
    words = (quick_python(), "-m", "mcp_bindgen", "proxy", "--fail", "--http", "--port", "0", "--", quick_python())
    with subprocess.Popen((*words, str(server)), stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.stderr.readline().removeprefix("proxy: connect to ").strip(), process
        finally:
            process.kill()


def post(url: str, method: str, params: dict[str, Any], *, id_: int | None = 1, session: str = "") -> httpx2.Response:
    """Send a message of the legacy era."""
    message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if id_ is None else {"id": id_})}
    headers = {**HEADERS, **({"mcp-session-id": session} if session else {})}
    return httpx2.post(url, headers=headers, json=message, timeout=60)


def answer(response: httpx2.Response) -> Any:
    """Return the answer of a request, sent alone or as the only event of a stream."""
    return json.loads(response.text.partition("data: ")[2] or response.text)


def begin(url: str) -> str:
    """Begin a session; return its id."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}
    response = post(url, "initialize", hello)
    assert answer(response)["result"]["protocolVersion"] == "2025-11-25"
    session = response.headers["mcp-session-id"]
    assert post(url, "notifications/initialized", {}, id_=None, session=session).status_code == 202
    return session


def called(url: str, tool: str, session: str) -> Any:
    return answer(post(url, "tools/call", {"name": tool, "arguments": {}}, session=session))


async def talk(url: str, revision: str) -> list[str]:
    """Call a tool several times at once, which reports progress and asks; return what it says."""
    package = bindings(revision)

    async def elicit(self: Any, params: Any, ctx: Any) -> Any:
        return package.ElicitResult(action="accept", content={"cups": 2})

    handlers = type("Handlers", (package.ClientHandlers,), {"elicit": elicit})()
    async with connect_http(url) as peer:
        client = await package.Client.open(peer, handlers=handlers)
        assert client.connection.revision == revision

        async def call(number: int) -> str:
            heard: list[str | None] = []
            options = CallOptions(progress=lambda progress, total, message: heard.append(message))
            result = await client.call_tool(name="brew", arguments={"tea": f"{revision} {number}"}, options=options)
            assert heard == [f"{revision} {number}"]
            return str(result.content[0].text)

        return list(await asyncio.gather(*map(call, range(3))))


@pytest.mark.slow
async def test_clients_of_both_eras_are_served_at_once(tmp_path: Path) -> None:
    with served(tmp_path) as (url, process):
        revisions = ("2026-07-28", "2026-07-28", "2025-11-25", "2025-06-18")
        for revision, said in zip(
            revisions, await asyncio.gather(*(talk(url, each) for each in revisions)), strict=True
        ):
            assert said == [f"{revision} {number}: 2" for number in range(3)]
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert ", 0 broken; the proxy was stopped" in process.stderr.read() and process.wait(60) == 0


async def test_a_client_that_leaves_cancels_its_request(tmp_path: Path) -> None:
    with served(tmp_path) as (url, _):
        async with connect_http(url) as peer:
            client = await bindings("2026-07-28").Client.open(peer)
            path = tmp_path / "told"
            with pytest.raises(RequestTimeout):
                await client.call_tool(name="wait", arguments={"path": str(path)}, options=CallOptions(timeout=2))
            with suppress(TimeoutError):
                async with asyncio.timeout(10):
                    while not path.exists():
                        await asyncio.sleep(0.05)
            assert path.read_text() == "cancelled"


async def test_sessions_have_processes_of_their_own_and_other_requests_share_one(tmp_path: Path) -> None:
    async def process_of(url: str) -> Any:
        async with connect_http(url) as peer:
            client = await bindings("2026-07-28").Client.open(peer)
            return (await client.call_tool(name="process")).structured_content

    with served(tmp_path) as (url, _):
        sessions = [begin(url), begin(url)]
        found = [called(url, "process", session)["result"]["content"][0]["text"] for session in sessions]
        shared = await process_of(url)
        assert len({*found, str(shared)}) == 3 and await process_of(url) == shared

        assert "the server has ended" in called(url, "end", sessions[0])["error"]["message"]
        assert post(url, "ping", {}, session=sessions[0]).status_code == 404
        assert httpx2.delete(url, headers={"mcp-session-id": sessions[1]}).status_code == 204
        assert post(url, "ping", {}, session=sessions[1]).status_code == 404


@pytest.mark.slow
def test_a_stream_is_resumed_and_an_open_one_does_not_delay_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as (url, process):
        headers = {"accept": "text/event-stream", "mcp-session-id": begin(url)}
        json_headers = {**HEADERS, **headers, "accept": HEADERS["accept"]}
        params = {"name": "brew", "arguments": {"tea": "oolong"}, "_meta": {"progressToken": 1}}
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
        with httpx2.stream("POST", url, headers=json_headers, json=call, timeout=60) as response:
            lines = response.iter_lines()
            first = next(line for line in lines if line.startswith("id: "))
            assert "notifications/progress" in next(lines)
        with httpx2.stream(
            "GET", url, headers={**headers, "last-event-id": first.removeprefix("id: ")}, timeout=60
        ) as response:
            result = next(line for line in response.iter_lines() if line.startswith("data: "))
            assert json.loads(result.removeprefix("data: "))["id"] == 2
        with httpx2.stream("GET", url, headers=headers, timeout=60) as response:
            assert response.status_code == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0


def test_other_requests_are_refused(tmp_path: Path) -> None:
    with served(tmp_path) as (url, _):
        assert httpx2.post(url, headers={**HEADERS, "host": "evil.example"}, json={}).status_code == 403
        assert httpx2.post(url, headers={**HEADERS, "origin": "http://evil.example"}, json={}).status_code == 403
        assert httpx2.post(url, headers=HEADERS, content=b"{").status_code == 400
        assert httpx2.get(url, headers={"accept": "text/event-stream"}).status_code == 405
        assert post(url, "tools/list", {}).status_code == 400
