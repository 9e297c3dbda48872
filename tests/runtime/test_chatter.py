"""What a server prints: a banner among its messages, and the traceback of its end."""

import asyncio
import logging
import sys

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from support.own import own
from support.roles import make_server
from support.stdio_peers import eventually
from support.talk import raw

ANSWER = """
import json, sys
{before}
heard = []
for line in sys.stdin:
    asked = json.loads(line)
    heard.append(asked.get("method"))
    if asked.get("method") == "initialize":
        info = {{"name": "x", "version": "0"}}
        result = {{"protocolVersion": "2025-11-25", "capabilities": {{}}, "serverInfo": info}}
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": result}}), flush=True)
    elif "id" in asked:
        print("print-debugging", flush=True)
        print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], "result": {{"heard": heard}}}}), flush=True)
"""
BANNER = r'print("Welcome to Bakery\n=======\n\x1b[31m\u202ered", flush=True)'


async def test_a_banner_is_shown_once_and_not_answered(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mcp_runtime")
    async with connect_stdio(sys.executable, "-c", ANSWER.format(before=BANNER), env={"PYTHONUTF8": "1"}) as peer:
        client = await v.Client.open(peer, options=ClientOptions(timeout=60))
        await client.ping()
        await client.ping()
        answer = await client.ping()
    shown = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    (line,) = shown
    assert "the peer printed text that is not a message; print to stderr: Welcome to Bakery | ======= | " in line
    assert r" | \x1b[31m\u202ered" in line
    assert answer.model_dump()["heard"] == ["initialize", "notifications/initialized", "ping", "ping", "ping"]
    assert sum("print-debugging" in record.getMessage() for record in caplog.records) == 3


@pytest.mark.parametrize("text", ["[info] listening", '{"level": "info", "msg": "listening"}', "[1, 2]", "42", "null"])
async def test_logger_output_counts_as_text(text: str, caplog: pytest.LogCaptureFixture) -> None:
    async with connect_stdio(sys.executable, "-c", ANSWER.format(before=f"print({text!r}, flush=True)")) as peer:
        client = await v.Client.open(peer, options=ClientOptions(timeout=60))
        answer = await client.ping()
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert f"the peer printed text that is not a message; print to stderr: {text}" in record.getMessage()
    assert answer.model_dump()["heard"] == ["initialize", "notifications/initialized", "ping"]


@pytest.mark.parametrize("exits", [True, False])
async def test_a_banner_that_no_message_follows_is_shown(exits: bool, caplog: pytest.LogCaptureFixture) -> None:
    then = "" if exits else "import sys; sys.stdin.read()"
    async with connect_stdio(sys.executable, "-c", f"print('usage: bakery PORT', flush=True)\n{then}") as peer:
        opening = asyncio.create_task(v.Client.open(peer, options=ClientOptions(timeout=60)))
        await eventually(lambda: "usage: bakery PORT" in caplog.text)
        assert exits or not opening.done()
        opening.cancel()
        await asyncio.gather(opening, return_exceptions=True)
    assert caplog.text.count("usage: bakery") == 1


async def test_a_long_banner_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    before = "print('\\n'.join(str(n) * 50 for n in range(1000)), flush=True)"
    async with connect_stdio(sys.executable, "-c", ANSWER.format(before=before)) as peer:
        await v.Client.open(peer, options=ClientOptions(timeout=60))
    assert len(caplog.records) == 1 and len(caplog.records[0].getMessage()) < 1000


async def test_the_traceback_of_a_crashed_server_is_shown_as_lines() -> None:
    program = "import sys; sys.stdin.readline(); raise ValueError('no \\x1b[31m flour \\u202e')"
    lines: list[str] = []
    with pytest.raises(ConnectionClosed) as caught:
        async with connect_stdio(sys.executable, "-c", program, stderr=lines.append) as peer:
            await v.Client.open(peer, options=ClientOptions(timeout=60))
    first, *rest = str(caught.value).split("\n")
    assert first.endswith("exited with status 1; its standard error ended with:")
    assert rest[0] == "    Traceback (most recent call last):"
    assert rest[-1] in (r"    ValueError: no \x1b[31m flour \u202e", r"    ValueError: no \x1b[31m flour \\u202e")
    assert all(line.isprintable() for line in rest)


async def test_a_probing_client_is_logged_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    async with raw(own(make_server("2025-11-25"))) as line:
        meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        with caplog.at_level(logging.DEBUG, "mcp_runtime"):
            answer = await line.ask("server/discover", {"_meta": meta})
        assert answer["error"]["code"] == -32601
        assert not line.errors
        assert [record.levelno for record in caplog.records] == [logging.DEBUG]
        await line.shake_hands("2025-11-25")
