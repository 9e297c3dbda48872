"""Content blocks that a revision does not know: the error has the result as received, or they are left out."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest

from mcp_bindings import v2025_03_26, v2025_06_18, v2026_07_28
from mcp_runtime.core.errors import RemoteProtocolError
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.memory import MemoryTransport, memory_pair
from support.receiving import OneStream

LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
TEXT = {"type": "text", "text": "tea"}
RESULTS: Mapping[str, Any] = {
    "tools/call": {"content": [LINK, TEXT, {**LINK, "uri": "file:///b"}]},
    "prompts/get": {"messages": [{"role": "user", "content": LINK}, {"role": "user", "content": TEXT}]},
}
KNOWS_NO_LINKS = "2025-03-26"
CLIENTS = [v2025_03_26.Client, v2026_07_28.Client]


class Script(OneStream):
    """A server of a revision without links, which sends them."""

    def __init__(self, transport: MemoryTransport, results: Mapping[str, Any]) -> None:
        self._transport = transport
        self._results = results

    def receive(self, message: bytes) -> None:
        asked = json.loads(message)
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": asked.get("id")}
        if asked["method"] == "initialize":
            capabilities: Any = {"tools": {}, "prompts": {}}
            info = {"name": "script", "version": "0"}
            answer["result"] = {
                "protocolVersion": KNOWS_NO_LINKS,
                "capabilities": capabilities,
                "serverInfo": info,
            }
        else:
            found = self._results.get(asked["method"])
            answer |= {"result": found} if found else {"error": NOT_FOUND}
        if answer["id"] is not None:
            self._transport.send(json.dumps(answer).encode())

    def connection_lost(self, reason: Exception | None) -> None:
        """Wait for no answer."""


NOT_FOUND = {"code": -32601, "message": "no such method"}


@asynccontextmanager
async def client_of(
    kind: Any, unknown: Literal["refuse", "drop"], results: Mapping[str, Any] = RESULTS
) -> AsyncGenerator[Any]:
    here, there = memory_pair()
    await there.start(Script(there, results))
    peer = Peer(here)
    try:
        yield await kind.open(peer, options=ClientOptions(unknown_content=unknown))
    finally:
        await peer.aclose()


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.__binding__.revision)
async def test_the_error_has_the_result_as_received(kind: Any) -> None:
    async with client_of(kind, "refuse") as client:
        with pytest.raises(RemoteProtocolError) as caught:
            await client.call_tool(name="brew")
        assert caught.value.raw == RESULTS["tools/call"]


@pytest.mark.parametrize("kind", CLIENTS, ids=lambda kind: kind.__binding__.revision)
async def test_they_are_left_out_with_one_line_in_the_log(kind: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with client_of(kind, "drop") as client:
        for _ in range(2):
            result = await client.call_tool(name="brew")
            assert [block.text for block in result.content] == ["tea"]
        assert [message.content.text for message in (await client.get_prompt(name="tea")).messages] == ["tea"]
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2 and all("left out" in line for line in said), said
    assert said[0].startswith(
        "tools/call of 2025-03-26: /content: items of a type that is not known here are left out: "
    )
    assert "resource_link" in said[0]


@pytest.mark.parametrize(
    "content", [[LINK, {"type": "text"}], {"type": "resource_link"}, [{"type": f"later-{kind}"} for kind in range(50)]]
)
async def test_other_mistakes_and_too_many_types_are_refused_still(content: Any) -> None:
    async with client_of(v2025_06_18.Client, "drop", {"tools/call": {"content": content}}) as client:
        with pytest.raises(RemoteProtocolError) as caught:
            await client.call_tool(name="brew")
        assert caught.value.raw == {"content": content}
