"""A server that asks people: in a form how they want their tea, and on its own web page for a secret."""

import argparse
import asyncio
from html import escape
from typing import Any

from mcp_bindings import CallOptions, PeerError, ServerOptions, ask_form, serve_stdio
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
from mcp_runtime.client_features import Action, UrlElicitations

TEA = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "title": "Which tea?", "enum": ["green", "black"], "default": "black"},
        "cups": {"type": "integer", "title": "How many cups?", "minimum": 1, "maximum": 4, "default": 1},
        "with": {"type": "array", "title": "With what?", "items": {"type": "string", "enum": ["milk", "sugar"]}},
        "hot": {"type": "boolean", "title": "Hot?", "default": True},
    },
    "required": ["kind", "cups"],
}
PATIENCE = CallOptions(timeout=300)


class Kitchen(Server):
    options = ServerOptions(name="kitchen", version="1.0")

    def __init__(self) -> None:
        self.pages = UrlElicitations()
        self.keys: dict[str, bool] = {}
        self.web: asyncio.Server | None = None

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(name="tea", description="Makes tea.", input_schema=ToolInputSchema()),
                Tool(name="cellar", description="Fetches wine from the cellar.", input_schema=ToolInputSchema()),
            ]
        )

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        match params.name:
            case "tea":
                answer = await ask_form(ctx.client, "How do you take your tea?", TEA, options=PATIENCE)
                if answer.action is not Action.ACCEPT:
                    return _text_result("No tea then.")
                return _text_result(f"{answer.content['cups']} x {answer.content['kind']}")
            case "cellar":
                if not any(self.keys.values()):
                    raise await self.ask_for_key(ctx)
                return _text_result("A bottle of 1982.")
            case _:
                raise PeerError(-32602, "there is no such tool")

    async def ask_for_key(self, ctx: Context) -> PeerError:
        """Return the error that sends the user to our page, so that the key never passes through the client.

        This server has one user, on the same machine. Other servers must verify on the page who opens it, and must not
        rely on the URL, which anyone may have been tricked into opening.
        """
        if self.web is None:
            self.web = await asyncio.start_server(self.page, "127.0.0.1", 0)
        port = self.web.sockets[0].getsockname()[1]
        page = self.pages.begin(
            ctx.client, message="Type the key of the cellar.", url=f"http://127.0.0.1:{port}/key?e={{id}}"
        )
        self.keys[page.id] = False
        return self.pages.required(ctx.client, page)

    async def page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser: the form, or its input."""
        line = (await reader.readline()).decode("latin-1")
        _, _, id_ = line.split(" ")[1].partition("?e=")
        known = id_ in self.keys
        if known and line.startswith("POST"):
            self.keys[id_] = True
            await self.pages.complete(id_)
            text = "Thank you. You can close this page."
        else:
            form = (
                f'<form method="post" action="/key?e={escape(id_)}"><input type="password"><button>Send</button></form>'
            )
            text = form if known else "There is nothing to do here."
        body = text.encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


def _text_result(text: str, **properties: Any) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], **properties)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Kitchen())
