"""One server program that speaks two revisions: each class uses the types of its revision, and both share the work.

The oldest revision has tools that answer with text; the newest adds titles and structured content.
"""

import argparse

from mcp_bindings import ServerOptions, serve_stdio, v2024_11_05, v2025_11_25

NAME, DESCRIPTION = "count-words", "Counts the words of a text."
OPTIONS = ServerOptions(name="words", version="1.0")


def count(arguments: dict[str, object] | None) -> int:
    return len(str((arguments or {}).get("text", "")).split())


class Old(v2024_11_05.Server):
    options = OPTIONS

    async def list_tools(
        self, params: v2024_11_05.PaginatedRequestParams | None, ctx: v2024_11_05.Context
    ) -> v2024_11_05.ListToolsResult:
        schema = v2024_11_05.ToolInputSchema(properties={"text": {"type": "string"}})
        return v2024_11_05.ListToolsResult(
            tools=[v2024_11_05.Tool(name=NAME, description=DESCRIPTION, input_schema=schema)]
        )

    async def call_tool(
        self, params: v2024_11_05.CallToolRequestParams, ctx: v2024_11_05.Context
    ) -> v2024_11_05.CallToolResult:
        return v2024_11_05.CallToolResult(content=[v2024_11_05.TextContent(text=str(count(params.arguments)))])


class New(v2025_11_25.Server):
    options = OPTIONS

    async def list_tools(
        self, params: v2025_11_25.PaginatedRequestParams | None, ctx: v2025_11_25.Context
    ) -> v2025_11_25.ListToolsResult:
        schema = v2025_11_25.ToolInputSchema(properties={"text": {"type": "string"}})
        tool = v2025_11_25.Tool(name=NAME, title="Count words", description=DESCRIPTION, input_schema=schema)
        return v2025_11_25.ListToolsResult(tools=[tool])

    async def call_tool(
        self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.CallToolResult:
        words = count(params.arguments)
        content = v2025_11_25.TextContent(text=str(words))
        return v2025_11_25.CallToolResult(content=[content], structured_content={"words": words})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Old(), New())
