"""The result inside a finished task is read like the result of a call without a task (2026-07-28)."""

import json
from importlib import import_module
from typing import Any

import pytest
from pydantic import BaseModel

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.errors import McpError, RemoteProtocolError
from mcp_runtime.core.settings import ClientOptions, ServerOptions
from mcp_runtime.extensions.tasks import Tasks
from mcp_runtime.memory import connect_memory
from support.tasking import quick

NOW = "2026-07-28T00:00:00Z"
TASK: dict[str, Any] = {"taskId": "t", "createdAt": NOW, "lastUpdatedAt": NOW, "ttlMs": 60_000, "pollIntervalMs": 100}
SERVER = "io.modelcontextprotocol/serverInfo"
TEXT: dict[str, Any] = {"type": "text", "text": "done"}
RESULTS: dict[str, dict[str, Any]] = {
    "typed": {"resultType": "complete", "content": [TEXT]},
    "without a type": {"content": [TEXT], "isError": False},
    "failed": {"content": [TEXT], "isError": True},
    "structured": {"content": [], "structuredContent": {"cups": 2}},
    "with metadata": {"content": [TEXT], "_meta": {"com.example/n": 1}},
    "null is absent": {"content": [TEXT], "isError": None},
    "type null": {"content": [TEXT], "resultType": None},
    "more properties": {"content": [TEXT], "later": [1]},
    "unknown block": {"content": [{"type": "hologram"}]},
    "without content": {"isError": False},
    "unknown type": {"resultType": "weird", "content": [TEXT]},
    "type is a number": {"resultType": 7, "content": [TEXT]},
}


class Raw(BaseModel, extra="allow"):
    """A result as it is."""


class Server(mcp.Server):
    """Answers calls with a result, or with a task that has it."""

    options = ServerOptions(revisions="own")

    def __init__(self, result: dict[str, Any], as_task: bool) -> None:
        super().__init__(extensions=[Finished(result)])
        self._answer = {"resultType": "task", "status": "working", **TASK} if as_task else result

    async def call_tool(self, params: mcp.CallToolRequestParams, ctx: mcp.Context) -> Any:
        return Raw.model_validate(self._answer)


class Finished(Tasks):
    """A task that has ended with a result."""

    def __init__(self, result: dict[str, Any]) -> None:
        super().__init__(quick())
        self._result = result

    def handlers(self) -> Any:
        return {"tasks/get": self.get, "tasks/cancel": self.cancel}

    async def get(self, params: Any, ctx: Any) -> Any:
        return {"resultType": "complete", "status": "completed", "result": self._result, **TASK}

    async def cancel(self, params: Any, ctx: Any) -> Any:
        return {"resultType": "complete"}


async def outcome(revision: str, result: dict[str, Any], *, as_task: bool, strict: bool = False) -> str:
    """Return what a client gets, as text."""
    bindings: Any = import_module(f"mcp_bindings.v{revision}")
    async with connect_memory(Server(result, as_task)) as peer:
        client = await bindings.Client.open(peer, options=ClientOptions(strict=strict), extensions=[Tasks()])
        try:
            found: dict[str, Any] = (await client.call_tool(name="x")).model_dump(mode="json", by_alias=True)
        except McpError as error:
            return f"{type(error).__name__}: {error}"
        # Servers name themselves in the result of a call, not in the one that it holds.
        meta: dict[str, Any] = found.pop("_meta", None) or {}
        return json.dumps({**found, "_meta": {name: value for name, value in meta.items() if name != SERVER}})


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("revision", ["2025_06_18", "2025_11_25", "2026_07_28"])
@pytest.mark.parametrize("kind", RESULTS)
async def test_results_of_tasks_are_read_like_results_of_calls(revision: str, kind: str) -> None:
    plain = await outcome(revision, RESULTS[kind], as_task=False)
    assert await outcome(revision, RESULTS[kind], as_task=True) == plain
    assert plain.startswith("RemoteProtocolError") == (list(RESULTS).index(kind) >= 8), plain


@pytest.mark.usefixtures("virtual_time")
async def test_a_strict_client_requires_the_type_in_both() -> None:
    for as_task in (False, True):
        found = await outcome("2026_07_28", RESULTS["without a type"], as_task=as_task, strict=True)
        assert found == "RemoteProtocolError: tools/call of 2026-07-28: /resultType: Field required"


@pytest.mark.usefixtures("virtual_time")
@pytest.mark.parametrize("tag", ["input_required", "task"])
async def test_a_task_does_not_end_with_another_interim_result(tag: str) -> None:
    result = {"resultType": tag, "requestState": "s", "status": "working", **TASK}
    found = await outcome("2026_07_28", result, as_task=True)
    assert f"/resultType: the result of a task is '{tag}', not the usual one" in found
    assert found.startswith(RemoteProtocolError.__name__)
