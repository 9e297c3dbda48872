"""A server for the gateway: of 2025-11-25, or with the argument `old` of 2024-11-05. It asks its client's model.

Its results have a property that no revision declares, and echo one of the request.
"""

import argparse

from mcp_bindings import ServerOptions, serve_stdio, v2024_11_05, v2025_11_25

OPTIONS = ServerOptions(name="speaker", version="1.0")


class New(v2025_11_25.Server):
    options = OPTIONS

    async def list_tools(
        self, params: v2025_11_25.PaginatedRequestParams | None, ctx: v2025_11_25.Context
    ) -> v2025_11_25.ListToolsResult:
        tool = v2025_11_25.Tool(name="speak", input_schema=v2025_11_25.ToolInputSchema())
        return v2025_11_25.ListToolsResult(tools=[tool])

    async def call_tool(
        self, params: v2025_11_25.CallToolRequestParams, ctx: v2025_11_25.Context
    ) -> v2025_11_25.CallToolResult:
        question = v2025_11_25.SamplingMessage(role="user", content=v2025_11_25.TextContent(text="A word?"))
        answer = await ctx.client.create_message(messages=[question], max_tokens=10)
        word = v2025_11_25.TextContent(text=f"{answer.model} said something")
        sound = v2025_11_25.AudioContent(data="AAAA", mime_type="audio/wav")
        await ctx.report_progress(1, 1, "done")
        result = {"content": [word, sound], "x-vendor": (params.model_extra or {}).get("x-vendor")}
        return v2025_11_25.CallToolResult.model_validate(result)


class Old(v2024_11_05.Server):
    options = OPTIONS

    async def list_tools(
        self, params: v2024_11_05.PaginatedRequestParams | None, ctx: v2024_11_05.Context
    ) -> v2024_11_05.ListToolsResult:
        tool = v2024_11_05.Tool(name="speak", input_schema=v2024_11_05.ToolInputSchema())
        return v2024_11_05.ListToolsResult(tools=[tool])

    async def call_tool(
        self, params: v2024_11_05.CallToolRequestParams, ctx: v2024_11_05.Context
    ) -> v2024_11_05.CallToolResult:
        question = v2024_11_05.SamplingMessage(role="user", content=v2024_11_05.TextContent(text="A word?"))
        answer = await ctx.client.create_message(messages=[question], max_tokens=10)
        reply = v2024_11_05.TextContent(text=f"{answer.model} said: {answer.content.model_dump(mode='json')['text']}")
        result = {"content": [reply], "x-vendor": (params.model_extra or {}).get("x-vendor")}
        return v2024_11_05.CallToolResult.model_validate(result)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision", nargs="?", choices=("old", "new"), default="new")
    serve_stdio(Old() if parser.parse_args().revision == "old" else New())
