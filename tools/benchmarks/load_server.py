"""One side of the HTTP rows: the tools `echo` and `stream`, decorated, in both eras.

python load_server.py ours|peer|floor        # prints its URL, and serves until the process ends
"""

import sys
from importlib import import_module
from typing import Any

import http_raw
import uvloop

_RESULT = '"content":[{"type":"text","text":"hello"}],"structuredContent":'
_INFO = '"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"echo","version":"0.1.0"}},"resultType":"complete",'
_PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}'
LEGACY = f'{{"jsonrpc":"2.0","id":1000,"result":{{{_RESULT}{{"result":"hello"}}}}}}'.encode()
MODERN = f'{{"jsonrpc":"2.0","id":1000,"result":{{{_INFO}{_RESULT}"hello"}}}}'.encode()
EVENTS = f"id: 1000-0\nretry: 1000\ndata: \n\nid: 1000-1\ndata: {_PROGRESS}\n\nid: 1000-2\ndata: ".encode()
MODERN_EVENTS = f"data: {_PROGRESS}\n\ndata: ".encode()


def ours() -> None:
    from mcp_bindings import v2025_11_25, v2026_07_28
    from mcp_runtime.web_server import serve_http

    def app(bindings: Any) -> Any:
        made = bindings.App("echo")

        async def echo(text: str) -> str:
            """Echo a text."""
            return text

        async def stream(text: str, ctx: Any) -> str:
            """Echo a text after a progress report."""
            await ctx.report_progress(1)
            return text

        stream.__annotations__["ctx"] = bindings.Context
        made.tool()(echo)
        made.tool()(stream)
        return made

    serve_http(app(v2025_11_25), app(v2026_07_28), port=0, started=lambda url: print(f"{url}/mcp", flush=True))


def peer() -> None:
    # The peer answers all calls of an endpoint in the same way.
    made: Any = import_module("mcp.server").MCPServer("echo", log_level="ERROR")

    async def echo(text: str) -> str:
        """Echo a text."""
        return text

    async def stream(text: str, ctx: Any) -> str:
        """Echo a text after a progress report."""
        await ctx.report_progress(1)
        return text

    stream.__annotations__["ctx"] = import_module("mcp.server.mcpserver").Context
    made.tool()(echo)
    made.tool()(stream)
    app = made.streamable_http_app(json_response="json" in sys.argv)
    uvloop.run(http_raw.serve(app, lifespan="on"))


async def floor(scope: Any, receive: Any, send: Any) -> None:
    """Answer a POST with the bytes that `ours` answers with, in as many parts."""
    body, more = b"", True
    while more:
        event = await receive()
        body, more = body + event["body"], event["more_body"]
    is_modern, is_stream = b"2026-07-28" in body, b'"stream"' in body
    result = MODERN if is_modern else LEGACY
    if is_stream:
        headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
        headers.append((b"x-accel-buffering", b"no"))
        result = (MODERN_EVENTS if is_modern else EVENTS) + result + b"\n\n"
    else:
        headers = [(b"content-length", b"%d" % len(result)), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": result})


if __name__ == "__main__":
    if sys.argv[1] == "floor":
        uvloop.run(http_raw.serve(floor))
    else:
        {"ours": ours, "peer": peer}[sys.argv[1]]()
