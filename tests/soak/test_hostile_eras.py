"""Hostile lines sent to a server of both eras on one stream, and to a client of the modern era."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from mcp_runtime.core.changes.subscriptions import list_changed
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.client import Peer as Target
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.settings import Suspended
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.memory import memory_pair
from soak.fire import Fire, Peer, blocks, honest, request
from soak.hostile import RAW, Hostile
from soak.scale import SEED, scaled
from soak.targets import client_options, make_handlers, make_server
from soak.test_hostile import TOOLS, explained, ignore, under_fire
from support.talk import bindings

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(scaled(120, 3600)),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),  # one tool returns an invalid result
]

MODERN: Final = "2026-07-28"
METHODS: Final = ("tools/", "prompts/", "resources/", "completion/", "server/", "subscriptions/", "notifications/")
META: Final[dict[str, Any]] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {"sampling": {}},
    "io.modelcontextprotocol/logLevel": "info",
}

ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
STATES: Final[tuple[Any, ...]] = ("", "x", 5, None, {}, "a" * 80)
ANSWERS: Final[tuple[Any, ...]] = (None, {}, {"sampling-1": {}}, {"sampling-1": {"role": 5}}, [1])


class Listener(Peer):
    """Ends each subscription once it was acknowledged and a list has changed, so that none stays open.

    Attributes:
        server: the server that clients subscribe to.
        acknowledged: how many subscriptions there were.
    """

    server: Any
    acknowledged = 0

    def receive(self, message: bytes) -> None:
        super().receive(message)
        value: Any = json.loads(message)
        if value.get("method") == ACKNOWLEDGED:
            self.acknowledged += 1
            id_ = value["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
            asyncio.get_running_loop().create_task(self._change_and_end(id_))

    async def _change_and_end(self, id_: Any) -> None:
        await list_changed(self.server, "tools")
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
        self.transport.send(json.dumps(cancelled).encode())


@asynccontextmanager
async def both_eras_under_fire() -> AsyncGenerator[Fire]:
    here, there = memory_pair()
    modern = make_server(MODERN, inputs=Suspended(expiry=0.05), list_changed=True)
    connection = await start_server(there, make_server("2025-11-25"), modern)
    connection.on_error(ignore)
    peer = Listener(here, lambda asked: [], batches=False)
    peer.server = modern
    await here.start(peer)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}
    here.send(request("hello", "initialize", hello))
    here.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
    yield Fire(connection, peer)
    await here.close()
    await connection.wait_closed()


def tool(id_: str, name: str, **more: Any) -> dict[str, Any]:
    """Return a tool call; a retry has a state in `more`."""
    params = {"name": name, "arguments": {"a": 1}, "_meta": {**META, "progressToken": id_}, **more}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def valid(hostile: Hostile) -> Callable[[str], bytes]:
    def make(id_: str) -> bytes:
        choose = hostile.random.choice
        match hostile.random.randrange(7):
            case 0:
                method = choose(("tools/list", "server/discover", "no/such/method", "initialize", "ping"))
                return request(id_, method, {"_meta": META})
            case 1:
                state: Any = choose(STATES)
                answers: Any = choose(ANSWERS)
                return json.dumps(tool(id_, "ask", requestState=state, inputResponses=answers)).encode()
            case 2:
                return request(id_, choose(("tools/list", "ping", "server/discover")))
            case 3:
                wanted: Any = choose(({"toolsListChanged": True}, {"resourceSubscriptions": ["a:/x"]}, {}, None, 5))
                return request(
                    id_.replace("valid", "listen"), "subscriptions/listen", {"_meta": META, "notifications": wanted}
                )
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
            count = await under_fire(fire, blocks(hostile, valid(hostile), scaled(30, 1000)))
            assert isinstance(fire.peer, Listener) and fire.peer.acknowledged > 50
            return count

    assert explained(seed, run, fresh) >= 30_000


class ClientFire(Fire):
    """A client of the modern era under attack: it answers nothing, and its calls show that it still works."""

    client: Any

    async def is_alive(self) -> None:
        assert not self.peer.answers, f"a client answered {self.peer.answers.most_common(3)}"
        for name in ("well", "ask"):
            result = await self.client.call_tool(name=name, options=CallOptions(timeout=60))
            assert result.content[0].text == "well"


@asynccontextmanager
async def client_under_fire(hostile: Hostile) -> AsyncGenerator[ClientFire]:
    here, there = memory_pair()
    peer = Peer(there, lambda asked: answers(hostile, asked), batches=False)
    await there.start(peer)
    package = bindings(MODERN)
    client = await package.Client.open(Target(here), handlers=make_handlers(MODERN), options=client_options())
    client.connection.on_error(ignore)
    for _ in range(60):  # hostile responses use ids up to 40
        await client.list_tools()
    fire = ClientFire(client.connection, peer)
    fire.client = client
    yield fire
    await client.connection.aclose()


QUESTION: Final[dict[str, Any]] = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 1},
}
WRONG_QUESTIONS: Final[tuple[Any, ...]] = (
    None,
    [],
    {},
    {"q": None},
    {"q": {"method": "no/such/method"}},
    {"q": {"method": "tools/call", "params": {"name": "x"}}},
    {"q": {"method": "sampling/createMessage"}},
    {key: {"method": "elicitation/create"} for key in (f"q{number}" for number in range(100))},
)


def answers(hostile: Hostile, asked: dict[str, Any]) -> Sequence[bytes]:
    """Answer a client: the name in its tool call decides how."""
    params: dict[str, Any] = asked["params"]
    choose = hostile.random.choice
    match asked["method"], params.get("name"):
        case "server/discover", _:
            return [result(asked, supportedVersions=[MODERN], capabilities={"tools": {}, "logging": {}})]
        case "tools/list", _:
            return [result(asked, tools=[])]
        case "tools/call", "ask" if "inputResponses" not in params:
            return [result(asked, resultType="input_required", inputRequests={"q": QUESTION}, requestState="s")]
        case "tools/call", "wrong":
            return [result(asked, resultType="input_required", inputRequests=choose(WRONG_QUESTIONS))]
        case "tools/call", "ever":
            return [result(asked, resultType="input_required", inputRequests={"q": QUESTION}, requestState="s")]
        case "tools/call", "kind":
            return [result(asked, resultType=choose((5, "", "task", ["complete"])), content=[])]
        case "tools/call", "junk":
            return [
                choose((*RAW, json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": choose((None, 5))}).encode()))
            ]
        case _:
            return [result(asked, content=[{"type": "text", "text": "well"}])] * choose((1, 2))


def result(asked: dict[str, Any], **members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": members}).encode()


def tagged(hostile: Hostile) -> Callable[[str], bytes]:
    """Make notifications for subscriptions, most of which do not exist."""
    kinds = ("subscriptions/acknowledged", "tools/list_changed", "resources/updated", "message", "cancelled")
    tags: tuple[Any, ...] = (1, 40, "x", None, {}, [1], 1.5)

    def make(id_: str) -> bytes:
        choose = hostile.random.choice
        meta: dict[str, Any] = {"io.modelcontextprotocol/subscriptionId": choose(tags)}
        params: dict[str, Any] = {"_meta": meta, "uri": choose(("a:/x", 5)), "requestId": choose((1, 40, None))}
        return json.dumps({"jsonrpc": "2.0", "method": f"notifications/{choose(kinds)}", "params": params}).encode()

    return make


async def calls(client: Any) -> None:
    """Call tools during the attack: only a valid response is a result, everything else is an error."""

    async def call(name: str) -> None:
        good = name in ("well", "ask")
        try:
            found = await client.call_tool(name=name, options=CallOptions(timeout=60 if good else 0.05))
        except McpError as error:
            assert not good, f"a good answer ended as {error}"
        else:
            assert good and found.content[0].text == "well"

    for _ in range(3):
        await asyncio.gather(*(call(name) for name in ("well", "ask", "wrong", "ever", "kind", "junk", "well", "ask")))


def test_client_of_the_modern_era() -> None:
    seed = SEED + 200
    asked = honest("2025-11-25", "sampling/", "roots/", "elicitation/", "ping")

    async def fresh(lines: Sequence[bytes]) -> None:
        async with client_under_fire(Hostile(seed, ())) as fire:
            await fire.block(lines, patience=1)

    async def run() -> int:
        hostile = Hostile(seed, [*asked, *honest(MODERN, "notifications/")])
        async with client_under_fire(hostile) as fire:
            attack = blocks(hostile, tagged(hostile), scaled(25, 1000))
            return await under_fire(fire, attack, lambda: calls(fire.client))

    assert explained(seed, run, fresh) >= 25_000
