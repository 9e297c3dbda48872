"""A server and a client of fastmcp-tasks.

`serve` and `serve PORT` serve over stdio and HTTP; `call COMMAND...` and `call URL` print what became of each task.
"""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client, Context, FastMCP
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from fastmcp_tasks import TasksExtension, call_tool_task
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

server = FastMCP("bakery")
server.add_extension(TasksExtension())


@server.tool(task=True)
async def bake() -> str:
    """Bake."""
    await asyncio.sleep(0.2)
    return "baked"


@server.tool(task=True)
async def survey(ctx: Context) -> Any:
    """Ask in mid-task."""
    if not ctx.input_responses:
        schema = {"type": "object", "properties": {"loaves": {"type": "integer"}}, "required": ["loaves"]}
        form = ElicitRequestFormParams(message="how many?", requested_schema=schema)
        return InputRequiredResult(input_requests={"size": ElicitRequest(params=form)})
    answer: Any = ctx.input_responses["size"]
    return f"{answer.content['loaves']} loaves"


@server.tool(task=True)
async def burn() -> str:
    """Fail with a result."""
    raise ValueError("burnt")


@server.tool(task=True)
async def protest() -> str:
    """Fail with an error of the protocol."""
    raise MCPError(code=-32603, message="no flour")


@server.tool(task=True)
async def forever() -> str:
    """Bake until it is cancelled."""
    await asyncio.sleep(3600)
    return ""


async def answered(*_: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"loaves": 3})


async def call(command: list[str]) -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    transport: Any = command[0]
    if not transport.startswith("http"):
        transport = StdioTransport(command=command[0], args=command[1:])
    async with Client(transport, elicitation_handler=answered) as client:
        for name in ("bake", "survey", "burn", "protest"):
            task = await call_tool_task(client, name, {})
            try:
                result = await task.result()
                outcomes[name] = (result.is_error, result.content[0].text)
            except Exception as error:
                outcomes[name] = (type(error).__name__, str(error))
            outcomes[name] = (*outcomes[name], (await task.status()).status)
        task = await call_tool_task(client, "forever", {})
        await task.cancel()
        async with asyncio.timeout(60):
            while (state := await task.status()).status == "working":
                await asyncio.sleep(0.05)
        outcomes["forever"] = state.status
        try:
            outcomes["plain"] = (await client.call_tool("survey", {})).content[0].text
        except Exception as error:
            outcomes["plain"] = (type(error).__name__, str(error))
    return outcomes


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server.run(show_banner=False)
    elif sys.argv[1] == "serve":
        server.run(transport="http", port=int(sys.argv[2]), show_banner=False)
    else:
        print(json.dumps(asyncio.run(call(sys.argv[2:])), indent=1))
