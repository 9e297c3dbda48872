"""A server that sends users to a web page for what must not pass through the client, and waits until they are done.

The code is the same in both eras: in 2026-07-28 the question is part of a result, and the client repeats its request.
"""

import argparse
import asyncio
from html import escape
from urllib.parse import parse_qs

from mcp_bindings import (
    CallToolRequestParams,
    CallToolResult,
    Context,
    ListToolsResult,
    PaginatedRequestParams,
    Server,
    ServerOptions,
    TextContent,
    Tool,
    ToolInputSchema,
    serve_stdio,
)
from mcp_runtime.client_features import Action, UrlElicitations

PATIENCE = 300
"""Seconds that a user may take on the page."""


class Safe(Server):
    options = ServerOptions(name="safe", version="1.0")

    def __init__(self) -> None:
        self.pages = UrlElicitations()
        self.keys: dict[str, asyncio.Future[str]] = {}
        self.web: asyncio.Server | None = None

    async def list_tools(self, params: PaginatedRequestParams | None, ctx: Context) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name="open", description="Opens it.", input_schema=ToolInputSchema())])

    async def call_tool(self, params: CallToolRequestParams, ctx: Context) -> CallToolResult:
        key = await self.ask_for_key(ctx)
        return CallToolResult(content=[TextContent(text="It is open." if key == "1982" else "It stays closed.")])

    async def ask_for_key(self, ctx: Context) -> str | None:
        """Return what the user enters on our page; None if they refuse.

        This server has one user, on the same machine. Other servers must verify on the page who opens it, and must not
        rely on the URL, which anyone may have been tricked into opening.
        """
        if self.web is None:
            self.web = await asyncio.start_server(self.page, "127.0.0.1", 0)
        port = self.web.sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{port}/key?e={{id}}"
        page = self.pages.begin(ctx.client, message="Type the key of the safe.", url=url)
        self.keys[page.id] = typed = asyncio.get_running_loop().create_future()
        try:
            if await self.pages.ask(ctx.client, page) is not Action.ACCEPT:
                return None
            return await asyncio.wait_for(typed, PATIENCE)
        finally:
            del self.keys[page.id]
            await self.pages.complete(page.id)

    async def page(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request of a browser: the form, or its input."""
        line, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        _, _, id_ = line.split(" ")[1].partition("?e=")
        typed = self.keys.get(id_)
        if typed is None or typed.done():
            text = "There is nothing to do here."
        elif line.startswith("POST"):
            [length] = [int(each.partition(":")[2]) for each in headers if each.lower().startswith("content-length:")]
            form = parse_qs((await reader.readexactly(min(length, 1_000))).decode("latin-1"))
            typed.set_result(form.get("key", [""])[0])
            text = "Thank you. You can close this page."
        else:
            text = f'<form method="post" action="/key?e={escape(id_)}"><input type="password" name="key"></form>'
        body = text.encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Safe())
