"""Cancellation (basic/utilities/cancellation): responses that are no longer needed."""

import asyncio
import logging
from typing import Any

import pytest

from mcp_bindings.v2025_11_25 import CallToolRequestParams, methods
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.extensions.tasks import run_as_task
from mcp_runtime.extensions.vendor import vendor_request
from mcp_runtime.memory import memory_pair
from support.roles import Hold, answering, make_handlers, make_server
from support.talk import Raw, bindings, raw, talk
from support.tasking import Worker

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
ANYTHING: type[dict[str, Any]] = dict
CANCELLED = "notifications/cancelled"


async def cancelled(task: "asyncio.Task[Any]", reason: str | None = None) -> None:
    task.cancel(reason)
    with pytest.raises(asyncio.CancelledError):
        await task


@requirement("cancellation.own-requests")
async def test_only_our_own_open_requests_are_cancelled(revision: str) -> None:
    async with answering(revision) as server:
        call = asyncio.create_task(server.client.ping())
        asked = await server.asked("ping")
        await cancelled(call, "bored")
        assert server.got[-1]["method"] == CANCELLED
        assert server.got[-1]["params"] == {"requestId": asked["id"], "reason": "bored"}


@requirement("cancellation.own-requests", "cancellation.races")
async def test_answered_requests_are_not_cancelled(revision: str) -> None:
    async with answering(revision) as server:
        call = asyncio.create_task(server.client.ping())
        server.tell(id=(await server.asked("ping"))["id"], result={})
        call.cancel()
        await asyncio.wait((call,))
        assert CANCELLED not in [message.get("method") for message in server.got]


@requirement("cancellation.own-requests")
async def test_an_id_of_the_other_direction_cancels_nothing(revision: str) -> None:
    """The server's request has the same id; a cancellation by the client refers to the client's own request."""
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        asking = asyncio.create_task(line.server.request(vendor_request("ping", None, ANYTHING), None, None))
        await asyncio.sleep(0)
        line.tell(method=CANCELLED, params={"requestId": line.got[-1]["id"]})
        line.tell(id=line.got[-1]["id"], result={})
        assert await asking == {}


@requirement("cancellation.not-initialize")
async def test_a_client_that_cancels_the_handshake_disconnects_silently(revision: str) -> None:
    here, there = memory_pair()
    server = Raw(None)  # type: ignore[arg-type]  # a peer that says nothing has no connection
    server.send = there.send
    await there.start(server)
    with pytest.raises(RequestTimeout):
        await bindings(revision).Client.open(Peer(here), options=ClientOptions(timeout=0.02))
    assert [message["method"] for message in server.got] == ["initialize"]


@requirement("cancellation.stops", "cancellation.no-answer")
async def test_a_server_stops_frees_and_does_not_answer(revision: str) -> None:
    hold = Hold()
    async with raw(make_server(revision, call_tool=hold.handler)) as line:
        await line.shake_hands(revision)
        line.tell(id=1, method="tools/call", params={"name": "x"})
        await hold.begun.wait()
        line.tell(method=CANCELLED, params={"requestId": 1, "reason": "bored"})
        await asyncio.sleep(0.01)
        assert hold.ended == ["bored"] and line.server.open_requests == 0
        hold.gate.set()
        await line.ask("ping", id_=2)
        assert not [message for message in line.got if message.get("id") == 1]


@requirement("cancellation.stops", "cancellation.no-answer")
async def test_a_client_stops_frees_and_does_not_answer(revision: str) -> None:
    hold = Hold("ListRootsResult", roots=[])
    async with answering(revision, handlers=make_handlers(revision, list_roots=hold.handler)) as server:
        server.tell(id="a", method="roots/list")
        await hold.begun.wait()
        server.tell(method=CANCELLED, params={"requestId": "a"})
        await server.ask("ping", id_="b")
        await asyncio.sleep(0.01)
        assert hold.ended == [None] and server.client.connection.open_requests == 0
        assert not [message for message in server.got if message.get("id") == "a"]


@requirement("cancellation.late-answer", "cancellation.races")
@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": -1, "message": "m"}}])
async def test_a_late_answer_is_ignored_without_complaint(revision: str, answer: dict[str, Any]) -> None:
    async with answering(revision) as server:
        call = asyncio.create_task(server.client.ping())
        asked = await server.asked("ping")
        await cancelled(call)
        server.tell(id=asked["id"], **answer)
        assert not server.errors
        again = asyncio.create_task(server.client.ping())
        await asyncio.sleep(0)
        server.tell(id=server.got[-1]["id"], result={})
        await again


@requirement("cancellation.races", "cancellation.invalid-ignored")
async def test_a_cancellation_that_comes_too_late_or_is_wrong_is_ignored(revision: str) -> None:
    async with raw(make_server(revision)) as line:
        await line.shake_hands(revision)
        await line.ask("ping", id_=1)
        before = len(line.got)
        for params in ({"requestId": 1}, {"requestId": "x"}, {"requestId": None}, {"requestId": [1]}, {}, None):
            line.tell(method=CANCELLED, **({} if params is None else {"params": params}))
        await line.ask("ping", id_=2)
        assert [message["id"] for message in line.got[before:]] == [2]
        assert line.server.closed_because is None


@requirement("cancellation.reason-logged")
async def test_both_sides_log_the_reason(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp_runtime")
    hold = Hold()
    async with talk(make_server(revision, call_tool=hold.handler)) as both:
        caplog.clear()
        call = asyncio.create_task(both.client.call_tool(name="x"))
        await hold.begun.wait()
        await cancelled(call, "the user went home")
        await both.client.ping()
    assert [record.getMessage() for record in caplog.records] == [
        "tools/call 2 was cancelled: the user went home",
        "tools/call 2 was cancelled: the user went home",
    ]


@requirement("cancellation.tasks-by-their-own")
async def test_a_task_is_cancelled_by_its_own_request(revision: str) -> None:
    server = Worker()
    assert server.__binding__.revision == revision
    async with talk(server) as both:
        params = CallToolRequestParams(name="work", arguments={"do": "wait"})
        running = asyncio.create_task(run_as_task(both.client, methods.TOOLS_CALL, params))
        await server.begun.wait()
        await asyncio.sleep(0.02)
        await cancelled(running)
        await asyncio.sleep(0.02)
        assert server.stopped
        sent = [message["method"] for message in both.sent]
        assert "tasks/cancel" in sent and CANCELLED not in sent
