"""A server with one tool that lets the client's model explain a word."""

import argparse

from mcp_bindings import CallOptions, PeerError, ServerOptions, serve_stdio
from mcp_bindings.v2025_11_25 import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    SamplingMessage,
    Server,
    TextContent,
    Tool,
    ToolInputSchema,
)
from mcp_runtime.client_features import REJECTED


class Explainer(Server):
    options = ServerOptions(name="explainer", version="1.0")

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        schema = ToolInputSchema(properties={"word": {"type": "string"}}, required=["word"])
        return ListToolsResult(tools=[Tool(name="explain", description="Explains a word.", input_schema=schema)])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        word = (params.arguments or {}).get("word", "")
        question = SamplingMessage(role="user", content=TextContent(text=f"Explain in one sentence: {word}"))
        try:
            # The user reviews this, so it may take a while.
            answer = await ctx.client.create_message(
                messages=[question], max_tokens=100, options=CallOptions(timeout=300)
            )
        except PeerError as error:
            if error.code != REJECTED:
                raise
            return CallToolResult(content=[TextContent(text="The user does not want that.")], is_error=True)
        assert isinstance(answer.content, TextContent)
        return CallToolResult(content=[answer.content])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Explainer())
