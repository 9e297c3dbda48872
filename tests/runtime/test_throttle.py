"""Progress that does not increase is dropped, and its handler's mistake is logged once."""

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import CallOptions
from support.together import together

pytestmark = pytest.mark.usefixtures("virtual_time")


class Worker(v.Server):
    """Reports its work much more often than useful."""

    options = ServerOptions(progress_rate=10)

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        for step in (*range(1, 51), 50, 49, float("nan"), 51, 50.5):
            await ctx.report_progress(step)
        return v.CallToolResult(content=[])


class Unlimited(Worker):
    options = ServerOptions(progress_rate=None)


async def test_non_increasing_progress_is_dropped_even_if_the_last_report_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found: list[float] = []

    def note(progress: float, total: float | None, message: str | None) -> None:
        found.append(progress)

    async with together(v.Client, Worker()) as client:
        await client.call_tool(name="x", options=CallOptions(progress=note))
    assert found[-1] == 51 and found == sorted(set(found))
    (line,) = [record.getMessage() for record in caplog.records if "reported" in record.getMessage()]
    assert line == (
        "the handler of tools/call reported progress that does not increase (50 after 50); such reports are dropped"
    )


@pytest.mark.parametrize("server", [Worker, Unlimited])
async def test_the_mistake_is_logged_once_even_without_a_token(
    server: type[Worker], caplog: pytest.LogCaptureFixture
) -> None:
    async with together(v.Client, server()) as client:
        for _ in range(2):
            await client.call_tool(name="x")
    lines = [record.getMessage() for record in caplog.records if "does not increase" in record.getMessage()]
    assert len(lines) == 2
