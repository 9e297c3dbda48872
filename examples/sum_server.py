"""A server with one tool, which adds numbers: for people as text, for programs as structured content.

Invalid arguments are the model's mistake, so a result that it can read says so; see validation_server.py for how to
have them checked by the tool's schema. An unknown tool is the client's mistake, and a protocol error.
"""

import argparse

from mcp_bindings import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    PeerError,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    ToolOutputSchema,
    serve_stdio,
)

PROPERTIES = {"a": {"type": "number"}, "b": {"type": "number"}}
NUMBERS = {"type": "object", "properties": PROPERTIES, "required": ["a", "b"]}
SUMS = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
SUM = Tool(
    name="sum",
    title="Sum",
    description="Adds two numbers.",
    input_schema=ToolInputSchema.model_validate(NUMBERS),
    output_schema=ToolOutputSchema.model_validate(SUMS),
)


class Calculator(Server):
    options = ServerOptions(name="calculator", version="1.0", instructions="Use sum whenever numbers are to be added.")

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[SUM])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        if params.name != SUM.name:
            raise PeerError(-32602, f"unknown tool {params.name}")
        given = params.arguments or {}
        a, b = given.get("a"), given.get("b")
        if not isinstance(a, int | float) or not isinstance(b, int | float):
            return CallToolResult(content=[TextContent(text="a and b must be numbers")], is_error=True)
        return CallToolResult(content=[TextContent(text=f"{a + b:g}")], structured_content={"sum": a + b})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Calculator())
