"""A server that lists and reads files, but only inside the roots that the client gives it."""

import argparse

from mcp_bindings import PeerError, Roots, ServerOptions, serve_stdio
from mcp_bindings.v2025_11_25 import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    Server,
    TextContent,
    Tool,
    ToolInputSchema,
)
from mcp_runtime.client_features import PathRefused

MAX_BYTES = 100_000


class Files(Server):
    options = ServerOptions(name="files", version="1.0")

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        schema = ToolInputSchema(properties={"path": {"type": "string"}}, required=["path"])
        return ListToolsResult(
            tools=[
                Tool(name="roots", description="Lists the roots.", input_schema=ToolInputSchema()),
                Tool(name="read", description="Reads a text file inside the roots.", input_schema=schema),
            ]
        )

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        roots = Roots.of(ctx.connection)
        if params.name == "roots":
            found = await roots.list()
            return _text_result("\n".join(f"{root.name or '(no name)'}: {root.path}" for root in found))
        if params.name != "read":
            raise PeerError(-32602, "there is no such tool")
        try:
            path = await roots.resolve(str((params.arguments or {}).get("path", "")))
            with path.open("rb") as file:
                return _text_result(file.read(MAX_BYTES).decode(errors="replace"))
        except (PathRefused, OSError) as error:
            # The model can read this and try another path.
            return _text_result(error.message if isinstance(error, PathRefused) else "cannot be read", is_error=True)


def _text_result(text: str, *, is_error: bool = False) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Files())
