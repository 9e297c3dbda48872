"""A server and a client that run tasks, for the tests of tasks."""

import asyncio
from contextlib import suppress
from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.extensions.tasks import MemoryTaskStore, Status, Tasks

SUPPORT = {"work": "optional", "must": "required", "must not": "forbidden", "silent": None}


def text_result(text: str, **more: Any) -> v.CallToolResult:
    return v.CallToolResult(content=[v.TextContent(text=text)], **more)


def quick(**more: Any) -> MemoryTaskStore:
    return MemoryTaskStore(poll_interval=0.01, **more)


class Worker(v.Server):
    """A tool whose argument decides its outcome; it waits until the test sets `gate`."""

    def __init__(self, store: MemoryTaskStore | None = None) -> None:
        self.store: Any = store or quick()
        self.options = ServerOptions(name="worker", extensions=[Tasks(self.store)])
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.context: v.Context | None = None
        self.stopped = ""
        self.listed = 0

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        self.listed += 1
        names = list(SUPPORT) if params is None or params.cursor is None else ["late"]
        tools = [
            v.Tool(
                name=name,
                input_schema=v.ToolInputSchema(),
                execution=v.ToolExecution(task_support=SUPPORT.get(name, "optional")),  # type: ignore[arg-type]
            )
            for name in names
        ]
        return v.ListToolsResult(tools=tools, next_cursor="2" if names != ["late"] else None)

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        self.context = ctx
        match (params.arguments or {}).get("do", "answer"):
            case "wait":
                self.begun.set()
                try:
                    await self.gate.wait()
                except asyncio.CancelledError:
                    self.stopped = f"{ctx.is_cancelled}: {ctx.cancel_reason}"
                    raise
            case "stubborn":
                self.begun.set()
                with suppress(asyncio.CancelledError):
                    await self.gate.wait()
                await ctx.report_progress(10_000)
            case "fail":
                raise PeerError(-7, "no more tea", {"left": 0})
            case "crash":
                raise KeyError("the password is hunter2")
            case "report":
                return text_result("it broke", is_error=True)
            case "progress":
                await ctx.report_progress(1, 2, "half")
                await self.gate.wait()
                await ctx.report_progress(2, 2)
                await ctx.log("info", "nearly")
            case "flood":
                for number in range(1000):
                    await ctx.report_progress(number)
                self.begun.set()
                if (params.arguments or {}).get("then") == "wait":
                    await self.gate.wait()
            case "sample":
                message = v.SamplingMessage(role="user", content=v.TextContent(text="?"))
                answer = await ctx.client.create_message(messages=[message], max_tokens=3)
                assert isinstance(answer.content, v.TextContent)
                return text_result(answer.content.text)
            case _:
                pass
        return text_result(params.name, structured_content={"n": 1.5}, meta={"own": 1})


class Model(v.ClientHandlers):
    """Answers when the test allows it."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = asyncio.Event()

    async def create_message(
        self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
    ) -> v.CreateMessageResult | v.CreateTaskResult:
        self.asked.set()
        await self.gate.wait()
        return v.CreateMessageResult(role="assistant", model="m", content=v.TextContent(text="yes"))


def call(name: str = "work", **arguments: Any) -> v.CallToolRequestParams:
    return v.CallToolRequestParams(name=name, arguments=arguments)


async def status(client: v.Client, task_id: str, wanted: Status) -> v.GetTaskResult:
    async with asyncio.timeout(30):
        while True:
            task = await client.get_task(task_id=task_id)
            if task.status == wanted.value:
                return task
            await asyncio.sleep(0.01)
