"""Tasks of 2025-11-25: cancellation, and the messages that belong to them."""

import asyncio
import pickle
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_bindings.v2025_11_25.errors import InvalidParamsError
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.extensions.tasks import (
    OWNER,
    RELATED,
    Status,
    TaskFailed,
    TaskHandle,
    TaskRecord,
    Tasks,
    run_as_task,
    start_task,
)
from support.talk import raw, talk
from support.tasking import Model, Worker, call, quick, status, text_result

pytestmark = pytest.mark.usefixtures("virtual_time")


class TestCancelling:
    """basic/utilities/tasks, "Task Cancellation"."""

    async def test_finished_tasks_cannot_be_cancelled(self) -> None:
        async with talk(Worker()) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call())
            await handle.result()
            with pytest.raises(InvalidParamsError, match="'completed' cannot"):
                await handle.cancel()

    async def test_a_timeout_while_waiting_for_the_result_leaves_the_task_alone(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="wait"))
            with pytest.raises(TimeoutError):
                await conversation.client.get_task_payload(
                    task_id=handle.id, result_type=v.CallToolResult, options=CallOptions(timeout=0.05)
                )
            assert (await handle.poll()).status is Status.WORKING
            server.gate.set()
            assert (await handle.result()).content

    async def test_cancelling_run_as_task_sends_tasks_cancel(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            running = asyncio.create_task(run_as_task(conversation.client, methods.TOOLS_CALL, call(do="wait")))
            await server.begun.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            [task] = [task async for task in conversation.client.iter_tasks()]
            await status(conversation.client, task.task_id, Status.CANCELLED)
            sent = [message["method"] for message in conversation.sent]
            assert "tasks/cancel" in sent and "notifications/cancelled" not in sent

    async def test_the_end_of_the_connection_ends_its_tasks(self) -> None:
        server = Worker()
        async with talk(server) as conversation:
            await start_task(conversation.client, methods.TOOLS_CALL, call(do="wait"))
            await server.begun.wait()
        assert server.stopped
        assert server.store._owners == {}


class TestRelatedMessages:
    """basic/utilities/tasks, "Associating Task-Related Messages" and "Input Required Status"."""

    async def test_questions_and_answers_name_the_task(self) -> None:
        model = Model()
        seen: list[Status] = []
        async with talk(Worker(), handlers=model) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="sample"))
            await model.asked.wait()
            assert (await handle.poll()).status is Status.INPUT_REQUIRED
            waiting = asyncio.create_task(handle.result(on_status=lambda record: seen.append(record.status)))
            await asyncio.sleep(0.05)
            assert "tasks/result" in [message.get("method") for message in conversation.sent]
            model.gate.set()
            result = await waiting
            assert isinstance(result.content[0], v.TextContent) and result.content[0].text == "yes"
            related = {RELATED: {"taskId": handle.id}}
            [asked] = [m for m in conversation.received if m.get("method") == "sampling/createMessage"]
            assert asked["params"]["_meta"] == related
            [answer] = [m for m in conversation.sent if "result" in m]
            assert answer["result"]["_meta"] == related
            updates = [m["params"] for m in conversation.received if m.get("method") == "notifications/tasks/status"]
            assert [each["status"] for each in updates] == ["input_required", "working", "completed"]
            assert all(each["taskId"] == handle.id and "_meta" not in each for each in updates)
            assert seen == [Status.INPUT_REQUIRED]

    async def test_progress_continues_for_the_lifetime_of_a_task(self) -> None:
        server = Worker()
        reports: list[Any] = []
        async with talk(server) as conversation:
            options = CallOptions(progress=lambda progress, total, message: reports.append((progress, total, message)))
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call(do="progress"), options=options)
            await asyncio.sleep(0.02)
            assert reports == [(1, 2, "half")]
            server.gate.set()
            await handle.result()
            assert reports == [(1, 2, "half"), (2, 2, None)]
            assert server.context is not None
            await server.context.report_progress(3)
            await conversation.client.ping()
            assert len(reports) == 2 and conversation.errors == []
            named = ("notifications/progress", "notifications/message")
            of_task = [m["params"]["_meta"] for m in conversation.received if m.get("method") in named]
            assert of_task == [{RELATED: {"taskId": handle.id}}] * 3

    async def test_progress_is_limited_and_the_last_report_precedes_the_end(self) -> None:
        reports: list[float] = []
        server = Worker()
        async with talk(server) as conversation:
            options = CallOptions(progress=lambda progress, total, message: reports.append(progress))
            await run_as_task(conversation.client, methods.TOOLS_CALL, call(do="flood"), options=options)
            assert reports[-1] == 999 and len(reports) < 100
            names = [m["method"] for m in conversation.received if m.get("method", "").startswith("notifications/")]
            assert names[-2:] == ["notifications/progress", "notifications/tasks/status"]

    @pytest.mark.parametrize("do", ["flood", "stubborn"])
    async def test_nothing_is_reported_after_it_was_cancelled(self, do: str) -> None:
        reports: list[float] = []
        server = Worker()
        async with talk(server) as conversation:
            options = CallOptions(progress=lambda progress, total, message: reports.append(progress))
            work = call(do=do, then="wait")
            handle = await start_task(conversation.client, methods.TOOLS_CALL, work, options=options)
            await server.begun.wait()
            await handle.cancel()
            seen = len(conversation.received)
            await asyncio.sleep(0.15)
            assert [m.get("method") for m in conversation.received[seen:]] == []

    async def test_no_listeners_remain_for_failed_or_finished_tasks(self) -> None:
        async with talk(Worker()) as conversation:
            options = CallOptions(progress=lambda progress, total, message: None)
            with pytest.raises(PeerError):
                await start_task(conversation.client, methods.TOOLS_CALL, call("must not"), options=options)
            await run_as_task(conversation.client, methods.TOOLS_CALL, call(), options=options)
            calls = [m for m in conversation.sent if m.get("method") == "tools/call"]
            server: Any = conversation.server.stub
            for sent in calls:
                await server.notify_progress(progress_token=sent["params"]["_meta"]["progressToken"], progress=1)
            assert len(calls) == len(conversation.errors) == 2
            assert all("progress token" in str(error) for error in conversation.errors)

    async def test_a_task_of_a_client_that_comes_back_outlives_the_connection(self) -> None:
        server = Worker()
        async with raw(server) as one, raw(server) as other:
            for line in (one, other):
                line.server.features[OWNER] = "ada"
                await line.shake_hands("2025-11-25", sampling={})
            ids: list[str] = []
            for what in ("wait", "sample"):
                created = await one.ask("tools/call", {"name": "work", "task": {}, "arguments": {"do": what}}, id_=what)
                ids.append(created["result"]["task"]["taskId"])
            waiting, asking = ({"taskId": task_id} for task_id in ids)
            assert (await other.ask("tasks/get", waiting, id_=2))["result"]["status"] == "working"
            await one.server.aclose()
            assert (await other.ask("tasks/get", waiting, id_=3))["result"]["status"] == "working"
            server.gate.set()
            answer = await other.ask("tasks/result", waiting, id_=4)
            assert answer["result"]["structuredContent"] == {"n": 1.5} and not server.stopped

            other.got.clear()
            other.tell(id=5, method="tasks/result", params=asking)
            asked = await other.arrived()
            assert (asked["method"], asked["params"]["_meta"]) == ("sampling/createMessage", {RELATED: asking})
            content = {"type": "text", "text": "yes"}
            other.tell(id=asked["id"], result={"role": "assistant", "model": "m", "content": content})
            assert (await other.answer(5))["result"]["content"] == [content]

    async def test_a_form_can_be_a_task(self) -> None:
        class Person(Model):
            async def elicit(
                self, params: v.ElicitRequestParams, ctx: v.ClientContext
            ) -> v.ElicitResult | v.CreateTaskResult:
                return v.ElicitResult(action="decline")

        async with talk(Worker(), handlers=Person(), extensions=[Tasks(quick())]) as conversation:
            client: Any = conversation.server.stub
            schema = v.ElicitRequestFormParamsRequestedSchema(properties={})
            form = v.ElicitRequestFormParams(message="?", requested_schema=schema)
            result = await run_as_task(client, methods.ELICITATION_CREATE, form)
            assert result.action == "decline"

    async def test_a_client_runs_tasks_for_its_server(self) -> None:
        model = Model()
        async with talk(Worker(), handlers=model, extensions=[Tasks(quick())]) as conversation:
            message = v.SamplingMessage(role="user", content=v.TextContent(text="?"))
            params = v.CreateMessageRequestParams(messages=[message], max_tokens=3)
            client: Any = conversation.server.stub
            handle = await start_task(client, methods.SAMPLING_CREATE_MESSAGE, params, ttl=60)
            await model.asked.wait()
            assert handle.record.status is Status.WORKING
            model.gate.set()
            assert (await handle.result()).model == "m"

    async def test_a_task_within_a_task_names_the_outer_one(self) -> None:
        model = Model()
        model.gate.set()

        class Nested(Worker):
            async def call_tool(
                self, params: v.CallToolRequestParams, ctx: v.Context
            ) -> v.CallToolResult | v.CreateTaskResult:
                message = v.SamplingMessage(role="user", content=v.TextContent(text="?"))
                asked = v.CreateMessageRequestParams(messages=[message], max_tokens=3)
                await run_as_task(ctx.client, methods.SAMPLING_CREATE_MESSAGE, asked)
                return text_result("done")

        async with talk(Nested(), handlers=model, extensions=[Tasks(quick())]) as conversation:
            handle = await start_task(conversation.client, methods.TOOLS_CALL, call())
            assert (await handle.result()).content
            by_method = {m["method"]: m["params"] for m in conversation.received if "id" in m and "method" in m}
            assert by_method["sampling/createMessage"]["_meta"] == {RELATED: {"taskId": handle.id}}
            assert "_meta" not in by_method["tasks/get"]


async def test_a_failed_task_without_a_stored_error() -> None:
    moment = "2025-11-25T10:00:00Z"
    known: Any = {"task_id": "1", "created_at": moment, "last_updated_at": moment, "ttl": None, "poll_interval": 0}

    class Forgetful(v.Server):
        """Runs tasks by hand, and keeps no errors."""

        options = ServerOptions(name="forgetful", capabilities={"tasks": {"requests": {"tools": {"call": {}}}}})

        async def call_tool(
            self, params: v.CallToolRequestParams, ctx: v.Context
        ) -> v.CallToolResult | v.CreateTaskResult:
            return v.CreateTaskResult(task=v.Task(**known, status="working"))

        async def get_task(self, params: v.GetTaskRequestParams, ctx: v.Context) -> v.GetTaskResult:
            return v.GetTaskResult(**known, status="failed", status_message="no\x1b tea")

        async def get_task_payload(
            self, params: v.GetTaskPayloadRequestParams, ctx: v.Context
        ) -> v.GetTaskPayloadResult:
            return v.GetTaskPayloadResult()

    async with talk(Forgetful()) as conversation:
        with pytest.raises(TaskFailed, match=r"'failed' and has no result: no\\x1b tea") as raised:
            await run_as_task(conversation.client, methods.TOOLS_CALL, call())
        assert pickle.loads(pickle.dumps(raised.value)).record.id == "1"


def test_an_invalid_time_is_a_protocol_error() -> None:
    task = v.Task(task_id="1", status="working", created_at="yesterday", last_updated_at="now", ttl=None)
    client = v.Client(caller=None)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="createdAt"):
        TaskHandle(client, methods.TOOLS_CALL, task)


def test_a_handle_is_of_the_type_of_its_result() -> None:
    task = v.Task(
        task_id="1",
        status="working",
        created_at="2025-11-25T10:00:00Z",
        last_updated_at="2025-11-25T10:00:00",
        ttl=None,
    )
    handle = TaskHandle(v.Client(caller=None), methods.TOOLS_CALL, task)  # type: ignore[arg-type]
    record: TaskRecord = handle.record
    assert record.created_at == record.updated_at
