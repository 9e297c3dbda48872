"""A server of each legacy revision whose tools wait, log, or ask the client."""

import asyncio
from contextlib import suppress
from typing import Any

from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.core.stub import ServerHandlers
from support.talk import bindings


class Chatty(ServerHandlers):
    """The handlers; tools that wait continue when `gate` is set."""

    options: ServerOptions | None = ServerOptions(name="chatty", list_changed=True, progress_rate=None, log_rate=None)
    models: Any

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun = asyncio.Event()
        self.seen: list[Any] = []
        self.ended: list[str] = []

    async def list_tools(self, params: Any, ctx: Any) -> Any:
        return self.models.ListToolsResult(tools=[])

    async def list_resources(self, params: Any, ctx: Any) -> Any:
        return self.models.ListResourcesResult(resources=[])

    async def subscribe(self, params: Any, ctx: Any) -> Any:
        self.seen.append(params.uri)
        return self.models.EmptyResult()

    async def unsubscribe(self, params: Any, ctx: Any) -> Any:
        return self.models.EmptyResult()

    async def call_tool(self, params: Any, ctx: Any) -> Any:
        tool = getattr(self, f"tool_{params.name}")
        text = await tool(ctx, **(params.arguments or {}))
        return self.models.CallToolResult(content=[self.models.TextContent(text=str(text))])

    async def tool_echo(self, ctx: Any, text: str = "", delay: float = 0.0) -> str:
        if delay:
            await asyncio.sleep(delay)
        return text

    async def tool_large(self, ctx: Any, size: int) -> str:
        return "x" * size

    async def tool_log(self, ctx: Any, count: int = 1, size: int = 1) -> str:
        for number in range(count):
            await ctx.log("info", f"{number}:{'x' * size}")
        return "logged"

    async def tool_wait(self, ctx: Any) -> str:
        self.begun.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.ended.append(str(ctx.cancel_reason))
            raise
        return "waited"

    async def tool_log_and_wait(self, ctx: Any, seconds: float | None = None) -> str:
        """Log a message and wait; a client that got the message knows that the call has begun, and can resume it."""
        await ctx.log("info", "begun")
        return await (self.tool_wait(ctx) if seconds is None else self.tool_echo(ctx, "waited", seconds))

    async def tool_stubborn(self, ctx: Any) -> str:
        """Log a message and run forever, even when cancelled."""
        await ctx.log("info", "begun")
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(1000)

    async def tool_ask(self, ctx: Any) -> str:
        message = self.models.SamplingMessage(role="user", content=self.models.TextContent(text="?"))
        answer = await ctx.client.create_message(messages=[message], max_tokens=5)
        return str(answer.content.text)

    async def tool_who(self, ctx: Any) -> str:
        requester = ctx.exchange.requester
        return f"{requester.principal} {requester.headers.get('x-tenant')} {requester.revision}"

    async def tool_close(self, ctx: Any) -> str:
        ctx.close_stream()
        self.begun.set()
        await self.gate.wait()
        return "closed"

    async def tool_timer(self, ctx: Any) -> str:
        """Log from a timer that runs while the request is open."""
        done = asyncio.get_running_loop().create_future()
        tasks: list[asyncio.Task[None]] = []

        async def beside() -> None:
            await ctx.connection.log("warning", "from a timer")
            done.set_result(None)

        asyncio.get_running_loop().call_later(0.01, lambda: tasks.append(asyncio.create_task(beside())))
        await done
        return "done"


def chatty(revision: str) -> Any:
    """Make the server for a revision."""
    package = bindings(revision)
    return type("ChattyServer", (Chatty, package.Server), {"models": package})()
