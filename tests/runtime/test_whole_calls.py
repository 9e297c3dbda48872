"""The timeout of a call covers everything that belongs to it, except the client's own handlers."""

import asyncio
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.middleware.validate import Validate
from support.roles import build, make_handlers, make_server
from support.talk import talk
from support.tools_server import Tools, text_result

pytestmark = pytest.mark.usefixtures("virtual_time")

QUICK = CallOptions(timeout=0.2)


class NeverLists(Tools):
    """Answers calls at once, and never lists its tools."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        self.asked += 1
        await asyncio.sleep(60)
        return v.ListToolsResult(tools=[])


class Slow(v.ClientHandlers):
    """Takes its time, as people do."""

    async def create_message(
        self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
    ) -> v.CreateMessageResult | v.CreateTaskResult:
        await asyncio.sleep(0.5)
        return v.CreateMessageResult(role="assistant", model="m", content=v.TextContent(text="slept"))


async def _slow_before(exchange: Any, proceed: Any) -> Any:
    if exchange.method.name == "tools/call":
        await asyncio.sleep(0.15)
    return await proceed()


async def _slow_after(exchange: Any, proceed: Any) -> Any:
    result = await proceed()
    if exchange.method.name == "tools/call":
        await asyncio.sleep(60)
    return result


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Only request reports."""


async def test_middleware_after_the_answer_counts_towards_the_timeout() -> None:
    async with talk(Tools(), middleware=(_slow_after,)) as both:
        with pytest.raises(RequestTimeout, match=r"tools/call: no answer within 0\.2 s"):
            await both.client.call_tool(name="echo", options=QUICK)
        await both.client.ping()


async def test_middleware_before_the_request_counts_towards_the_timeout() -> None:
    server = Tools()
    async with talk(server, middleware=(_slow_before,)) as both:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        with pytest.raises(RequestTimeout):
            await both.client.call_tool(name="slow", options=QUICK)
        assert loop.time() - begun < 0.3
        # The request itself has timed out, so the server learns why.
        assert both.sent[-1]["params"]["reason"] == "no answer within 0.2 s"


@pytest.mark.parametrize("middleware", [(), (_slow_before,)])
async def test_the_maximum_time_also_ends_a_call_with_a_longer_timeout(middleware: tuple[Any, ...]) -> None:
    async with talk(Tools(), middleware=middleware) as both:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(RequestTimeout, match=r"no answer within 0\.3 s"):
            await both.client.call_tool(name="slow", options=CallOptions(timeout=60, max_time=0.3))
        assert asyncio.get_running_loop().time() - begun < 0.4


async def test_a_lookup_by_validate_counts_and_the_next_call_repeats_it() -> None:
    server = NeverLists()
    async with talk(server, middleware=(Validate(),)) as both:
        for asked in (1, 2):
            with pytest.raises(RequestTimeout, match="tools/call"):
                await both.client.call_tool(name="echo", options=QUICK)
            assert server.asked == asked


@pytest.mark.requirement("lifecycle.timeout-maximum")
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("answer_after", [0.1, 60.0])
async def test_a_server_that_keeps_asking_holds_a_call_open_for_three_times_its_timeout(
    revision: str, answer_after: float
) -> None:
    async def keep_asking(self: Any, params: Any, ctx: Any) -> Any:
        while True:
            await ctx.client.list_roots()

    async def list_roots(self: Any, params: Any, ctx: Any) -> Any:
        await asyncio.sleep(answer_after)
        return build(revision, "ListRootsResult", roots=[])

    handlers = make_handlers(revision, list_roots=list_roots)
    async with talk(make_server(revision, call_tool=keep_asking), handlers=handlers) as both:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(RequestTimeout):
            await both.client.call_tool(name="x", options=CallOptions(timeout=0.4))
        assert 1.19 < asyncio.get_running_loop().time() - begun < 1.25


async def test_the_limit_of_what_a_server_asks_for_is_an_option() -> None:
    # The handler takes 0.5 s.
    options = CallOptions(timeout=0.1)
    async with talk(Tools(), handlers=Slow(), max_extension=None) as both:
        assert (await both.client.call_tool(name="sample", options=options)).content[0].text == "slept"
    async with talk(Tools(), handlers=Slow(), max_extension=1.0) as both:
        with pytest.raises(RequestTimeout):
            await both.client.call_tool(name="sample", options=options)


async def test_progress_renews_the_whole_call() -> None:
    class Reporting(Tools):
        async def call_tool(
            self, params: v.CallToolRequestParams, ctx: v.Context
        ) -> v.CallToolResult | v.CreateTaskResult:
            for number in range(5):
                await asyncio.sleep(0.1)
                await ctx.report_progress(number)
            return text_result("done")

    async with talk(Reporting(), middleware=(_slow_before,)) as both:
        options = CallOptions(timeout=0.3, progress=_ignore)
        await both.client.call_tool(name="x", options=options)


@pytest.mark.parametrize("middleware", [(), (_slow_before,)])
async def test_the_time_of_the_clients_own_handlers_does_not_count(middleware: tuple[Any, ...]) -> None:
    class Thinking(Tools):
        async def call_tool(
            self, params: v.CallToolRequestParams, ctx: v.Context
        ) -> v.CallToolResult | v.CreateTaskResult:
            result = await super().call_tool(params, ctx)
            await asyncio.sleep(0.05)
            return result

    async with talk(Thinking(), handlers=Slow(), middleware=middleware) as both:
        result = await both.client.call_tool(name="sample", options=CallOptions(timeout=0.35))
        assert result.content[0].text == "slept"
        with pytest.raises(RequestTimeout):
            await both.client.call_tool(name="slow", options=QUICK)
