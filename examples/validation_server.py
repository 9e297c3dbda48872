"""A server whose tool and prompt receive only valid arguments, and whose results match their schemas."""

import argparse

from mcp_bindings import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    ToolOutputSchema,
    Validate,
    serve_stdio,
)

NUMBER = {"type": "number"}
INPUT = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}
OUTPUT = {"type": "object", "properties": {"sum": NUMBER}, "required": ["sum"]}
SUM = Tool(
    name="sum",
    input_schema=ToolInputSchema.model_validate(INPUT),
    output_schema=ToolOutputSchema.model_validate(OUTPUT),
)
EXPLAIN = Prompt(name="explain-code", arguments=[PromptArgument(name="code", required=True)])


class Calculator(Server):
    options = ServerOptions(middleware=(Validate(),))

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[SUM])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        arguments = params.arguments or {}
        total = arguments["a"] + arguments["b"]  # both are there, and both are numbers
        return CallToolResult(content=[TextContent(text=str(total))], structured_content={"sum": total})

    async def list_prompts(self, params: PaginatedRequestParams | None, ctx: Context) -> ListPromptsResult:
        return ListPromptsResult(prompts=[EXPLAIN])

    async def get_prompt(self, params: GetPromptRequestParams, ctx: Context) -> GetPromptResult:
        code = (params.arguments or {})["code"]
        return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=f"Explain: {code}"))])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Calculator())
