"""A server whose handlers restart when their client retries, and a client that sends raw bytes."""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.errors import LocalProtocolError, PeerError
from mcp_runtime.core.handlers import ServerHandlers
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.sealed import InputState
from support.asking import FORM, YES, asked, line

KEY = secrets.token_bytes(32)
OTHER = secrets.token_bytes(32)
ONE_KEY: dict[str, Any] = {"keys": [KEY]}


class Till(v.Server):
    """Has tools that ask the client. A new object simulates a new process, so charges are recorded in a given list."""

    charged: list[tuple[str, str]]

    def __init__(self, *, charged: list[tuple[str, str]] | None = None, **settings: Any) -> None:
        inputs = InputState(**{**ONE_KEY, **settings})
        self.options = ServerOptions(name="till", log_rate=None, progress_rate=None, inputs=inputs)
        self.charged = [] if charged is None else charged
        self.ended: list[str] = []
        self.question = "How much?"

    async def list_tools(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def list_prompts(self, params: v.PaginatedRequestParams, ctx: v.Context) -> v.ListPromptsResult:
        return v.ListPromptsResult(prompts=[])

    async def ask(self, ctx: v.Context, message: str, key: str | None = None) -> str:
        found = await ctx.client.elicit(message=message, requested_schema=FORM, options=CallOptions(key=key))
        return f"{message} {found.action}"

    async def charge(self, what: str, key: str) -> list[Any]:
        self.charged.append((what, key))
        await asyncio.sleep(0.01)
        return [len(self.charged), what]

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        said: list[Any] = []

        def charging(what: str) -> Callable[[str], Any]:
            return lambda key: self.charge(what, key)

        try:
            match params.name:
                case "thrice":
                    for number in range(3):
                        said.append(await self.ask(ctx, f"q{number}"))
                        said.append(await ctx.recorded("charge", charging(f"after {number}")))
                case "together":
                    said += await asyncio.gather(*(self.ask(ctx, f"q{number}") for number in range(3)))
                case "branches":
                    said += await asyncio.gather(*(self.branch(ctx, name) for name in "ab"))
                case "alike":
                    said += await asyncio.gather(*(self.keep(ctx, name) for name in "ab"))
                case "at once":
                    said += await asyncio.gather(ctx.recorded("charge", charging("x")), self.ask(ctx, "q"))
                case "changing" | "named":
                    said.append(await self.ask(ctx, self.question, "amount" if params.name == "named" else None))
                case "same":
                    said += [await self.ask(ctx, "Sure?"), await self.ask(ctx, "Sure?")]
                case "stubborn":
                    try:
                        await self.ask(ctx, "q")
                    except asyncio.CancelledError:
                        said.append("never seen")
                case "left behind":
                    ctx.connection.spawn(self.ask(ctx, "q"))
                    await asyncio.sleep(5)
                case "sleeps":
                    await asyncio.sleep(5)
                case "twice the key":
                    await asyncio.gather(self.ask(ctx, "a", "k"), self.ask(ctx, "b", "k"))
                case "asks inside":
                    await ctx.recorded("w", lambda key: self.ask(ctx, "inside"))
                case "not json":
                    await ctx.recorded("w", lambda key: asyncio.sleep(0, {1}))
                case "large":
                    await ctx.recorded("w", lambda key: asyncio.sleep(0, "x" * 60_000))
                    await self.ask(ctx, "q")
                case "endless":
                    for number in range(100):
                        await self.ask(ctx, f"q{number}")
                case _:
                    raise PeerError(-32602, "unknown tool")
        except LocalProtocolError as error:
            raise PeerError(-1, error.reason) from error
        except asyncio.CancelledError as error:
            self.ended.append(str(error))
            raise
        return v.CallToolResult(content=[v.TextContent(text=" ".join(map(str, said)))])

    async def get_prompt(self, params: v.GetPromptRequestParams, ctx: v.Context) -> v.GetPromptResult:
        await self.ask(ctx, "q")
        return v.GetPromptResult(messages=[])

    async def keep(self, ctx: v.Context, name: str) -> str:
        """Ask the same question as others, and use the answer."""
        answer = str((await ctx.client.elicit(message="Sure?", requested_schema=FORM)).content)
        return f"{answer} {await ctx.recorded(name, lambda key: asyncio.sleep(0, answer))}"

    async def branch(self, ctx: v.Context, name: str) -> str:
        return " ".join([await self.ask(ctx, f"{name}{number}") for number in range(2)])


def answered(message: Any, *only: str) -> dict[str, Any]:
    """Return the client's retry, with answers to all questions or to some."""
    questions, state = asked(message)
    return {
        "requestState": state,
        "inputResponses": {key: YES for said, key in questions.items() if not only or said in only},
    }


async def again(server: ServerHandlers, name: str, **params: Any) -> Any:
    """Send a request to a process that has just started."""
    async with line(server) as client:
        return await client.call(name, **params)
