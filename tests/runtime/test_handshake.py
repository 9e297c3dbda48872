"""How a conversation begins: revisions, capabilities, identities."""

from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import MissingCapability, UnsupportedRevision
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.core.protocol.dispatch import Side, State
from mcp_runtime.memory import memory_pair
from mcp_runtime.opening import open_any
from support.own import OWN, own
from support.talk import LEGACY, bindings, raw, talk
from support.tools_server import Host, Tools


@pytest.mark.parametrize("revision", [LEGACY[0], LEGACY[-1]])
async def test_the_handshake_of_a_legacy_revision(revision: str) -> None:
    server = bindings(revision).Server()
    async with talk(server, name="me", version="3") as both:
        first, answer, confirmation = both.sent[0], both.received[0], both.sent[1]
        assert first["params"] == {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "me", "version": "3"},
        }
        assert answer["result"]["protocolVersion"] == revision
        assert answer["result"]["capabilities"] == {"logging": {}}
        assert answer["result"]["serverInfo"]["name"] == "Server"
        assert confirmation == {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert {both.client.connection.state, both.server.state} == {State.READY}
        assert both.server.peer_info == {"name": "me", "version": "3"}
        await both.client.ping()
        with pytest.raises(MissingCapability, match=r"tools/list needs the capability server\.tools"):
            await both.client.list_tools()
    assert {both.client.connection.state, both.server.state} == {State.CLOSED}


async def test_both_sides_know_each_other() -> None:
    async with talk(Tools(), handlers=Host(), experimental={"acme": {"x": 1}}) as both:
        connection = both.client.connection
        assert connection.peer_info == {"name": "tools", "version": "1.2", "title": "Tools"}
        assert connection.instructions == "Ask."
        assert both.server.declared == connection.declared
        assert connection.declared[Side.CLIENT] == {"sampling": {}, "experimental": {"acme": {"x": 1}}}
        assert connection.declared[Side.SERVER] == {"tools": {"listChanged": True}, "logging": {}}


async def test_required_capabilities() -> None:
    here, there = memory_pair()
    server = await start_server(there, Tools())
    with pytest.raises(MissingCapability, match=r"this client needs the capability resources\.subscribe"):
        await v.Client.open(Peer(here), require=["tools", "tools.listChanged", "resources.subscribe"])
    assert await server.wait_closed() == "the peer closed the connection"


async def test_a_server_of_another_revision() -> None:
    here, there = memory_pair()
    await start_server(there, own(Tools()))
    with pytest.raises(UnsupportedRevision, match="speaks 2024-11-05, the peer speaks 2025-11-25"):
        await bindings("2024-11-05").Client.open(Peer(here), options=OWN)


@pytest.mark.parametrize(("asked", "offered"), [("2024-11-05", "2024-11-05"), ("1", "2025-11-25")])
async def test_a_server_of_several_revisions(asked: str, offered: str) -> None:
    async with raw(Tools(), bindings("2024-11-05").Server()) as line:
        assert (await line.shake_hands(asked))["protocolVersion"] == offered


async def test_the_newest_common_revision() -> None:
    served = "2025-06-18"
    here, there = memory_pair()
    await start_server(there, bindings(served).Server(), bindings("2024-11-05").Server())
    clients = (bindings(revision).Client for revision in ("2024-11-05", "2025-11-25", "2025-06-18"))
    client = await open_any(Peer(here), *clients)
    assert client.connection.revision == served
    await client.connection.aclose()


async def test_no_common_revision() -> None:
    here, there = memory_pair()
    await start_server(there, own(bindings("2025-03-26").Server()))
    with pytest.raises(UnsupportedRevision, match="the peer speaks 2025-03-26"):
        await open_any(Peer(here), bindings("2024-11-05").Client, bindings("2025-11-25").Client)


async def test_two_servers_of_one_revision() -> None:
    with pytest.raises(ValueError, match="two servers speak 2025-11-25"):
        await start_server(memory_pair()[0], Tools(), Tools())


async def test_one_peer_has_one_conversation() -> None:
    here, there = memory_pair()
    await start_server(there, Tools())
    peer = Peer(here)
    client = await v.Client.open(peer)
    with pytest.raises(Exception, match="has a conversation already"):
        await v.Client.open(peer)
    await client.ping()
    await peer.aclose()


class Asked(v.ClientHandlers):
    """Answers forms."""

    async def elicit(self, params: v.ElicitRequestParams, ctx: v.ClientContext) -> v.ElicitResult | v.CreateTaskResult:
        return v.ElicitResult(action="decline")


async def test_capabilities_beyond_the_handlers() -> None:
    """Declaring web pages as well must not remove forms: an empty `elicitation` means forms."""
    async with talk(Tools(), handlers=Asked()) as both:
        assert both.server.declared[Side.CLIENT] == {"elicitation": {}}
    more: dict[str, Any] = {"elicitation": {"url": {}}, "acme": True}
    async with talk(Tools(), handlers=Asked(), capabilities=more) as both:
        assert both.server.declared[Side.CLIENT] == {"elicitation": {"url": {}, "form": {}}, "acme": True}
    async with talk(Tools(), handlers=Asked(), capabilities={"elicitation": {"url": {}, "form": None}}) as both:
        assert both.server.declared[Side.CLIENT] == {"elicitation": {"url": {}}}


async def test_handlers_of_another_revision_answer_nothing() -> None:
    """The client offers sampling in 2025-11-25, the server chooses 2024-11-05, for which there are no handlers."""
    here, there = memory_pair()
    server = await start_server(there, own(bindings("2024-11-05").Server()))
    clients = (bindings(revision).Client for revision in ("2024-11-05", "2025-11-25"))
    client = await open_any(Peer(here), *clients, handlers=[Host()])
    assert client.connection.revision == "2024-11-05"
    assert client.connection.handler("sampling/createMessage") is None
    await client.connection.aclose()
    await server.wait_closed()
