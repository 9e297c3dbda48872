"""Tasks of 2025-11-25, from both sides: the one that runs them and the one that requests them."""

import asyncio
import json
import re
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_bindings.v2025_11_25.errors import InternalError, InvalidParamsError, MethodNotFoundError
from mcp_runtime.core.errors import LocalProtocolError, MissingCapability, PeerError
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import RELATED, Status, Tasks, run_as_task, start_task
from support.talk import raw, talk
from support.tasking import Model, Worker, call, quick

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestRunning:
    """basic/utilities/tasks, "Creating Tasks" and "Result Retrieval"."""

    async def test_the_answer_comes_at_once_and_the_result_later(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            created = await conversation.client.call_tool(
                name="work", arguments={"do": "wait"}, task=v.TaskMetadata(ttl=60000)
            )
            task = created.task
            assert (task.status, task.ttl, task.poll_interval) == ("working", 60000, 10)
            assert re.fullmatch(r"[0-9a-f]{32}", task.task_id)
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", task.created_at)
            assert created.meta == {RELATED: {"taskId": task.task_id}}
            waiting = asyncio.create_task(
                conversation.client.get_task_payload(task_id=task.task_id, result_type=v.CallToolResult)
            )
            await server.begun.wait()
            await conversation.client.ping()
            assert not waiting.done()
            server.gate.set()
            result = await waiting
            assert result.content[0].text == "work"
            assert result.meta == {"own": 1, RELATED: {"taskId": task.task_id}}
            again = await conversation.client.get_task_payload(task_id=task.task_id, result_type=v.CallToolResult)
            assert again == result
            done = await conversation.client.get_task(task_id=task.task_id)
            assert done.status == "completed" and done.last_updated_at >= done.created_at
            assert done.meta is None

    async def test_the_result_is_what_it_would_have_been(self) -> None:
        async with talk(Worker()) as conversation:
            direct = await conversation.client.call_tool(name="work")
            late = await run_as_task(conversation.client, methods.TOOLS_CALL, call())
            assert direct.structured_content == late.structured_content == {"n": 1.5}
            assert late.meta is not None
            del late.meta[RELATED]
            assert direct == late

    async def test_the_error_is_what_it_would_have_been(self) -> None:
        async with talk(Worker()) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="fail"))
            with pytest.raises(PeerError) as raised:
                await handle.result()
            assert (raised.value.code, raised.value.message, raised.value.data) == (-7, "no more tea", {"left": 0})
            assert handle.record.status is Status.FAILED
            assert handle.record.message == "no more tea"

    async def test_the_text_of_a_crash_is_not_sent(self) -> None:
        async with talk(Worker()) as conversation:
            with pytest.raises(InternalError) as raised:
                await run_as_task(conversation.client, methods.TOOLS_CALL, call(do="crash"))
            assert "hunter2" not in str(raised.value)

    async def test_a_tool_that_reports_an_error_has_failed_and_has_a_result(self) -> None:
        async with talk(Worker()) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="report"))
            result = await handle.result()
            assert result.is_error is True
            assert handle.record.status is Status.FAILED

    async def test_ordinary_requests_do_not_become_tasks(self) -> None:
        async with talk(Worker()) as conversation:
            assert (await conversation.client.call_tool(name="work")).content
            assert [task async for task in conversation.client.iter_tasks()] == []

    async def test_a_negative_ttl_is_refused(self) -> None:
        ttl = -(10**30)
        async with talk(Worker()) as conversation:
            with pytest.raises(InvalidParamsError, match="ttl"):
                await conversation.client.call_tool(name="work", task=v.TaskMetadata(ttl=ttl))

    async def test_the_store_limits_the_lifetime_of_a_task(self) -> None:
        async with talk(Worker(quick(ttl=None, max_ttl=5))) as conversation:
            kept = await conversation.client.call_tool(name="work", task=v.TaskMetadata(ttl=10**30))
            assert kept.task.ttl == 5000
            unlimited = await conversation.client.call_tool(name="work", task=v.TaskMetadata())
            assert unlimited.task.ttl is None
            seen = await conversation.client.get_task(task_id=unlimited.task.task_id)
            assert json.loads(seen.model_dump_json())["ttl"] is None

    async def test_an_expired_task_is_gone_and_its_handler_stopped(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="wait"), ttl=0.05)
            with pytest.raises(InvalidParamsError, match="expired"):
                await conversation.client.get_task_payload(task_id=handle.id, result_type=v.CallToolResult)
            with pytest.raises(InvalidParamsError):
                await handle.poll()
            await asyncio.sleep(0.01)
            assert server.stopped

    async def test_the_number_of_tasks_is_limited(self) -> None:
        async with talk(Worker(quick(max_tasks=1))) as conversation:
            await start_task(conversation.client, methods.TOOLS_CALL, call())
            with pytest.raises(InternalError, match="limit"):
                await start_task(conversation.client, methods.TOOLS_CALL, call())


class TestTools:
    """basic/utilities/tasks, "Tool-Level Negotiation"."""

    @pytest.mark.parametrize("name", ["must not", "silent"])
    async def test_a_tool_that_cannot_be_a_task_is_refused_as_one(self, name: str) -> None:
        async with talk(Worker()) as conversation:
            with pytest.raises(MethodNotFoundError, match="cannot"):
                await start_task(conversation.client, methods.TOOLS_CALL, call(name))
            assert (await conversation.client.call_tool(name=name)).content

    async def test_a_tool_that_must_be_a_task_is_refused_otherwise(self) -> None:
        async with talk(Worker()) as conversation:
            with pytest.raises(MethodNotFoundError, match="only"):
                await conversation.client.call_tool(name="must")
            assert (await run_as_task(conversation.client, methods.TOOLS_CALL, call("must"))).content

    async def test_tools_of_later_pages_count_and_are_listed_once(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            for _ in range(3):
                assert (await run_as_task(conversation.client, methods.TOOLS_CALL, call("late"))).content
            assert server.listed == 2

    async def test_an_unknown_tool_does_not_become_a_task(self) -> None:
        async with talk(Worker()) as conversation:
            with pytest.raises(InvalidParamsError, match="no such tool"):
                await start_task(conversation.client, methods.TOOLS_CALL, call("nowhere"))


class TestDeclaring:
    """basic/utilities/tasks, "Capabilities" and "Task Support and Handling"."""

    async def test_both_sides_declare_what_they_do(self) -> None:
        async with talk(Worker(), handlers=Model(), extensions=[Tasks(quick())]) as conversation:
            declared = conversation.client.connection.declared
            assert declared[Side.SERVER]["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
            requests: Any = {"sampling": {"createMessage": {}}}
            assert declared[Side.CLIENT]["tasks"] == {"list": {}, "cancel": {}, "requests": requests}

    async def test_without_a_store_requests_for_tasks_are_ignored(self) -> None:
        server = Worker()
        server.options = ServerOptions(name="plain")
        async with raw(server) as line:
            assert "tasks" not in (await line.shake_hands("2025-11-25"))["capabilities"]
            answer = await line.ask("tools/call", {"name": "work", "task": {"ttl": 1}}, id_=2)
            assert answer["result"]["content"][0]["text"] == "work"
            assert (await line.ask("tasks/list", {}, id_=3))["error"]["code"] == -32601

    async def test_undeclared_tasks_are_not_requested(self) -> None:
        server = Worker()
        server.options = ServerOptions(name="plain")
        async with talk(server) as conversation:
            with pytest.raises(MissingCapability, match=r"tasks\.requests\.tools\.call"):
                await start_task(conversation.client, methods.TOOLS_CALL, call())

    async def test_requests_that_cannot_be_tasks_are_not_sent_as_tasks(self) -> None:
        async with talk(Worker()) as conversation:
            with pytest.raises(LocalProtocolError, match="task"):
                await start_task(conversation.client, methods.PING, v.RequestParams())


class TestAsking:
    """basic/utilities/tasks, "Protocol Errors" and "Task Listing"."""

    @pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
    async def test_an_unknown_id_is_refused(self, method: str) -> None:
        async with raw(Worker()) as line:
            await line.shake_hands("2025-11-25")
            answer = await line.ask(method, {"taskId": "0" * 32}, id_=2)
            assert answer["error"]["code"] == -32602

    async def test_the_task_id_in_the_params_takes_precedence(self) -> None:
        async with raw(Worker()) as line:
            await line.shake_hands("2025-11-25")
            created = await line.ask("tools/call", {"name": "work", "task": {}}, id_=2)
            task_id = created["result"]["task"]["taskId"]
            other = {RELATED: {"taskId": "another"}}
            answer = await line.ask("tasks/get", {"taskId": task_id, "_meta": other}, id_=3)
            assert answer["result"]["taskId"] == task_id
            assert "_meta" not in answer["result"]

    async def test_all_pages_together_have_every_task_once(self) -> None:
        async with talk(Worker(quick(page_size=2))) as conversation:
            created = [(await start_task(conversation.client, methods.TOOLS_CALL, call())).id for _ in range(5)]
            assert [task.task_id async for task in conversation.client.iter_tasks()] == created
            first = await conversation.client.list_tasks()
            assert len(first.tasks) == 2 and first.next_cursor and first.meta is None

    @pytest.mark.parametrize("cursor", ["", "-1", "zz", "99", "1" * 5000])
    async def test_an_unknown_cursor_is_refused(self, cursor: str) -> None:
        async with talk(Worker()) as conversation:
            await start_task(conversation.client, methods.TOOLS_CALL, call())
            with pytest.raises(InvalidParamsError, match="cursor"):
                await conversation.client.list_tasks(cursor=cursor)

    async def test_a_client_sees_only_its_own(self) -> None:
        server = Worker()
        async with talk(server) as one, talk(server) as other:
            handle = await start_task(one.client, methods.TOOLS_CALL, call(do="wait"))
            assert [task async for task in other.client.iter_tasks()] == []
            with pytest.raises(InvalidParamsError):
                await other.client.get_task(task_id=handle.id)
            with pytest.raises(InvalidParamsError):
                await other.client.get_task_payload(task_id=handle.id, result_type=v.CallToolResult)
            with pytest.raises(InvalidParamsError):
                await other.client.cancel_task(task_id=handle.id)
            assert (await handle.poll()).status is Status.WORKING
            server.gate.set()
            assert (await handle.result()).content


class TestHostile:
    @pytest.mark.parametrize("task", ["x", {"ttl": "1"}, {"ttl": -1}, 7])
    async def test_invalid_task_params_are_refused(self, task: Any) -> None:
        async with raw(Worker()) as line:
            await line.shake_hands("2025-11-25")
            answer = await line.ask("tools/call", {"name": "work", "task": task}, id_=2)
            assert answer["error"]["code"] == -32602
            assert (await line.ask("tasks/list", {}, id_=3))["result"] == {"tasks": []}

    @pytest.mark.parametrize("params", [None, {"taskId": 7}, {"taskId": ""}, {"taskId": "x" * 10**6}])
    async def test_an_invalid_task_id_is_refused(self, params: Any) -> None:
        async with raw(Worker()) as line:
            await line.shake_hands("2025-11-25")
            for number, method in enumerate(("tasks/get", "tasks/result", "tasks/cancel")):
                answer = await line.ask(method, params, id_=number)
                assert answer["error"]["code"] == -32602 and len(str(answer)) < 1000
