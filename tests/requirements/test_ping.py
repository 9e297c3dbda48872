"""Ping (basic/utilities/ping): whether the peer is still there."""

import asyncio
from typing import Any

import pytest

from mcp_runtime.core.errors import ConnectionClosed
from mcp_runtime.core.settings import ServerOptions
from support.roles import Hold, answering, make_handlers, make_server
from support.talk import raw

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement


@requirement("ping.answered")
async def test_a_server_answers_at_once_however_busy_it_is(revision: str) -> None:
    hold = Hold()
    async with raw(make_server(revision, ServerOptions(max_in_flight=1, max_queued=0), call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x"})
        await hold.begun.wait()
        line.tell(id=2, method="ping")
        assert line.got[-1] == {"jsonrpc": "2.0", "id": 2, "result": {}}


@requirement("ping.answered")
async def test_a_client_answers_at_once_however_busy_it_is(revision: str) -> None:
    hold = Hold("ListRootsResult", roots=[])
    async with answering(revision, handlers=make_handlers(revision, list_roots=hold.handler)) as server:
        server.tell(id="a", method="roots/list")
        await hold.begun.wait()
        server.tell(id="b", method="ping")
        assert server.got[-1] == {"jsonrpc": "2.0", "id": "b", "result": {}}


def pings(messages: list[Any]) -> list[Any]:
    return [message for message in messages if message.get("method") == "ping"]


@requirement("ping.periodic", "ping.configurable", "ping.timeout-fits")
async def test_a_silent_peer_is_pinged_as_often_as_configured(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(ping_interval=0.05, ping_timeout=2))) as line:
        await line.shake_hands(revision)
        answered: set[Any] = set()
        begun = asyncio.get_running_loop().time()
        for _ in range(20):
            await asyncio.sleep(0.02)
            for id_ in {message["id"] for message in pings(line.got)} - answered:
                answered.add(id_)
                line.tell(id=id_, result={})
        assert 3 <= len(pings(line.got)) <= (asyncio.get_running_loop().time() - begun) / 0.05 + 1
        assert line.server.closed_because is None
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        await asyncio.sleep(0.1)
        assert not pings(line.got)


@requirement("ping.not-too-many")
async def test_a_peer_that_speaks_is_not_pinged(revision: str) -> None:
    async with raw(make_server(revision, ServerOptions(ping_interval=0.4))) as line:
        await line.shake_hands(revision)
        for id_ in range(12):
            await line.ask("ping", id_=id_)
            await asyncio.sleep(0.05)
        assert not pings(line.got)


@requirement("ping.failure-closes", "ping.failure-told", "ping.timeout-fits")
async def test_a_ping_without_an_answer_ends_the_connection_and_says_why(revision: str) -> None:
    reasons: list[str] = []
    async with answering(revision, ping_interval=0.03, ping_timeout=0.03) as server:
        server.client.connection.on_close(reasons.append)
        await server.client.connection.wait_closed()
        with pytest.raises(ConnectionClosed, match="did not answer a ping"):
            await server.client.ping()
    assert reasons == ["the peer was silent for 0.03 s and did not answer a ping within 0.03 s"]
