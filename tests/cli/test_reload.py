"""`mcp-bindgen run --reload`: a change restarts the server, and clients on stdio stay connected."""

import asyncio
import importlib
import json
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_bindgen.live.reloading.restarting import Memory
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from support.command import Cli
from support.http_modern import called, headers_for
from support.programs import quick_python

SERVER = """
from mcp_bindings import App

app = App("shop")

@app.tool()
def price() -> int:
    "Look up a price."
    return 1
"""
COMMAND = ("-m", "mcp_bindgen", "run", "server.py", "--reload")
OWN = ClientOptions(revisions="own")
LISTEN = {
    "jsonrpc": "2.0",
    "id": "l",
    "method": "subscriptions/listen",
    "params": {"notifications": {"toolsListChanged": True}},
}


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def read(lines: list[bytes]) -> list[Any]:
    return [json.loads(each) for each in lines]


def restarted(memory: Memory) -> tuple[list[Any], list[Any]]:
    """Return what the client gets, and the new server."""
    memory.end()
    return read(memory.unanswered()), read(memory.replay())


def greeted() -> Memory:
    memory = Memory()
    memory.replay()
    memory.from_client(line(id=0, method="initialize", params={}))
    offered = {"tools": {"listChanged": True}, "prompts": {}, "resources": {"listChanged": False}}
    memory.from_server(line(id=0, result={"capabilities": offered}))
    memory.from_client(line(method="notifications/initialized"))
    return memory


def test_a_new_server_gets_the_handshake_and_the_subscriptions_of_a_session() -> None:
    memory = greeted()
    for uri, method in (("a", "subscribe"), ("b", "subscribe"), ("a", "unsubscribe")):
        memory.from_client(line(id=f"{method} {uri}", method=f"resources/{method}", params={"uri": uri}))
        memory.from_server(line(id=f"{method} {uri}", result={}))
    to_client, to_server = restarted(memory)
    assert to_client == []
    told = ["initialize", "notifications/initialized", "resources/subscribe"]
    assert [message["method"] for message in to_server] == told and to_server[2]["params"] == {"uri": "b"}
    changed = read(memory.from_server(line(id=0, result={})))
    assert [message["method"] for message in changed] == ["notifications/tools/list_changed"]
    assert memory.from_server(line(id="subscribe b", result={})) == [], "the client has this answer"


def test_requests_that_are_open_fail_unless_they_listen() -> None:
    memory = Memory()
    memory.from_client(json.dumps(LISTEN).encode())
    memory.from_client(line(id=1, method="tools/call"))
    memory.from_client(line(id=2, method="tools/call"))
    memory.from_client(line(method="notifications/cancelled", params={"requestId": 2}))
    memory.end()
    assert memory.from_server(line(id="l", result={})) == [], "a restart does not end a subscription"
    cancelled = line(method="notifications/cancelled", params={"requestId": "l"})
    assert memory.from_server(cancelled) == []
    to_client, to_server = restarted(memory)
    assert [message["id"] for message in to_client] == [1] and to_client[0]["error"]["code"] == -32603
    assert to_server == [LISTEN]
    meta = {"io.modelcontextprotocol/subscriptionId": "l"}
    params = {"_meta": meta, "notifications": {"toolsListChanged": True}}
    acknowledged = line(method="notifications/subscriptions/acknowledged", params=params)
    changed = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {"_meta": meta}}
    assert read(memory.from_server(acknowledged)) == [changed]
    assert memory.from_server(cancelled) == [cancelled], "the new server ends it"
    assert memory.from_server(line(id="l", result={})) != []
    assert restarted(memory) == ([], [])


def test_answers_reach_only_the_server_that_asked() -> None:
    memory = greeted()
    [first] = read(memory.from_server(line(id=1, method="ping")))
    to_client, _ = restarted(memory)
    assert [message["params"]["requestId"] for message in to_client] == [first["id"]]
    [second] = read(memory.from_server(line(id=1, method="ping")))
    assert first["id"] != second["id"]
    assert memory.from_client(line(id=first["id"], result={})) == []
    assert read(memory.from_client(line(id=second["id"], result={}))) == [{"jsonrpc": "2.0", "id": 1, "result": {}}]
    assert memory.from_client(line(id=second["id"], result={})) == []
    [third] = read(memory.from_server(line(id=2, method="ping")))
    [cancelled] = read(memory.from_server(line(method="notifications/cancelled", params={"requestId": 2})))
    assert cancelled["params"]["requestId"] == third["id"]


@pytest.mark.parametrize("text", [b"oops", b"[1]", b"7", b"{}", b'{"id":[1],"method":"ping"}', b"[" * 9999])
def test_other_lines_pass_or_vanish(text: bytes) -> None:
    memory = Memory()
    assert memory.from_client(text) in ([text], [])
    assert memory.from_server(text) == [text]


def test_batches_pass_as_they_are() -> None:
    memory = Memory()
    batch = json.dumps([{"id": 1, "method": "ping"}, {"id": 2, "method": "ping"}]).encode()
    assert memory.from_client(batch) == [batch]
    assert [message["id"] for message in read(memory.unanswered())] == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("revision", ["2024_11_05", "2025_11_25", "2026_07_28"])
async def test_clients_on_stdio_see_each_change(tmp_path: Path, revision: str) -> None:
    file = tmp_path / "server.py"
    file.write_text(SERVER, "utf-8")
    mcp: Any = importlib.import_module(f"mcp_bindings.v{revision}")
    said: list[str] = []
    async with (
        asyncio.timeout(90),
        connect_stdio(quick_python(), *COMMAND, cwd=tmp_path, stderr=said.append, inherit_env=True) as peer,
    ):
        client = await mcp.Client.open(peer, options=OWN)
        if revision == "2026_07_28":
            changes = await client.listen(tools=True)
        else:
            changes = client.notifications(mcp.METHODS["notifications/tools/list_changed"])
        assert [tool.name async for tool in client.iter_tools()] == ["price"]
        for name in ("cost", "oops(", "worth"):
            file.write_text(SERVER.replace("price()", f"{name}()"), "utf-8")
            if name != "oops(":
                await anext(changes)
                assert [tool.name async for tool in client.iter_tools()] == [name]
                continue
            while not any("was never closed" in text or "invalid syntax" in text for text in said):
                await asyncio.sleep(0.1)
            with pytest.raises(PeerError, match="does not start"):
                await client.call_tool(name="cost")


@pytest.mark.slow
async def test_http_restarts_even_within_a_second_of_the_last_change(tmp_path: Path) -> None:
    (file := tmp_path / "server.py").write_text(SERVER, "utf-8")
    second = file.stat().st_mtime
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = (quick_python(), *COMMAND, "--http", "--port", "0")
    process = await asyncio.create_subprocess_exec(
        *command, cwd=tmp_path, env=environment, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None

    async def url() -> str:
        assert process.stderr is not None
        while not (text := await process.stderr.readline()).startswith(b"serving at "):
            assert text, "it ended"
        return text.decode().removeprefix("serving at ").strip()

    try:
        async with asyncio.timeout(90), httpx2.AsyncClient(timeout=40) as http:
            for value in ("1", "2"):
                place = await url()
                message = called("price")
                answer = await http.post(place, json=message, headers=headers_for(message))
                assert answer.json()["result"]["structuredContent"] == int(value)
                file.write_text(SERVER.replace("return 1", "return 2"), "utf-8")
                os.utime(file, (second, second))
    finally:
        process.terminate()
        await process.communicate()


def test_a_file_that_does_not_exist_is_refused(cli: Cli) -> None:
    assert "no such file" in cli("run", "nothing.py", "--reload", expect=2).err
