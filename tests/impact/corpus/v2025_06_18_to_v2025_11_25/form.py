"""A server that asks its user with a form, and a model with a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import mcp_bindings.v2025_06_18 as m

if TYPE_CHECKING:
    from mcp_bindings.v2025_06_18 import (
        CreateMessageResult,
        ElicitResult,
        EnumSchema,  # impact: definition-name-reused, definition-renamed
    )


def choice(*values: str) -> EnumSchema:  # impact: definition-name-reused, definition-renamed
    return m.EnumSchema(enum=list(values), title="One of these")  # impact: definition-name-reused, definition-renamed


async def ask(ctx: m.Context) -> str:
    schema = m.ElicitRequestParamsRequestedSchema(properties={"color": choice("red")})  # impact: definition-renamed
    answer: ElicitResult = await ctx.client.elicit(message="Which?", requested_schema=schema)
    if answer.action != "accept" or not answer.content:  # impact: union-member-added
        return ""
    return str(answer.content["color"])  # impact: union-member-added


async def think(ctx: m.Context, question: str) -> str | None:
    message = m.SamplingMessage(role="user", content=m.TextContent(text=question))
    reply = await ctx.client.create_message(messages=[message], max_tokens=100)
    return text_of(reply)


def text_of(reply: CreateMessageResult) -> str | None:
    if reply.content.type == "text":  # impact: union-member-added
        return reply.content.text  # impact: union-member-added
    return None


class Poll(m.Server):
    async def call_tool(self, params: m.CallToolRequestParams, ctx: m.Context) -> m.CallToolResult:
        text = await think(ctx, params.name) or await ask(ctx)
        return m.CallToolResult(content=[m.TextContent(text=text)], structured_content={"text": text})

    async def list_tools(self, params: m.PaginatedRequestParams | None, ctx: m.Context) -> m.ListToolsResult:
        tools = [m.Tool(name="ask", input_schema=m.ToolInputSchema())]
        return m.ListToolsResult(tools=tools)

    async def on_cancelled(self, params: m.CancelledNotificationParams, ctx: m.Context) -> None:
        match params:
            case m.CancelledNotificationParams(request_id=int(number)):  # impact: property-now-optional
                print("cancelled", number)
            case m.CancelledNotificationParams(reason=reason):
                print(reason)


def error(code: int, message: str) -> m.JSONRPCError:  # impact: definition-renamed
    return m.JSONRPCError(  # impact: definition-renamed
        id=1,
        error=m.JSONRPCErrorError(code=code, message=message),  # impact: definition-renamed
    )


def id_of(failure: m.JSONRPCError) -> int | str:  # impact: definition-renamed
    return failure.id  # impact: property-now-optional
