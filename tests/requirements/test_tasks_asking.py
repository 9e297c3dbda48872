"""Tasks (2025-11-25, basic/utilities/tasks), on the side that requests them."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.core.errors import MissingCapability, PeerError
from mcp_runtime.extensions.tasks import RELATED, Status, start_task
from support.roles import RawServer, answering, make_handlers, returns
from support.tasking import call

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
DECLARED: dict[str, Any] = {"tools": {}, "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}}


def task(status: str, interval: float = 30) -> dict[str, Any]:
    moment = "2025-11-25T10:30:00Z"
    return {
        "taskId": "t",
        "status": status,
        "createdAt": moment,
        "lastUpdatedAt": moment,
        "ttl": None,
        "pollInterval": interval,
    }


async def taken(server: RawServer, method: str) -> Any:
    """Wait for the next request of a method, and remove it from the received ones."""
    message = await server.asked(method)
    server.got.remove(message)
    return message


async def answer(server: RawServer, method: str, result: Any) -> Any:
    message = await taken(server, method)
    server.tell(id=message["id"], result=result)
    return message


@requirement("tasks.poll-interval", "tasks.polls-on", "tasks.status-optional", "tasks.related-not-repeated")
async def test_a_waiter_polls_no_faster_than_requested(revision: str) -> None:
    """No status notifications are sent."""
    loop = asyncio.get_running_loop()
    async with answering(revision, capabilities=DECLARED) as server:
        starting = asyncio.create_task(start_task(server.client, methods.TOOLS_CALL, call()))
        await answer(server, "tools/call", {"task": task("working")})
        handle = await starting
        waiting = asyncio.create_task(handle.result())
        moments = [loop.time()]
        for status in ("working", "working", "completed"):
            asked = await answer(server, "tasks/get", task(status))
            assert asked["params"] == {"taskId": "t"}
            moments.append(loop.time())
        await answer(server, "tasks/result", {"content": []})
        assert (await waiting).content == []
        assert all(after - before >= 0.028 for before, after in pairwise(moments))


@requirement("tasks.input-fetched")
async def test_input_required_leads_to_a_request_for_the_result(revision: str) -> None:
    async with answering(revision, capabilities=DECLARED) as server:
        starting = asyncio.create_task(start_task(server.client, methods.TOOLS_CALL, call()))
        await answer(server, "tools/call", {"task": task("working", 1)})
        waiting = asyncio.create_task((await starting).result())
        await answer(server, "tasks/get", task("input_required", 1))
        await answer(server, "tasks/result", {"content": []})
        assert (await waiting).content == []


@requirement("tasks.cursor-opaque")
async def test_cursors_are_sent_back_unchanged(revision: str) -> None:
    async with answering(revision, capabilities=DECLARED) as server:

        async def collect() -> list[str]:
            return [each.task_id async for each in server.client.iter_tasks()]

        collecting = asyncio.create_task(collect())
        cursors = ["", "..%2F \u2028 {}", None]
        asked: list[Any] = []
        for cursor in cursors:
            more = {} if cursor is None else {"nextCursor": cursor}
            message = await answer(server, "tasks/list", {"tasks": [task("working")], **more})
            asked.append(message.get("params", {}).get("cursor"))
        assert await collecting == ["t", "t", "t"] and asked == [None, *cursors[:2]]


@requirement("tasks.not-retained")
async def test_a_cancelled_task_is_not_polled_again(revision: str) -> None:
    async with answering(revision, capabilities=DECLARED) as server:
        starting = asyncio.create_task(start_task(server.client, methods.TOOLS_CALL, call()))
        await answer(server, "tools/call", {"task": task("working")})
        handle = await starting
        cancelling = asyncio.create_task(handle.cancel())
        await answer(server, "tasks/cancel", task("cancelled"))
        assert (await cancelling).status is Status.CANCELLED
        getting = asyncio.create_task(handle.poll())
        asked = await taken(server, "tasks/get")
        server.tell(id=asked["id"], error={"code": -32602, "message": "gone"})
        with pytest.raises(PeerError, match="gone"):
            await getting


@requirement("tasks.only-declared", "tasks.tool-capability")
async def test_undeclared_tasks_are_not_requested_by_clients(revision: str) -> None:
    cases: list[dict[str, Any]] = [{}, {"tasks": {}}, {"tasks": {"requests": {"tools": {}}}}]
    for tasks in cases:
        async with answering(revision, capabilities={"tools": {}, **tasks}) as server:
            with pytest.raises(MissingCapability, match=r"tasks\.requests\.tools\.call"):
                await start_task(server.client, methods.TOOLS_CALL, call())
            assert [message["method"] for message in server.got] == ["initialize", "notifications/initialized"]


@requirement("tasks.related")
async def test_answers_to_the_questions_of_a_task_name_it(revision: str) -> None:
    content = {"type": "text", "text": "yes"}
    result = returns("CreateMessageResult", role="assistant", model="m", content=content, _meta={"own": 1})
    handlers = make_handlers(revision, create_message=result)
    async with answering(revision, handlers=handlers, capabilities=DECLARED) as server:
        related = {RELATED: {"taskId": "t"}}
        params: dict[str, Any] = {"messages": [], "maxTokens": 1}
        answered = await server.ask("sampling/createMessage", {**params, "_meta": related}, id_="s1")
        assert answered["result"]["_meta"] == {"own": 1, **related}
        plain = await server.ask("sampling/createMessage", params, id_="s2")
        assert plain["result"]["_meta"] == {"own": 1}
