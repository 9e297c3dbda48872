"""Tasks (2025-11-25, basic/utilities/tasks), on the side that runs them, as seen by a raw peer."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import RELATED, Status, Tasks
from mcp_runtime.extensions.tasks.states import TRANSITIONS
from mcp_runtime.middleware.rate_limit import RATE_LIMITED, RateLimit
from support.talk import Raw, raw
from support.tasking import Worker, quick

pytestmark = pytest.mark.usefixtures("virtual_time")

requirement = pytest.mark.requirement
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


@asynccontextmanager
async def working(revision: str, server: Worker | None = None, **capabilities: Any) -> AsyncGenerator[Raw]:
    async with raw(server or Worker()) as line:
        await line.shake_hands(revision, **capabilities)
        yield line


_ids = iter(range(100, 10**9))


async def ask(line: Raw, method: str, **params: Any) -> Any:
    """Send a request with a new id; return the result or the error."""
    answer = await line.ask(method, params, id_=next(_ids))
    return answer.get("result", answer.get("error"))


async def begin(line: Raw, do: str = "answer", name: str = "work", **task: Any) -> Any:
    """Start a task, and return it."""
    return (await ask(line, "tools/call", name=name, arguments={"do": do}, task=task))["task"]


async def ended(line: Raw, task_id: str) -> Any:
    async with asyncio.timeout(5):
        while True:
            task = await ask(line, "tasks/get", taskId=task_id)
            if task["status"] not in ("working", "input_required"):
                return task
            await asyncio.sleep(0.005)


@requirement("tasks.declared")
async def test_servers_with_tasks_declare_which(revision: str) -> None:
    async with raw(Worker()) as line:
        declared = (await line.shake_hands(revision))["capabilities"]
        assert declared["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


@requirement("tasks.undeclared-ignored")
async def test_task_params_are_ignored_without_the_capability(revision: str) -> None:
    server = Worker()
    server.options = ServerOptions()
    async with raw(server) as line:
        assert "tasks" not in (await line.shake_hands(revision))["capabilities"]
        result = await ask(line, "tools/call", name="work", task={"ttl": 1})
        assert "task" not in result and result["content"][0]["text"] == "work"


@requirement("tasks.tool-forbidden-refused")
@pytest.mark.parametrize("name", ["must not", "silent"])
async def test_a_tool_that_cannot_be_a_task_is_refused_as_one(revision: str, name: str) -> None:
    async with working(revision) as line:
        assert (await ask(line, "tools/call", name=name, task={}))["code"] == -32601
        assert (await ask(line, "tools/call", name=name))["content"]


@requirement("tasks.tool-required-refused")
async def test_a_tool_that_must_be_a_task_is_refused_otherwise(revision: str) -> None:
    async with working(revision) as line:
        assert (await ask(line, "tools/call", name="must"))["code"] == -32601
        assert (await begin(line, name="must"))["status"] == "working"


@requirement("tasks.created-result", "tasks.begins-working", "tasks.created-at", "tasks.last-updated-at")
async def test_a_task_is_the_answer_at_once_and_works(revision: str) -> None:
    async with working(revision) as line:
        task = await begin(line, "wait", ttl=60000)
        assert (task["status"], task["ttl"]) == ("working", 60000)
        seen = await ask(line, "tasks/get", taskId=task["taskId"])
        listed = (await ask(line, "tasks/list"))["tasks"][0]
        cancelled = await ask(line, "tasks/cancel", taskId=task["taskId"])
        for each in (task, seen, listed, cancelled):
            assert MOMENT.fullmatch(each["createdAt"]) and MOMENT.fullmatch(each["lastUpdatedAt"])
            assert each["createdAt"] == task["createdAt"] <= each["lastUpdatedAt"]


@requirement("tasks.id-string", "tasks.id-by-receiver", "tasks.id-unique", "tasks.id-unguessable")
async def test_ids_are_our_own_random_strings(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as line, working(revision, server) as other:
        ids = [(await begin(each, taskId="mine"))["taskId"] for _ in range(25) for each in (line, other)]
        assert len(set(ids)) == 50 and "mine" not in ids
        assert all(re.fullmatch(r"[0-9a-f]{32}", id_) for id_ in ids)


@requirement("tasks.transitions")
def test_the_transitions_of_a_status_are_those_of_the_specification(revision: str) -> None:
    final = {Status.COMPLETED, Status.FAILED, Status.CANCELLED}
    assert {status: set(following) for status, following in TRANSITIONS.items()} == {
        Status.WORKING: {Status.INPUT_REQUIRED, *final},
        Status.INPUT_REQUIRED: {Status.WORKING, *final},
        **{status: set[Status]() for status in final},
    }
    assert revision == "2025-11-25"


@requirement("tasks.ttl")
async def test_the_ttl_of_a_task_is_reported(revision: str) -> None:
    async with working(revision, Worker(quick(ttl=None, max_ttl=5))) as line:
        for asked, given in ((1000, 1000), (10**9, 5000)):
            task = await begin(line, ttl=asked)
            assert (await ask(line, "tasks/get", taskId=task["taskId"]))["ttl"] == given
        unlimited = await begin(line)
        seen = await ask(line, "tasks/get", taskId=unlimited["taskId"])
        assert "ttl" in seen and seen["ttl"] is None


@requirement("tasks.result-blocks", "tasks.related-result")
async def test_the_result_comes_when_there_is_one_and_names_its_task(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as line:
        task = await begin(line, "wait")
        waiting = asyncio.create_task(ask(line, "tasks/result", taskId=task["taskId"]))
        await server.begun.wait()
        await asyncio.sleep(0.02)
        await ask(line, "ping")
        assert not waiting.done()
        server.gate.set()
        assert (await waiting)["_meta"] == {"own": 1, RELATED: {"taskId": task["taskId"]}}
        assert (await ask(line, "tasks/get", taskId=task["taskId"]))["status"] == "completed"


@requirement("tasks.result-exact")
@pytest.mark.parametrize("do", ["answer", "report", "fail", "crash"])
async def test_the_result_is_exactly_that_of_a_direct_call(revision: str, do: str) -> None:
    async with working(revision) as line:
        direct = await ask(line, "tools/call", name="work", arguments={"do": do})
        task = await begin(line, do)
        for _ in range(2):
            late = await ask(line, "tasks/result", taskId=task["taskId"])
            if "content" in late:
                del late["_meta"][RELATED]
                direct.setdefault("_meta", {})
            assert late == direct
        wanted = "completed" if do == "answer" else "failed"
        assert (await ended(line, task["taskId"]))["status"] == wanted


@requirement("tasks.input-required", "tasks.input-related", "tasks.related")
async def test_questions_of_a_task_name_it_and_it_requires_input(revision: str) -> None:
    async with working(revision, sampling={}) as line:
        task = await begin(line, "sample")
        related = {RELATED: {"taskId": task["taskId"]}}
        async with asyncio.timeout(5):
            while not (found := [m for m in line.got if m.get("method") == "sampling/createMessage"]):
                await asyncio.sleep(0.005)
        assert found[0]["params"]["_meta"] == related
        assert (await ask(line, "tasks/get", taskId=task["taskId"]))["status"] == "input_required"
        content = {"type": "text", "text": "yes"}
        line.tell(id=found[0]["id"], result={"role": "assistant", "model": "m", "content": content, "_meta": related})
        assert (await ended(line, task["taskId"]))["status"] == "completed"
        notifications = [m["params"] for m in line.got if m.get("method") == "notifications/tasks/status"]
        assert [each["status"] for each in notifications] == ["input_required", "working", "completed"]


@requirement("tasks.related")
async def test_reports_and_logs_of_a_task_name_it(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as line:
        params = {"name": "work", "arguments": {"do": "progress"}, "task": {}, "_meta": {"progressToken": "t"}}
        created = (await line.ask("tools/call", params, id_=1))["result"]
        assert created["_meta"] == {RELATED: {"taskId": created["task"]["taskId"]}}
        server.gate.set()
        await ended(line, created["task"]["taskId"])
        notifications = [m for m in line.got if m.get("method") in ("notifications/progress", "notifications/message")]
        assert len(notifications) == 3 and all(m["params"]["_meta"] == created["_meta"] for m in notifications)


@requirement("tasks.id-of-params", "tasks.related-not-repeated")
async def test_the_id_in_the_params_takes_precedence_and_is_not_repeated(revision: str) -> None:
    async with working(revision) as line:
        one, other = await begin(line, "wait"), await begin(line)
        await ended(line, other["taskId"])
        meta = {RELATED: {"taskId": other["taskId"]}}
        for method in ("tasks/get", "tasks/cancel"):
            seen = await ask(line, method, taskId=one["taskId"], _meta=meta)
            assert seen["taskId"] == one["taskId"] and "_meta" not in seen
        assert "_meta" not in await ask(line, "tasks/list")
        assert (await ask(line, "tasks/result", taskId=one["taskId"], _meta=meta))["code"] == -32603
        notifications = [m["params"] for m in line.got if m.get("method") == "notifications/tasks/status"]
        assert notifications and not any("_meta" in each for each in notifications)


@requirement("tasks.pages", "tasks.next-cursor", "tasks.all-listed")
async def test_the_pages_contain_all_tasks(revision: str) -> None:
    async with working(revision, Worker(quick(page_size=2))) as line:
        created = [(await begin(line))["taskId"] for _ in range(5)]
        pages = [await ask(line, "tasks/list")]
        while "nextCursor" in pages[-1]:
            pages.append(await ask(line, "tasks/list", cursor=pages[-1]["nextCursor"]))
        assert [len(page["tasks"]) for page in pages] == [2, 2, 1]
        listed = [task["taskId"] for page in pages for task in page["tasks"]]
        assert listed == created
        for id_ in created:
            assert (await ask(line, "tasks/get", taskId=id_))["taskId"] == id_


@requirement("tasks.unknown-cursor", "tasks.unknown-id", "tasks.informative")
async def test_unknown_tasks_are_refused_with_an_explanation(revision: str) -> None:
    async with working(revision) as line:
        await begin(line)
        for cursor in ("x", "", "99"):
            error = await ask(line, "tasks/list", cursor=cursor)
            assert error["code"] == -32602 and "cursor" in error["message"]
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            for id_ in ("0" * 32, "", "x"):
                error = await ask(line, method, taskId=id_)
                assert error["code"] == -32602 and "task" in error["message"]


@requirement("tasks.cancel-final", "tasks.cancel-first", "tasks.cancel-stops")
async def test_a_task_is_cancelled_once_before_the_answer(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as line:
        task = await begin(line, "wait")
        await server.begun.wait()
        assert (await ask(line, "tasks/cancel", taskId=task["taskId"]))["status"] == "cancelled"
        await asyncio.sleep(0.01)
        assert server.stopped
        assert (await ask(line, "tasks/cancel", taskId=task["taskId"]))["code"] == -32602
        done = await begin(line)
        await ended(line, done["taskId"])
        assert (await ask(line, "tasks/cancel", taskId=done["taskId"]))["code"] == -32602


@requirement("tasks.cancel-stays")
async def test_a_task_stays_cancelled_though_the_work_goes_on(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as line:
        task = await begin(line, "stubborn")
        await server.begun.wait()
        await ask(line, "tasks/cancel", taskId=task["taskId"])
        server.gate.set()
        await asyncio.sleep(0.02)
        assert (await ask(line, "tasks/get", taskId=task["taskId"]))["status"] == "cancelled"


@requirement("tasks.internal-error", "tasks.failed-message")
async def test_internal_errors_are_reported_without_their_text(revision: str) -> None:
    async with working(revision) as line:
        for do, message in (("crash", "internal error"), ("fail", "no more tea")):
            task = await begin(line, do)
            assert (await ended(line, task["taskId"]))["statusMessage"] == message
            assert (await ask(line, "tasks/result", taskId=task["taskId"]))["message"] == message
        assert "hunter2" not in str(line.got)


@requirement("tasks.internal-error")
async def test_a_store_that_fails_is_an_internal_error(revision: str) -> None:
    class Broken(type(quick())):  # type: ignore[misc]  # a class of the same kind
        async def get(self, owner: str, task_id: str) -> Any:
            raise OSError("no disk")

    async with working(revision, Worker(Broken())) as line:
        error = await ask(line, "tasks/get", taskId="x")
        assert error == {"code": -32603, "message": "internal error"}


@requirement("tasks.context")
async def test_a_task_is_visible_to_its_owner_only(revision: str) -> None:
    server = Worker()
    async with working(revision, server) as one, working(revision, server) as other:
        task = await begin(one, "wait")
        assert (await ask(other, "tasks/list"))["tasks"] == []
        for method in ("tasks/get", "tasks/result", "tasks/cancel"):
            assert (await ask(other, method, taskId=task["taskId"]))["code"] == -32602
        assert (await ask(one, "tasks/get", taskId=task["taskId"]))["status"] == "working"


@requirement("tasks.rate-limited")
async def test_requests_that_come_too_fast_are_refused(revision: str) -> None:
    server = Worker()
    limit = RateLimit(rate=0.001, burst=2, methods=["tasks/get"])
    server.options = ServerOptions(extensions=[Tasks(quick())], middleware=(limit,))
    async with working(revision, server) as line:
        codes = [(await ask(line, "tasks/get", taskId="x"))["code"] for _ in range(3)]
        assert codes == [-32602, -32602, RATE_LIMITED]


@requirement("tasks.task-limit")
async def test_tasks_are_limited_and_expire(revision: str) -> None:
    server = Worker(quick(max_tasks=1, max_ttl=0.5))
    async with working(revision, server) as line:
        task = await begin(line, "wait", ttl=10**9)
        assert task["ttl"] == 500
        assert (await ask(line, "tools/call", name="work", task={}))["code"] == -32603
        await asyncio.sleep(0.6)
        assert (await ask(line, "tasks/get", taskId=task["taskId"]))["code"] == -32602 and server.stopped
        assert (await begin(line))["status"] == "working"


@requirement("tasks.logged")
async def test_the_beginning_and_end_of_tasks_are_logged(revision: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mcp_runtime")
    async with working(revision) as line:
        task = await begin(line)
        await ended(line, task["taskId"])
    id_ = task["taskId"]
    assert f"tools/call became the task {id_}" in caplog.text and f"the task {id_} has ended: completed" in caplog.text
