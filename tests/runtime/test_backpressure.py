"""A peer that sends requests and does not read the answers: reading from it pauses until it has read."""

import asyncio
import json

import pytest

from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.memory import MemoryTransport
from support.talk import Raw
from support.tools_server import Tools

PINGS = 60_000
"""Their answers are more than what is sent before this side checks whether the peer is reading."""


class Watched(MemoryTransport):
    """An end that counts how often it was paused and resumed."""

    def __init__(self) -> None:
        super().__init__()
        self.actions: list[str] = []

    def pause_reading(self) -> None:
        self.actions.append("pause")
        super().pause_reading()

    def resume_reading(self) -> None:
        self.actions.append("resume")
        super().resume_reading()


@pytest.mark.usefixtures("virtual_time")
async def test_reading_pauses_until_the_peer_reads_its_answers() -> None:
    line = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'
    here, there = Watched.pair()
    assert isinstance(here, Watched) and isinstance(there, Watched)
    server = await start_server(there, Tools())
    server.on_error(lambda error: None)
    peer = Raw(server)
    await here.start(peer)
    here.pause_reading()
    for number in range(PINGS):
        here.send(line % number)
    await asyncio.sleep(0.01)
    assert there.actions == ["pause"]
    here.resume_reading()
    async with asyncio.timeout(60):
        while len(peer.got) < PINGS:
            await asyncio.sleep(0)
    assert there.actions[-1] == "resume" and there.actions.count("pause") == there.actions.count("resume")
    here.send(json.dumps({"jsonrpc": "2.0", "id": "last", "method": "ping"}).encode())
    assert (await peer.answer("last"))["result"] == {}
    await here.close()
    await server.wait_closed()
