"""How two sides agree on a revision, or find that they have none in common."""

import asyncio
import json
import subprocess

import pytest

from interop.expected import expected
from interop.peers import offer
from interop.processes import OURS, SDK1, SDK2, TESTS, Side, outcomes
from mcp_bindings import v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25
from mcp_runtime.core.errors import UnsupportedRevision
from mcp_runtime.core.transports.stdio import connect_stdio
from mcp_runtime.opening import open_any
from support.own import OWN

pytestmark = pytest.mark.interop

PEERS = pytest.mark.parametrize("peer", [SDK1, SDK2], ids=lambda side: side.name)
CLIENTS = (v2024_11_05.Client, v2025_03_26.Client, v2025_06_18.Client, v2025_11_25.Client)


class TestOurClient:
    @PEERS
    @pytest.mark.parametrize("revision", offer.LEGACY)
    async def test_takes_the_one_revision_that_the_server_speaks(self, peer: Side, revision: str) -> None:
        async with connect_stdio(*peer.server_command("--only", revision)) as server:
            client = await open_any(server, *CLIENTS)
            assert client.connection.revision == revision
            assert [tool.name async for tool in client.iter_tools()] == [tool["name"] for tool in offer.tools(revision)]

    @PEERS
    async def test_takes_the_newest_of_several(self, peer: Side) -> None:
        async with connect_stdio(*peer.server_command()) as server:
            client = await open_any(server, *CLIENTS[:3])
            assert isinstance(client, v2025_06_18.Client)

    @PEERS
    async def test_names_the_servers_revision_when_it_disconnects(self, peer: Side) -> None:
        async with connect_stdio(*peer.server_command("--only", "2025-11-25")) as server:
            with pytest.raises(UnsupportedRevision, match=r"speaks 2024-11-05, the peer speaks 2025-11-25"):
                await v2024_11_05.Client.open(server, options=OWN)


class TestOurServer:
    @PEERS
    def test_names_its_newest_revision_to_a_client_that_asks_for_an_unknown_one(self, peer: Side) -> None:
        assert outcomes(peer, OURS, "2025-11-25", asks=("--ask", "1999-01-01")) == expected(
            "2025-11-25", tasks=peer.tasks
        )

    @PEERS
    def test_offers_the_one_revision_that_it_speaks(self, peer: Side) -> None:
        asks, serves = ("--ask", "2024-11-05"), ("--only", "2025-06-18")
        assert outcomes(peer, OURS, "2025-06-18", asks=asks, serves=serves) == expected("2025-06-18", tasks=False)

    def test_sends_a_client_that_asks_for_the_modern_era_back_to_the_handshake(self) -> None:
        assert outcomes(SDK2, OURS, "2025-11-25", asks=("--probe",)) == expected("2025-11-25", tasks=False)

    @pytest.mark.parametrize("server", [OURS, SDK1, SDK2], ids=lambda side: side.name)
    def test_answers_an_unknown_revision_like_the_sdk(self, server: Side) -> None:
        params = {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "old", "version": "0"}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}) + "\n"
        command = server.server_command()
        done = subprocess.run(command, cwd=TESTS, input=line, capture_output=True, text=True, timeout=30, check=True)
        assert json.loads(done.stdout)["result"]["protocolVersion"] == "2025-11-25"


class TestTheEnd:
    @PEERS
    async def test_the_process_of_a_server_ends_with_the_client(self, peer: Side) -> None:
        async with connect_stdio(*peer.server_command()) as server:
            client = await v2025_11_25.Client.open(server)
            await client.ping()
            closed = asyncio.ensure_future(client.connection.wait_closed())
        assert await closed == "closed by this side"
