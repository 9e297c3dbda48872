"""A message that cannot be read, but whose id can: its call ends at once, its sender gets an answer with the id."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.json.text import Envelope, envelope_of
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.memory import memory_pair
from support.receiving import OneStream
from support.roles import make_server
from support.talk import raw

REFUSED = {
    "a name twice": b'{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}',
    "NaN": b'{"jsonrpc":"2.0","id":%d,"result":{"n":NaN}}',
    "a number that is too large": b'{"result":{"n":1e999},"jsonrpc":"2.0","id":%d}',
    "half a surrogate": b'{"jsonrpc":"2.0","result":{"t":"\\ud800"},"id":%d,"more":{}}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":%d,"result":{"t":"\xff"}}',
    "too deep": b'{"jsonrpc":"2.0","id":%%d,"result":{"a":%b%b}}' % (b"[" * 200, b"]" * 200),
    "cut off": b'{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"na',
    "no jsonrpc": b'{"id":%d,"result":{}}',
    "a result that is not an object": b'{"jsonrpc":"2.0","id":%d,"result":[]}',
    "an error that is refused": b'{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"m","data":Infinity}}',
}


class Script(OneStream):
    """A server that answers everything but `initialize` with one text, in which `%d` is replaced by the id."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.got: list[Any] = []
        self.send: Any = None

    def receive(self, message: bytes) -> None:
        asked = json.loads(message)
        self.got.append(asked)
        if asked.get("method") == "initialize":
            info = {"name": "script", "version": "0"}
            capabilities: Any = {"tools": {}}
            result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
            self.send(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode())
        elif "id" in asked and "method" in asked:
            self.send(self.text.replace(b"%d", b"%d" % asked["id"]))

    def connection_lost(self, reason: Exception | None) -> None:
        """Waits for no answer."""


@asynccontextmanager
async def client_of(text: bytes) -> AsyncGenerator[tuple[v.Client, Script]]:
    here, there = memory_pair()
    script = Script(text)
    script.send = there.send
    await there.start(script)
    peer = Peer(here)
    try:
        yield await v.Client.open(peer, options=ClientOptions(timeout=90)), script
    finally:
        await peer.aclose()


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refused_answer_ends_its_call_at_once(name: str) -> None:
    async with client_of(REFUSED[name]) as (client, script):
        async with asyncio.timeout(60):
            with pytest.raises(RemoteProtocolError, match=r"^tools/list of 2025-11-25: /: "):
                await client.list_tools()
        # Answers are not answered.
        assert [asked["method"] for asked in script.got] == ["initialize", "notifications/initialized", "tools/list"]


REQUESTS = {
    "a name twice": b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":{"a":1,"a":2}}',
    "NaN": b'{"jsonrpc":"2.0","method":"tools/list","params":{"n":NaN},"id":%b}',
    "half a surrogate": b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":{"t":"\\udc00"}}',
    "no jsonrpc": b'{"id":%b,"method":"tools/list"}',
}


@pytest.mark.parametrize(("name", "id_"), [*zip(REQUESTS, (7, "seven") * 2, strict=True)])
async def test_a_refused_request_is_answered_with_its_id(name: str, id_: int | str) -> None:
    async with raw(make_server("2025-11-25")) as line:
        await line.shake_hands("2025-11-25")
        line.send(REQUESTS[name] % json.dumps(id_).encode())
        answer = await line.answer(id_)
    assert answer["error"]["code"] == (-32600 if name == "no jsonrpc" else -32700)


async def test_a_refusal_is_never_taken_for_an_answer() -> None:
    release = asyncio.Event()

    async def wait(self: Any, params: Any, ctx: Any) -> v.CallToolResult:
        await release.wait()
        return v.CallToolResult(content=[])

    async with raw(make_server("2025-11-25", call_tool=wait)) as line:
        await line.shake_hands("2025-11-25")
        line.tell(id=7, method="tools/call", params={"name": "t"})
        line.send(REQUESTS["NaN"] % b"7")
        assert "id" not in line.got[-1] and line.got[-1]["error"]["code"] == -32700
        release.set()
        assert "result" in await line.answer(7)


UNCLEAR = {
    "two ids": b'{"jsonrpc":"2.0","id":1,"result":{"n":NaN},"id":2}',
    "an id of something inside": b'{"jsonrpc":"2.0","result":{"id":1,"n":NaN}}',
    "an id that is cut off": b'{"jsonrpc":"2.0","result":{},"id":1',
    "an id that is none": b'{"jsonrpc":"2.0","result":{"n":NaN},"id":1.5}',
    "several messages": b'[{"jsonrpc":"2.0","id":1,"result":{"n":NaN}}]',
    "text in front of it": b'result: {"jsonrpc":"2.0","id":1,"result":{"n":NaN}}',
    "an id in a text": b'{"jsonrpc":"2.0","result":"\\",\\"id\\":1,","n":NaN}',
    "neither a call nor an answer": b'{"jsonrpc":"2.0","id":1,"n":NaN}',
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_an_ambiguous_id_is_not_used(name: str) -> None:
    assert envelope_of(UNCLEAR[name]) is None


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":{"t":"xxx', b"xxx", Envelope(1, True)),
        (b'{"result":{"t":"xxx', b'xxx"},"jsonrpc":"2.0","id":"a"}', Envelope("a", True)),
        (b'{"method":"x","params":{"t":"xxx', b'"},"jsonrpc":"2.0","id":5}\r', Envelope(5, False)),
        (b'{"id":1,"result":{"t":"xxx', b'xxx"},"id":2}', None),
        (b'{"result":{"t":"xxx', b'\\",\\"id\\":2},"x":[]}', None),
        (b'{"result":{"t":"xxx', b'"inner":{},"id":2}', Envelope(2, True)),
        (b'{"result":{"t":"xxx', b'"id":2}}', None),
    ],
)
def test_the_id_is_found_at_either_end(start: bytes, end: bytes, expected: Envelope | None) -> None:
    assert envelope_of(start, end) == expected


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":' + b"[]" * 2_000_000,
        b"{" + b'"a":1,' * 1_000_000,
        b"{" + b'"a":[],' * 1_000_000,
        b'{"a":"' + b'\\"' * 2_000_000,
        b'{"a":' + b" " * 4_000_000,
        b'{"a":[' + b'"" ' * 340_000,
        b"{" + b'"a":1,' * 170_000,
        b'{"a":' + b"[]" * 500_000,
    ],
    ids=["brackets", "names", "lists", "escapes", "blanks", "1 MB of texts", "1 MB of names", "1 MB of brackets"],
)
def test_looking_for_an_id_takes_bounded_time(text: bytes) -> None:
    def cost(read: Callable[[], Any]) -> float:
        """Return the least of three, since a collection of garbage may fall into one."""
        spent: list[float] = []
        for _ in range(3):
            before = time.process_time()
            assert not isinstance(read(), Envelope)
            spent.append(time.process_time() - before)
        return min(spent)

    numbers = f"[{'1,' * (len(text) // 2)}1]"
    assert cost(lambda: envelope_of(text)) < 10 * cost(lambda: json.loads(numbers)), "on a machine of any speed"


def test_the_ends_of_a_long_message_are_enough() -> None:
    long = b'{"jsonrpc":"2.0","id":7,"result":{"t":"' + b"x" * 2_000_000
    assert envelope_of(long) == Envelope(7, True)
    assert envelope_of(b'{"result":{"t":"' + b"x" * 2_000_000 + b'"},"id":8}') == Envelope(8, True)
    assert envelope_of(long + b'"},"id":8}') is None


LARGE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        info = {"name": "x", "version": "0"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
    elif "id" in asked:
        size = int(asked.get("params", {}).get("cursor", 0))
        result = {"tools": [], "x": "y" * size}
        print(json.dumps(ANSWER), flush=True)
"""
FIRST = '{"jsonrpc": "2.0", "id": asked["id"], "result": result}'
LAST = '{"result": result, "jsonrpc": "2.0", "id": asked["id"]}'


@pytest.mark.parametrize("answer", [FIRST, LAST], ids=["id first", "id last"])
async def test_a_call_whose_answer_is_too_large_ends_at_once(answer: str) -> None:
    command = (sys.executable, "-c", LARGE.replace("ANSWER", answer))
    async with connect_stdio(*command, max_message_bytes=100_000) as peer:
        client = await v.Client.open(peer, options=ClientOptions(timeout=90))
        for size in (100_001, 300_000):
            async with asyncio.timeout(60):
                with pytest.raises(RemoteProtocolError, match="more than 100000 bytes"):
                    await client.list_tools(cursor=str(size))
        assert (await client.list_tools(cursor="1")).tools == []
