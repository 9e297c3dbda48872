"""Peers that break the rules of the tasks extension."""

import asyncio
import json
import time
from collections import Counter
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel

from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.v2026_07_28.methods import SUBSCRIPTIONS_LISTEN
from mcp_runtime.core.errors import PeerError, RemoteProtocolError
from mcp_runtime.core.transports.http import asgi_app
from mcp_runtime.extensions.tasks import Tasks, defer
from mcp_runtime.extensions.tasks.polling import MAX_QUESTIONS
from mcp_runtime.extensions.vendor import send_request, vendor_request
from mcp_runtime.memory import connect_memory
from support.asking import meta
from support.http import served
from support.tasking import quick

NOW = "2026-07-28T00:00:00Z"
TASK: dict[str, Any] = {"taskId": "t", "createdAt": NOW, "lastUpdatedAt": NOW, "ttlMs": 10**18, "pollIntervalMs": 1}
FORM: dict[str, Any] = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
QUESTION: dict[str, Any] = {"method": "elicitation/create", "params": FORM}


class Raw(BaseModel, extra="allow"):
    """Params or a result as they are."""


def app() -> mcp.App:
    made: mcp.App = mcp.App("bakery", extensions=[Tasks(quick(max_tasks=10))])

    @made.tool(task="optional")
    async def bake(ctx: mcp.Context) -> str:
        """Bake forever."""
        await defer(ctx)
        await asyncio.sleep(3600)
        return ""

    return made


class Liar(mcp.Server):
    """Answers every call with a task, whoever asks."""

    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> Any:
        return Raw.model_validate({"resultType": "task", "status": "working", **TASK})

    async def get_prompt(self, params: mcp.GetPromptRequestParams, ctx: mcp.Context) -> Any:
        return Raw.model_validate({"resultType": "task", "status": "working", **TASK})


@pytest.mark.parametrize("extensions", [[], [Tasks()]])
async def test_tasks_that_nobody_may_get_are_bad_answers(extensions: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with connect_memory(Liar()) as peer:
        client = await mcp.Client.open(peer, extensions=extensions)
        with pytest.raises(RemoteProtocolError, match="/resultType: the result is 'task'"):
            await client.get_prompt(name="x")
        assert sum("the result is 'task'" in record.getMessage() for record in caplog.records) == 1
        if not extensions:
            with pytest.raises(RemoteProtocolError, match="/resultType: the result is 'task'"):
                await client.call_tool(name="x")


class Curious(Tasks):
    """A server whose task asks forever, with new keys or with the same one."""

    def __init__(self, per_poll: int) -> None:
        super().__init__(quick())
        self.polls, self.per_poll, self.calls = 0, per_poll, Counter[str]()

    def handlers(self) -> Any:
        return {"tasks/get": self.get, "tasks/update": self.note, "tasks/cancel": self.note}

    async def get(self, params: Any, ctx: Any) -> Any:
        self.polls += 1
        first = self.polls * self.per_poll
        asked = {f"key{number}": QUESTION for number in range(first, first + self.per_poll)} or {"same": QUESTION}
        return {"resultType": "complete", "status": "input_required", "inputRequests": asked, **TASK}

    async def note(self, params: Any, ctx: Any) -> Any:
        self.calls[ctx.exchange.method.name] += 1
        return {"resultType": "complete"}


class Patient(mcp.ClientHandlers):
    asked = 0

    async def elicit(self, params: Any, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        self.asked += 1
        return mcp.ElicitResult(action="accept", content={})


async def test_a_task_that_asks_forever_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    curious, patient = Curious(400), Patient()
    async with connect_memory(Liar(extensions=[curious])) as peer:
        client = await mcp.Client.open(peer, handlers=patient, extensions=[Tasks()])
        with pytest.raises(RemoteProtocolError, match="more than 1,000 questions"):
            async with asyncio.timeout(10):
                await client.call_tool(name="x")
        async with asyncio.timeout(5):
            while not curious.calls["tasks/cancel"]:
                await asyncio.sleep(0.01)
    assert patient.asked == 800 < MAX_QUESTIONS
    assert sum("more than 1,000 questions" in record.getMessage() for record in caplog.records) == 1


@pytest.mark.usefixtures("virtual_time")
async def test_a_key_that_comes_again_is_answered_once() -> None:
    curious, patient = Curious(0), Patient()
    async with connect_memory(Liar(extensions=[curious])) as peer:
        client = await mcp.Client.open(peer, handlers=patient, extensions=[Tasks()])
        call = asyncio.ensure_future(client.call_tool(name="x"))
        await asyncio.sleep(0.55)
        call.cancel()
    assert patient.asked == curious.calls["tasks/update"] == 1 and 3 <= curious.polls <= 6


@pytest.mark.parametrize("params", [{"taskId": 7}, {}, {"taskId": "x" * 257}])
async def test_an_id_that_is_not_a_string_is_refused(params: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    async with connect_memory(app()) as peer:
        client = await mcp.Client.open(peer, extensions=[Tasks()])
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            with pytest.raises(PeerError) as caught:
                await send_request(
                    client.connection, vendor_request(method, Raw, Raw), {**params, "inputResponses": {}}
                )
            assert caught.value.code == -32602
            said = [record.getMessage() for record in caplog.records]
            assert sum(line.startswith(method) and "taskId" in line for line in said) == 1


async def test_very_many_answers_to_nothing_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with connect_memory(app()) as peer:
        client = await mcp.Client.open(peer, extensions=[Tasks()])
        created = await send_request(client.connection, vendor_request("tools/call", Raw, Raw), {"name": "bake"})
        answers = {f"elicitation-{number}": number for number in range(100_000)}
        params: dict[str, Any] = {"taskId": created.model_dump()["taskId"], "inputResponses": answers}
        before = time.process_time()
        json.loads(json.dumps(params))
        written_and_read = time.process_time() - before
        before = time.process_time()
        done = await send_request(client.connection, vendor_request("tasks/update", Raw, Raw), params)
        assert caplog.text.count("100000 answers to no open question of the task") == 1
        assert done.model_extra and time.process_time() - before < 50 * written_and_read
        with pytest.raises(PeerError, match="inputResponses must be an object"):
            await send_request(
                client.connection, vendor_request("tasks/update", Raw, Raw), {**params, "inputResponses": [1]}
            )


async def test_a_filter_of_tasks_needs_the_extension() -> None:
    async with connect_memory(app()) as peer:
        client = await mcp.Client.open(peer)
        method = vendor_request(SUBSCRIPTIONS_LISTEN.name, Raw, Raw)
        with pytest.raises(PeerError) as caught:
            await send_request(client.connection, method, {"notifications": {"taskIds": ["x"]}})
        assert caught.value.code == -32021


def message(method: str, params: dict[str, Any]) -> dict[str, Any]:
    said = meta()
    said["io.modelcontextprotocol/clientCapabilities"] = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": said}}


async def test_mcp_name_is_the_id_of_the_task_and_no_client_takes_all_tasks() -> None:
    async with served(asgi_app(app())) as url, httpx2.AsyncClient() as http:

        async def post(method: str, name: str | None, params: dict[str, Any]) -> dict[str, Any]:
            headers = {"accept": "application/json, text/event-stream", "mcp-method": method}
            headers["mcp-protocol-version"] = "2026-07-28"
            if name is not None:
                headers["mcp-name"] = name
            answer = await http.post(f"{url}/mcp", json=message(method, params), headers=headers)
            text = answer.text.partition("data: ")[2] or answer.text
            found: dict[str, Any] = json.loads(text)
            return found

        created = [await post("tools/call", "bake", {"name": "bake"}) for _ in range(6)]
        assert [("error" in each, "result" in each) for each in created] == [(False, True)] * 5 + [(True, False)]
        assert "the limit of 5 tasks is reached" in str(created[-1]["error"])
        task_id = created[0]["result"]["taskId"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            for wrong in (None, "x"):
                refused = await post(method, wrong, {"taskId": task_id, "inputResponses": {}})
                assert refused["error"]["code"] == -32020
            assert "result" in await post(method, task_id, {"taskId": task_id, "inputResponses": {}})
