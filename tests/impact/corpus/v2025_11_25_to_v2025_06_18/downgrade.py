"""A server that has to speak an older revision again."""

import mcp_bindings.v2025_11_25
from mcp_bindings.v2025_11_25 import (
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    Context,
    CreateMessageResult,
    ElicitRequestFormParamsRequestedSchema,  # impact: definition-renamed
    Icon,  # impact: definition-removed
    Implementation,
    ListToolsResult,
    PaginatedRequestParams,
    SamplingMessage,
    Server,
    StringSchema,
    TextContent,
    TitledMultiSelectEnumSchema,  # impact: definition-removed
    Tool,
    ToolInputSchema,
    ToolUseContent,  # impact: definition-removed
    UntitledSingleSelectEnumSchema,  # impact: definition-removed
)

LOGO = Icon(src="https://example.org/logo.png")  # impact: definition-removed
ABOUT = Implementation(
    name="down",
    version="1",
    title="Down",
    icons=[LOGO],  # impact: property-removed-optional
    website_url="https://example.org",  # impact: property-removed-optional
)


class Down(Server):
    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        tool = Tool(name="x", input_schema=ToolInputSchema())
        tool.icons = [LOGO]  # impact: property-removed-optional
        tool.title = "X"
        return ListToolsResult(tools=[tool.model_copy(update={"icons": None})])  # impact: property-removed-optional

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        say = SamplingMessage(role="user", content=TextContent(text="hi"))
        use = SamplingMessage(
            role="user",
            content=ToolUseContent(id="1", name="x", input={}),  # impact: definition-removed, union-member-removed
        )
        both = SamplingMessage(role="user", content=[TextContent(text="a")])  # impact: union-member-removed
        reply = await ctx.client.create_message(
            messages=[say, use, both],
            max_tokens=10,
            tools=[],  # impact: property-removed-optional
        )
        print(blocks(reply))
        field = StringSchema(default="x")  # impact: property-removed-optional
        schema = ElicitRequestFormParamsRequestedSchema(properties={"name": field})  # impact: definition-renamed
        answer = await ctx.client.elicit(message="Who?", requested_schema=schema)
        page = await ctx.client.elicit(  # impact: union-member-removed
            mode="url",  # follows
            message="Sign in",
            elicitation_id="1",  # follows
            url="https://example.org",  # follows
        )
        await ctx.client.notify_cancelled(reason="done")  # impact: property-now-required
        await ctx.client.notify_elicitation_complete(elicitation_id="1")  # impact: notification-method-removed
        text = TextContent(text=f"{answer.action} {page.action}")
        return CallToolResult(content=[text, AudioContent(data="", mime_type="audio/wav")])


def blocks(reply: CreateMessageResult) -> int:
    return len(reply.content) if isinstance(reply.content, list) else 1


def options(many: bool) -> mcp_bindings.v2025_11_25.EnumSchema:  # impact: definition-name-reused
    if many:
        text = '{"type": "array", "items": {"anyOf": []}}'
        titles = TitledMultiSelectEnumSchema.model_validate_json(text)  # impact: definition-removed
        print(titles.items)
        return titles
    return UntitledSingleSelectEnumSchema(enum=["a"])  # impact: definition-removed
