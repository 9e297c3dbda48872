"""A server written once, for 2025-11-25, that serves clients of every revision: it asks before it books.

Its handler does not depend on the client's revision. A client of 2026-07-28 gets the question in the result of its
call, a legacy-era client in a separate request.
"""

import argparse

from mcp_bindings import (
    BooleanSchema,
    CallToolRequestParams,
    CallToolResult,
    Context,
    ElicitRequestFormParamsRequestedSchema,
    ListToolsResult,
    MissingInRevision,
    PaginatedRequestParams,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    serve_stdio,
)


class Theatre(Server):
    options = ServerOptions(name="theatre", version="1.0")

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="book", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        form = ElicitRequestFormParamsRequestedSchema(properties={"balcony": BooleanSchema()})
        try:
            answer = await ctx.client.elicit(message="A seat on the balcony?", requested_schema=form)
            balcony = bool((answer.content or {}).get("balcony"))
        except MissingInRevision:
            balcony = False  # Clients from before 2025-06-18 cannot be asked.
        return CallToolResult(content=[TextContent(text=f"booked {'on the balcony' if balcony else 'in the stalls'}")])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Theatre())
