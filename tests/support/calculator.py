"""A server with the tools that a test gives it, for tests of the code between client and handler."""

from typing import Any

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.settings import ServerOptions
from mcp_runtime.middleware.validate import Validate

SUM = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
TOTAL = {"type": "object", "properties": {"total": {"type": "number"}}, "required": ["total"]}


def tool(name: str, schema: dict[str, Any] | None = None, output: dict[str, Any] | None = None) -> v.Tool:
    return v.Tool.model_validate(
        {"name": name, "inputSchema": schema or {"type": "object"}} | ({"outputSchema": output} if output else {})
    )


class Calculator(v.Server):
    """Lists the given tools, and records list requests and calls."""

    options = ServerOptions(name="calculator", list_changed=True, middleware=(Validate(),))

    def __init__(self, *tools: v.Tool, structured: dict[str, Any] | None = None) -> None:
        self.tools = list(tools)
        self.structured = structured
        self.listed = 0
        self.called: list[dict[str, Any] | None] = []

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        """Return one tool per page."""
        self.listed += 1
        number = int(params.cursor) if params and params.cursor else 0
        following = str(number + 1) if number + 1 < len(self.tools) else None
        return v.ListToolsResult(tools=self.tools[number : number + 1], next_cursor=following)

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult | v.CreateTaskResult:
        if params.name not in [tool.name for tool in self.tools]:
            raise PeerError(-32602, f"unknown tool {params.name}")
        self.called.append(params.arguments)
        return v.CallToolResult(content=[v.TextContent(text="done")], structured_content=self.structured)

    async def list_prompts(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListPromptsResult:
        arguments = [v.PromptArgument(name="code", required=True), v.PromptArgument(name="style")]
        return v.ListPromptsResult(prompts=[v.Prompt(name="explain", arguments=arguments), v.Prompt(name="hello")])

    async def get_prompt(self, params: v.GetPromptRequestParams, ctx: v.Context) -> v.GetPromptResult:
        return v.GetPromptResult(messages=[])


def text_of(result: v.CallToolResult) -> str:
    content = result.content[0]
    assert isinstance(content, v.TextContent)
    return content.text


class Unchecked(Calculator):
    options = ServerOptions(name="unchecked", list_changed=True)
