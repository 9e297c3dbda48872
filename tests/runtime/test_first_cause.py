"""An error names what failed first, not only the last of several attempts."""

import itertools
import json
from typing import Any

import pytest

from mcp_bindings import v2025_06_18
from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import McpError, PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.memory import memory_pair
from support.receiving import OneStream

pytestmark = pytest.mark.usefixtures("virtual_time")

GOOD: dict[str, Any] = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}
SILENT: dict[str, Any] = {}
NO = {"error": {"code": -32601, "message": "no"}}
DISCOVERED: dict[str, tuple[dict[str, Any], str]] = {
    "no capabilities": ({"result": {**GOOD, "capabilities": None}}, "not valid: /capabilities"),
    "versions as text": ({"result": {**GOOD, "supportedVersions": "all"}}, "not valid: /supportedVersions"),
    "a list": ({"result": []}, ""),
    "unknown type": ({"result": {**GOOD, "resultType": "partial"}}, "not valid: /resultType: the result is 'partial'"),
    "tools as list": ({"result": {**GOOD, "capabilities": {"tools": []}}}, "not valid: /capabilities/tools"),
    "empty": ({"result": {}}, "not valid: /"),
    "its own error": ({"error": {"code": -32603, "message": "the licence\x1b[2J ended"}}, r"the licence\x1b[2J ended"),
    "silence": (SILENT, "did not answer server/discover within 5 s"),
}
INITIALIZED: dict[str, tuple[dict[str, Any], type[McpError], str]] = {
    "unknown": (NO, PeerError, "no (-32601)"),
    "refused": ({"error": {"code": -32602, "message": "bad"}}, PeerError, "bad (-32602)"),
    "malformed": ({"result": {"protocolVersion": 1}}, RemoteProtocolError, "initialize of 2025-11-25: /"),
    "silence": (SILENT, RequestTimeout, "initialize"),
}


class Scripted(OneStream):
    """A server that answers each method in one way."""

    def __init__(self, transport: Any, answers: dict[str, Any]) -> None:
        self.transport, self.answers, self.asked = transport, answers, list[str]()

    def receive(self, message: bytes) -> None:
        value = json.loads(message)
        self.asked.append(value["method"])
        if "id" in value and (answer := self.answers[value["method"]]):
            self.transport.send(json.dumps({"jsonrpc": "2.0", "id": value["id"], **answer}).encode())

    def connection_lost(self, reason: Exception | None) -> None:
        pass


async def failure(client: Any, **answers: Any) -> tuple[McpError, list[str]]:
    """Return how a client fails, and the methods of its requests."""
    here, there = memory_pair()
    server = Scripted(there, {name.replace("_", "/"): answer for name, answer in answers.items()})
    await there.start(server)
    with pytest.raises(McpError) as raised:
        await client.open(Peer(here), options=ClientOptions(probe_timeout=5.0, timeout=20))
    return raised.value, [name for name in server.asked if not name.startswith("notifications/")]


@pytest.mark.parametrize(("discovered", "initialized"), [*itertools.product(DISCOVERED, INITIALIZED)])
async def test_a_failed_handshake_begins_with_the_answer_to_the_question_before(
    discovered: str, initialized: str
) -> None:
    (answer, why), (second, kind, then) = DISCOVERED[discovered], INITIALIZED[initialized]
    error, asked = await failure(v.Client, server_discover=answer, initialize=second)
    assert asked == ["server/discover", "initialize"] and isinstance(error, kind)
    first, _, last = str(error).partition("; and initialize failed: ")
    assert why in first and "server/discover" in first and last.startswith(then), str(error)
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize("discovered", DISCOVERED)
async def test_clients_of_sessions_name_both_attempts(discovered: str) -> None:
    answer, why = DISCOVERED[discovered]
    error, asked = await failure(v2025_06_18.Client, server_discover=answer, initialize=NO)
    assert asked == ["initialize", "server/discover"] and isinstance(error, PeerError) and error.code == -32601
    assert why in str(error) and str(error).endswith("; and initialize failed: no (-32601)")


@pytest.mark.parametrize("initialized", INITIALIZED)
async def test_a_server_that_only_does_not_know_the_question_is_of_the_older_era(initialized: str) -> None:
    second, kind, then = INITIALIZED[initialized]
    error, _ = await failure(v.Client, server_discover=NO, initialize=second)
    assert isinstance(error, kind) and str(error).startswith(then)
