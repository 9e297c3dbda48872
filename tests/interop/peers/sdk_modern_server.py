"""A server of 2026-07-28 written with the official SDK: tools that ask, report, log, fail, wait and announce changes.

With ``--http`` it is an endpoint of Streamable HTTP, whose URL it prints, for clients of both eras; ``--modern`` or
``--legacy`` limits it to clients of one era.
"""

import asyncio
import socket
import sys
import warnings
from typing import Annotated, Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import InputRequiredResult
from pydantic import Field

warnings.simplefilter("ignore")
server = MCPServer("modern", version="1", instructions="Ask.", log_level="ERROR")
cancelled: list[str] = []


@server.tool()
async def three(ctx: Context) -> Any:
    """Ask three times, one question after the other."""
    answers = dict(ctx.input_responses or {})
    state = (ctx.request_state or "").split()
    if answers:
        [answer] = answers.values()
        state.append(str(answer.content["word"]))
    if len(state) == 3:
        return " ".join(state)
    asked = {
        "method": "elicitation/create",
        "params": {
            "message": f"word {len(state)}",
            "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}},
        },
    }
    return InputRequiredResult.model_validate(
        {"resultType": "input_required", "inputRequests": {"q": asked}, "requestState": " ".join(state)}
    )


@server.tool()
async def both(ctx: Context) -> Any:
    """Ask for roots and for a sample in one result."""
    if ctx.input_responses is not None:
        roots, sample = ctx.input_responses["roots"], ctx.input_responses["sample"]
        return f"{roots.roots[0].uri} {sample.content.text}"
    message = {"role": "user", "content": {"type": "text", "text": "hello"}}
    asked = {
        "roots": {"method": "roots/list"},
        "sample": {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 5}},
    }
    return InputRequiredResult.model_validate({"resultType": "input_required", "inputRequests": asked})


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    """Report progress."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
    return str(steps)


@server.tool()
async def say(text: str, ctx: Context) -> str:
    """Log something."""
    await ctx.log("warning", {"said": text}, logger_name="voice")
    return text


@server.tool()
async def slow(ctx: Context) -> str:
    """Wait until the request is cancelled."""
    try:
        await ctx.report_progress(1)
        await asyncio.sleep(60)
    except BaseException:
        cancelled.append("slow")
        raise
    return "never"


@server.tool()
async def cancelled_calls() -> str:
    """Return how many calls were cancelled."""
    return str(len(cancelled))


@server.tool()
async def change(uri: str, ctx: Context) -> str:
    """Announce changes."""
    await ctx.notify_tools_changed()
    await ctx.notify_resource_updated(uri)
    return uri


@server.tool()
async def fail() -> str:
    """Answer with an error."""
    raise MCPError(code=-7, message="no luck", data={"why": "luck"})


async def weigh(
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    grams: Annotated[int, Field(json_schema_extra={"x-mcp-header": "Grams"})] = 0,
) -> str:
    """Take arguments that are repeated in headers."""
    return f"{region} {grams}"


def of_one_era(app: Any) -> Any:
    """Limit an endpoint to clients of one era, if asked to; the SDK has no option for it."""
    import mcp.server.streamable_http_manager as manager

    if "--legacy" in sys.argv:
        manager.HANDSHAKE_PROTOCOL_VERSIONS = (*manager.HANDSHAKE_PROTOCOL_VERSIONS, "2026-07-28")
    if "--modern" not in sys.argv:
        return app
    manager.HANDSHAKE_PROTOCOL_VERSIONS = ()

    async def modern_only(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and not any(name == b"mcp-protocol-version" for name, _ in scope["headers"]):
            scope["headers"].append((b"mcp-protocol-version", b"none"))
        await app(scope, receive, send)

    return modern_only


async def serve_http() -> None:
    """Serve over HTTP until the process is ended."""
    app: Any = server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(of_one_era(app), log_level="error", timeout_graceful_shutdown=1)
    await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        server.tool()(weigh)
        asyncio.run(serve_http())
    else:
        server.run()
