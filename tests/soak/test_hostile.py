"""Hostile lines, in memory: whatever a peer sends, every valid request is answered once and nothing is left."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_runtime.core.connection import Connection
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.client import Peer as Target
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.memory import memory_pair
from soak.fire import FREED, VALID, Fire, Peer, blocks, census, honest, request, resident, silent
from soak.hostile import RAW, Hostile, shrink
from soak.scale import SEED, scaled
from soak.targets import client_options, make_handlers, make_server
from support.talk import LEGACY, bindings

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(scaled(120, 3600)),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # one tool returns an invalid result
]

CLIENT_METHODS = ("tools/", "ping", "prompts/", "logging/", "resources/", "completion/", "initialize", "notifications/")
SERVER_METHODS = ("ping", "sampling/", "roots/", "elicitation/", "notifications/")
TOOLS = ("echo", "echo", "wait", "fail", "refuse", "report", "log", "ask", "wrong")
PLAYED = ("2025-03-26", "2025-11-25")
"""With batches and without; the simulator has hostile clients in the others."""
MOST_GROWTH_KB = 8_000
"""What the memory of this process may grow by while all caches are full: the allocator's own doing."""


def ignore(error: McpError) -> None:
    """Record nothing, since each line is a violation."""


@asynccontextmanager
async def server_under_fire(revision: str, hostile: Hostile) -> AsyncGenerator[Fire]:
    here, there = memory_pair()
    connection = await start_server(there, make_server(revision))
    connection.on_error(ignore)
    peer = Peer(here, lambda asked: _badly(hostile, asked), batches=revision == "2025-03-26")
    await here.start(peer)
    info = {"name": "x", "version": "0"}
    hello: dict[str, Any] = {"protocolVersion": revision, "capabilities": {"sampling": {}}, "clientInfo": info}
    here.send(request("hello", "initialize", hello))
    here.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    yield Fire(connection, peer)
    await here.close()
    await connection.wait_closed()


def _badly(hostile: Hostile, asked: dict[str, Any]) -> Sequence[bytes]:
    """Answer a request correctly, invalidly, or not at all."""
    good = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "!"}}
    match hostile.random.randrange(6):
        case 0 | 1:
            return [json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": good}).encode()] * 2
        case 2:
            return [json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "no"}}).encode()]
        case 3:
            return [json.dumps({"jsonrpc": "2.0", "id": str(asked["id"]), "result": good}).encode()]
        case 4:
            return [json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"model": None}}).encode()]
        case _:
            return []


def _tool(id_: str, name: str) -> dict[str, Any]:
    params = {"name": name, "arguments": {"a": 1}, "_meta": {"progressToken": id_}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def valid_for_server(hostile: Hostile, revision: str) -> Callable[[str], bytes]:
    def make(id_: str) -> bytes:
        choose = hostile.random.choice
        if revision == "2025-03-26" and hostile.random.random() < 0.2:
            several = [_tool(f"{id_}-{number}", choose(TOOLS)) for number in range(3)]
            return json.dumps([*several, {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}]).encode()
        if hostile.random.random() < 0.2:
            return request(id_, choose(("ping", "tools/list", "no/such/method")))
        return json.dumps(_tool(id_, choose(TOOLS))).encode()

    return make


def valid_for_client(hostile: Hostile) -> Callable[[str], bytes]:
    message = {"role": "user", "content": {"type": "text", "text": "?"}}

    def make(id_: str) -> bytes:
        method = hostile.random.choice(("ping", "roots/list", "sampling/createMessage", "no/such/method"))
        if method != "sampling/createMessage":
            return request(id_, method)
        return request(id_, method, {"messages": [message], "maxTokens": hostile.random.choice((1, 100))})

    return make


async def under_fire(fire: Fire, attack: Sequence[list[bytes]] | Any, work: Callable[[], Any] | None = None) -> int:
    """Send all blocks; objects and memory must not grow from early on to the end. Returns the number of messages."""
    count = 0
    early: tuple[Any, int] | None = None
    for number, lines in enumerate(attack):
        busy = asyncio.create_task(work()) if work else None
        try:
            await fire.block(lines)
            if busy:
                await busy
        except Exception as error:
            raise Broken(lines, f"{type(error).__name__}: {error}") from error
        count += len(lines)
        if number == 4:
            early = census(), resident()
    if early is not None:
        grown = {name: more for name, more in (census() - early[0]).items() if more > 10}
        assert not grown, f"objects are left: {grown}"
        # Everything is answered by now; one gate belongs to the log messages.
        left = {name: more for name in FREED if (more := census()[name]) > 1}
        assert not left, f"objects are left: {left}"
        assert resident() - early[1] < MOST_GROWTH_KB, f"memory grew by {resident() - early[1]} KB"
    return count


class Broken(Exception):
    """A block broke a connection."""

    def __init__(self, lines: Sequence[bytes], what: str) -> None:
        super().__init__(what)
        self.lines = lines


@pytest.mark.parametrize("revision", PLAYED)
def test_server(revision: str) -> None:
    seed = SEED + LEGACY.index(revision)

    async def fresh(lines: Sequence[bytes]) -> None:
        async with server_under_fire(revision, Hostile(seed, ())) as fire:
            await fire.block(lines, patience=1)

    async def run() -> int:
        hostile = Hostile(seed, [*honest(revision, *CLIENT_METHODS), *(_tool("", name) for name in TOOLS)])
        async with server_under_fire(revision, hostile) as fire:
            return await under_fire(fire, blocks(hostile, valid_for_server(hostile, revision), scaled(40, 1000)))

    assert explained(seed, run, fresh) >= 40_000


@asynccontextmanager
async def client_under_fire(revision: str, hostile: Hostile) -> AsyncGenerator[tuple[Fire, Any]]:
    here, there = memory_pair()
    v = bindings(revision)
    peer = Peer(there, lambda asked: _answers(hostile, revision, asked), batches=revision == "2025-03-26")
    await there.start(peer)
    client = await v.Client.open(Target(here), handlers=make_handlers(revision), options=client_options())
    connection: Connection = client.connection
    connection.on_error(ignore)
    for _ in range(60):  # hostile responses use ids up to 40
        await client.ping()
    yield Fire(connection, peer), client
    await connection.aclose()


def _answers(hostile: Hostile, revision: str, asked: dict[str, Any]) -> Sequence[bytes]:
    """Answer a client: the name in its tool call decides how."""
    result: dict[str, Any] = {}
    id_: Any = asked["id"]
    if asked["method"] == "initialize":
        info = {"name": "x", "version": "0"}
        result = {"protocolVersion": revision, "capabilities": {"tools": {}, "logging": {}}, "serverInfo": info}
    elif asked["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": "well"}]}
        match asked["params"]["name"]:
            case "well":
                again = _dump({"jsonrpc": "2.0", "id": id_, "result": result})
                return [again] * hostile.random.choice((1, 2))
            case "never":
                return [_dump({"jsonrpc": "2.0", "id": str(id_), "result": result})]
            case "junk":
                junk: Any = hostile.random.choice((None, 5, {}, {"content": 5}, {"content": [{"type": "text"}]}))
                return [_dump({"jsonrpc": "2.0", "id": id_, "result": junk})]
            case "error":
                junk = hostile.random.choice((None, {}, {"code": 1, "message": "x"}, {"code": "x", "message": 1}))
                return [_dump({"jsonrpc": "2.0", "id": id_, "error": junk})]
            case _:
                return [hostile.random.choice(RAW)]
    return [_dump({"jsonrpc": "2.0", "id": id_, "result": result})]


def _dump(value: Any) -> bytes:
    return json.dumps(value).encode()


async def _calls(client: Any) -> None:
    """Call tools during the attack: only a valid response is a result, everything else is an error."""

    async def call(name: str) -> None:
        limit = CallOptions(timeout=60 if name == "well" else 0.05)
        try:
            result = await client.call_tool(name=name, options=limit)
        except McpError as error:
            assert name != "well", f"a good answer ended as {error}"
        else:
            assert name == "well" and result.content[0].text == "well"

    for _ in range(3):
        await asyncio.gather(*(call(name) for name in ("well", "well", "never", "junk", "error", "garbage", "well")))


@pytest.mark.parametrize("revision", PLAYED)
def test_client(revision: str) -> None:
    seed = SEED + 10 + LEGACY.index(revision)

    async def fresh(lines: Sequence[bytes]) -> None:
        async with client_under_fire(revision, Hostile(seed, ())) as (fire, _):
            await fire.block(lines, patience=1)

    async def run() -> int:
        hostile = Hostile(seed, honest(revision, *SERVER_METHODS))
        async with client_under_fire(revision, hostile) as (fire, client):
            attack = blocks(hostile, valid_for_client(hostile), scaled(25, 1000))
            return await under_fire(fire, attack, lambda: _calls(client))

    assert explained(seed, run, fresh) >= 25_000


def explained(seed: int, run: Callable[[], Any], fresh: Callable[[Sequence[bytes]], Any]) -> int:
    """Run to the end; a failure reports the seed and the fewest lines that reproduce it in a new connection."""
    with silent():
        try:
            count: int = asyncio.run(run())
        except Broken as broken:
            few = shrink(broken.lines, lambda lines: _breaks(fresh, lines), attempts=60)
            repeats = _breaks(fresh, few)
            shown = "\n".join(repr(line[:500]) for line in few[:10]) if repeats else "(not these lines alone)"
            pytest.fail(f"MCP_SOAK_SEED={SEED} (here {seed}): {broken}\nreproduced by {len(few)} lines:\n{shown}")
    return count


def _breaks(fresh: Callable[[Sequence[bytes]], Any], lines: Sequence[bytes]) -> bool:
    try:
        asyncio.run(fresh(lines))
    except Exception:
        return True
    return False


def test_a_seed_makes_the_same_lines_again() -> None:
    first, second = (Hostile(SEED, honest("2025-06-18", *CLIENT_METHODS)) for _ in range(2))
    assert [first.lines() for _ in range(2000)] == [second.lines() for _ in range(2000)]
    assert not any(VALID.encode() in line for line in first.lines())


def test_a_failure_shrinks_to_the_lines_that_matter() -> None:
    lines = [b"%d" % number for number in range(1000)]
    assert shrink(lines, lambda few: {b"17", b"803"} <= set(few)) == [b"17", b"803"]
