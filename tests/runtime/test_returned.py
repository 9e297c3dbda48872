"""Handlers that return or raise what they should not: the author gets a log line, and the client an error."""

import logging
from typing import Any, cast

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25.errors import InternalError
from mcp_runtime.core.connection.results import write_result
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Tasks
from support.talk import talk


class Returning(v.Server):
    """Returns whatever it is given."""

    options = ServerOptions(extensions=[Tasks(MemoryTaskStore())])

    def __init__(self, result: Any) -> None:
        self.result = result

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        tool = v.Tool(name="t", input_schema=v.ToolInputSchema(), execution=v.ToolExecution(task_support="optional"))
        return v.ListToolsResult(tools=[tool])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        result: Any = self.result
        if isinstance(result, BaseException):
            raise result
        return cast("v.CallToolResult", result)


class Interrupted(BaseException):
    """Does not derive from `Exception`, like those of some libraries."""


WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, "returned None (NoneType), not CallToolResult or CreateTaskResult"),
    "a number": (5, "returned 5 (int), not CallToolResult"),
    "a text": ("hello", "returned 'hello' (str), not CallToolResult"),
    "another result": (v.ListRootsResult(roots=[]), "(ListRootsResult), not CallToolResult"),
    "a dictionary that is none": ({"tools": []}, "returned {'tools': []} (dict), not CallToolResult"),
    "infinity": (
        v.CallToolResult.model_construct(content=[], structured_content={"n": [float("inf")]}),
        "returned a value that JSON cannot express",
    ),
    "infinity beside a long text": (
        v.CallToolResult.model_construct(
            content=[v.TextContent(text="x" * 10_000)], structured_content={"n": [float("nan")]}
        ),
        "returned a value that JSON cannot express",
    ),
    "no exception": (Interrupted("stop"), "failed"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_the_author_gets_a_log_line_and_the_client_an_error(name: str, caplog: pytest.LogCaptureFixture) -> None:
    result, said = WRONG[name]
    async with talk(Returning(result)) as both:
        with caplog.at_level(logging.ERROR, "mcp_runtime"), pytest.raises(InternalError, match=r"internal error"):
            await both.client.call_tool(name="t")
        (record,) = caplog.records
        assert record.getMessage().startswith("the handler of tools/call ") and said in record.getMessage()
        await both.client.ping()


@pytest.mark.parametrize("name", ["nothing", "infinity", "no exception"])
async def test_a_task_fails(name: str) -> None:
    async with talk(Returning(WRONG[name][0])) as both:
        created = await both.client.call_tool(name="t", task=v.TaskMetadata())
        with pytest.raises(InternalError, match="internal error"):
            await both.client.get_task_payload(task_id=created.task.task_id, result_type=v.CallToolResult)
        assert (await both.client.get_task(task_id=created.task.task_id)).status == "failed"


class Own(v.CallToolResult):
    """A result with a field of its own."""

    cost: int = 0


@pytest.mark.parametrize("result", [v.CallToolResult(content=[]), Own(content=[], cost=3), {"content": []}])
async def test_results_may_be_subclasses_or_mappings_by_wire_names(result: Any) -> None:
    async with talk(Returning(result)) as both:
        got = await both.client.call_tool(name="t")
        assert got.content == [] and got.model_dump().get("cost") == (3 if isinstance(result, Own) else None)


LONG: dict[str, v.CallToolResult] = {
    "text": v.CallToolResult(content=[v.TextContent(text='"quoted"\n\u2028 \U0001f40d null' * 1000)]),
    "base64": v.CallToolResult(content=[v.ImageContent(data="QUJD" * 10_000, mime_type="image/png")]),
    "text beside numbers": v.CallToolResult(
        content=[v.TextContent(text="x" * 10_000)],
        structured_content={"huge": 1 << 80, "float": 1e22, "tiny": 5e-324, "negative zero": -0.0, "null": None},
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_long_results_are_written_as_pydantic_writes_them(name: str) -> None:
    method = v.METHODS["tools/call"]
    assert isinstance(method, RequestMethod)
    assert write_result(method, LONG[name]) == LONG[name].model_dump_json().encode()
