"""Progress reports and log messages do not flood a peer, and the last of them always arrives."""

import asyncio

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_bindings.v2025_11_25 import methods
from mcp_runtime.client import ClientOptions
from mcp_runtime.connection.timers import Gate
from mcp_runtime.errors import PeerError
from mcp_runtime.server import ServerOptions
from mcp_runtime.stub import CallOptions
from support.together import together

pytestmark = pytest.mark.usefixtures("virtual_time")


class Worker(v.Server):
    """Reports its work much more often than useful."""

    options = ServerOptions(progress_rate=10, log_rate=10)

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        match params.name:
            case "flood":
                for step in range(1, 1001):
                    await ctx.report_progress(step, 1000, f"step {step}")
            case "slowly":
                for step in range(1, 41):
                    await ctx.report_progress(step)
                    await asyncio.sleep(0.01)
            case "backwards":
                for step in range(1, 51):
                    await ctx.report_progress(step)
                for wrong in (50, 49, float("nan"), 51, 50.5):
                    await ctx.report_progress(wrong)
            case "log an error":
                for number in range(100):
                    await ctx.log("error" if number == 50 else "debug", number)
            case _:
                raise PeerError(-32602, "unknown tool")
        return v.CallToolResult(content=[])


class Unlimited(Worker):
    options = ServerOptions(progress_rate=None, log_rate=None)


async def reports(server: Worker, name: str) -> list[float]:
    """Call a tool and return the reports that arrived before its answer."""
    found: list[float] = []

    def note(progress: float, total: float | None, message: str | None) -> None:
        found.append(progress)

    async with together(v.Client, server) as client:
        await client.call_tool(name=name, options=CallOptions(progress=note))
        before = list(found)
        await asyncio.sleep(0.15)
        assert found == before, "reports must stop when the request is answered"
    return found


async def logged(server: Worker, name: str) -> list[object]:
    """Call a tool and return the log messages that arrived before its answer."""
    async with together(v.Client, server) as client:
        stream = client.notifications(methods.NOTIFICATIONS_MESSAGE)
        await client.call_tool(name=name)
        stream.close()
        return [params.data async for params in stream if params is not None]


class TestProgress:

    async def test_non_increasing_progress_is_dropped_even_if_the_last_report_waits(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        found = await reports(Worker(), "backwards")
        assert found[-1] == 51 and found == sorted(set(found))
        (line,) = [record.getMessage() for record in caplog.records if "reported" in record.getMessage()]
        assert line == (
            "the handler of tools/call reported progress that does not increase (50 after 50); such reports are dropped"
        )

    @pytest.mark.parametrize("server", [Worker, Unlimited])
    async def test_the_mistake_is_logged_once_even_without_a_token(
        self, server: type[Worker], caplog: pytest.LogCaptureFixture
    ) -> None:
        async with together(v.Client, server()) as client:
            for _ in range(2):
                await client.call_tool(name="backwards")
        lines = [record.getMessage() for record in caplog.records if "does not increase" in record.getMessage()]
        assert len(lines) == 2

    async def test_no_reports_without_a_progress_token(self) -> None:
        async with together(v.Client, Worker()) as client:
            stream = client.notifications(methods.NOTIFICATIONS_PROGRESS)
            await client.call_tool(name="flood")
            stream.close()
            assert [params async for params in stream] == []

    async def test_a_cancelled_request_is_not_reported_on(self) -> None:
        found: list[float] = []
        async with together(v.Client, Worker(), options=ClientOptions(timeout=None)) as client:
            options = CallOptions(progress=lambda progress, total, message: found.append(progress))
            call = asyncio.create_task(client.call_tool(name="slowly", options=options))
            await asyncio.sleep(0.2)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            before = list(found)
            await asyncio.sleep(0.2)
        assert found == before


class TestLogs:

    async def test_the_most_severe_message_is_kept(self) -> None:
        assert await logged(Worker(), "log an error") == [*range(10), 50]


class TestGate:
    async def test_messages_held_back_are_sent_eventually(self) -> None:
        left: list[int] = []
        gate: Gate[int] = Gate(asyncio.get_running_loop(), 20, left.append)
        for number in range(100):
            gate.put(number)
        assert left == [*range(20)]
        await asyncio.sleep(0.1)
        assert left == [*range(20), 99]
        assert gate.replaced == 79
        gate.flush()
        assert left == [*range(20), 99]

    async def test_dropped_messages_are_never_sent(self) -> None:
        left: list[int] = []
        gate: Gate[int] = Gate(asyncio.get_running_loop(), 20, left.append)
        for number in range(21):
            gate.put(number)
        gate.drop()
        await asyncio.sleep(0.1)
        assert left == [*range(20)]
