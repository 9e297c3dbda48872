"""A server whose tools a test controls, and a client that answers it."""

import asyncio
from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions


def text_result(text: str) -> v.CallToolResult:
    """Make a tool result with one text."""
    return v.CallToolResult(content=[v.TextContent(text=text)])


class Tools(v.Server):
    """`begun` is set when the slow tool runs, `ended` says how it was cancelled; `contexts` has the contexts."""

    options = ServerOptions(name="tools", version="1.2", title="Tools", instructions="Ask.", list_changed=True)

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended: list[str] = []
        self.contexts: list[v.Context] = []

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        """Return no tools."""
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        """Run the named tool."""
        self.contexts.append(ctx)
        match params.name:
            case "echo":
                return text_result(str(params.arguments))
            case "secret":
                raise KeyError("the password is hunter2")
            case "own error":
                raise PeerError(-7, "no more tea", {"left": 0})
            case "sample":
                message = v.SamplingMessage(role="user", content=v.TextContent(text="?"))
                result = await ctx.client.create_message(messages=[message], max_tokens=3)
                assert isinstance(result.content, v.TextContent)
                return text_result(result.content.text)
            case "count":
                for number in range(3):
                    await ctx.report_progress(number + 1, 3, f"step {number}")
                return text_result("counted")
            case "log":
                await ctx.log("info", {"a": 1})
                await ctx.log("error", "text", logger="here")
                return text_result("logged")
            case _:
                return await self._sleep(ctx)

    async def _sleep(self, ctx: v.Context) -> v.CallToolResult:
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.ended.append(f"{ctx.is_cancelled} {ctx.cancel_reason}")
            raise
        return text_result("late")


class Host(v.ClientHandlers):
    """Answers the requests of `Tools`; `logged` keeps its log messages."""

    def __init__(self) -> None:
        self.logged: list[tuple[str, Any]] = []

    async def create_message(
        self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
    ) -> v.CreateMessageResult | v.CreateTaskResult:
        """Say one thing."""
        return v.CreateMessageResult(role="assistant", model="m", content=v.TextContent(text="!"))

    async def on_logging_message(self, params: v.LoggingMessageNotificationParams, ctx: v.ClientContext) -> None:
        """Keep it."""
        self.logged.append((params.level, params.data))
