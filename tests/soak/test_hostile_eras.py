"""Hostile lines at a server of both eras on one stream: requests that stand alone, beside a session."""

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from mcp_runtime.inputs import Suspended
from mcp_runtime.server import start_server
from mcp_runtime.transports.memory import memory_pair
from soak.fire import Fire, Peer, blocks, honest, request
from soak.hostile import Hostile
from soak.scale import SEED, scaled
from soak.targets import make_server
from soak.test_hostile import TOOLS, explained, ignore, under_fire

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(scaled(120, 3600)),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # one tool answers what it should not
]

MODERN: Final = "2026-07-28"
METHODS: Final = ("tools/", "prompts/", "resources/", "completion/", "server/", "notifications/")
META: Final[dict[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    "io.modelcontextprotocol/logLevel": "info",
}

STATES: Final[tuple[Any, ...]] = ("", "x", 5, None, {}, "a" * 80)
ANSWERS: Final[tuple[Any, ...]] = (None, {}, {"sampling-1": {}}, {"sampling-1": {"role": 5}}, [1])


@asynccontextmanager
async def both_eras_under_fire() -> AsyncGenerator[Fire]:
    here, there = memory_pair()
    modern = make_server(MODERN, inputs=Suspended(expiry=0.05))
    connection = await start_server(there, make_server("2025-11-25"), modern)
    connection.on_error(ignore)
    peer = Peer(here, lambda asked: [], batches=False)
    await here.start(peer)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    here.send(request("hello", "initialize", hello))
    here.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    yield Fire(connection, peer)
    await here.close()
    await connection.wait_closed()


def tool(id_: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a call of a tool; a retry has a state in `more`."""
    params = {"name": name, "arguments": {"a": 1}, "_meta": {**META, "progressToken": id_}, **more}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def valid(hostile: Hostile) -> Callable[[str], bytes]:
    def make(id_: str) -> bytes:
        choose = hostile.random.choice
        match hostile.random.randrange(6):
            case 0:
                method = choose(("tools/list", "server/discover", "no/such/method", "initialize", "ping"))
                return request(id_, method, {"_meta": META})
            case 1:
                state: Any = choose(STATES)
                answers: Any = choose(ANSWERS)
                return json.dumps(tool(id_, "ask", requestState=state, inputResponses=answers)).encode()
            case 2:
                return request(id_, choose(("tools/list", "ping", "server/discover")))
            case _:
                return json.dumps(tool(id_, choose(TOOLS))).encode()

    return make


def test_server_of_both_eras() -> None:
    seed = SEED + 100

    async def fresh(lines: Sequence[bytes]) -> None:
        async with both_eras_under_fire() as fire:
            await fire.block(lines, patience=1)

    async def run() -> int:
        hostile = Hostile(seed, [*honest(MODERN, *METHODS), *(tool("", name) for name in TOOLS)])
        async with both_eras_under_fire() as fire:
            return await under_fire(fire, blocks(hostile, valid(hostile), scaled(30, 1000)))

    assert explained(seed, run, fresh) >= 30_000
