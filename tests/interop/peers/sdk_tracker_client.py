"""A client written with the official SDK that uses a tracker: examples/tracker_server.py, or its counterpart.

python sdk_tracker_client.py COMMAND [ARGUMENT ...]

It prints one JSON object: what it observed.
"""

import asyncio
import json
import os
import sys
import warnings
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from sdk import MAJOR, types

warnings.simplefilter("ignore")


def dumped(model: Any) -> Any:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


async def elicit(context: Any, params: Any) -> Any:
    return types.ElicitResult.model_validate({"action": "accept", "content": {"reason": "fixed"}})


async def sample(context: Any, params: Any) -> Any:
    content = {"type": "text", "text": params.messages[0].content.text.upper()}
    return types.CreateMessageResult.model_validate({"role": "assistant", "model": "m", "content": content})


async def main() -> None:
    command, *arguments = sys.argv[1:]
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    found: dict[str, Any] = {}
    logged: list[str] = []
    progress: list[Any] = []

    async def log(params: Any) -> None:
        logged.append(params.level)

    async def report(done: float, total: float | None, message: str | None) -> None:
        progress.append([done, total, message])

    async def call(name: str, **arguments: Any) -> list[Any]:
        result = dumped(await session.call_tool(name, arguments, progress_callback=report))
        return [result.get("isError", False), result.get("structuredContent")]

    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(
            read, write, elicitation_callback=elicit, sampling_callback=sample, logging_callback=log
        ) as session,
    ):
        begun = dumped(await session.initialize())
        found["server"] = begun["serverInfo"]["name"]
        found["tools"] = [tool["name"] for tool in dumped(await session.list_tools())["tools"]]
        found["search"] = await call("search", text="crash")
        found["open"] = await call("open_issue", title="New", labels=["a"])
        found["close"] = await call("close_issue", number=1)
        found["summarize"] = await call("summarize", number=2)
        found["reindex"] = await call("reindex")
        found["wrong"] = (await call("search", limit=1000))[0]
        found["missing"] = (await call("close_issue", number=99))[0]
        found["resources"] = sorted(item["uri"] for item in dumped(await session.list_resources())["resources"])
        listed = dumped(await session.list_resource_templates())
        found["templates"] = [item["uriTemplate"] for item in listed["resourceTemplates"]]
        uri: Any = "tracker://issues/2"
        if MAJOR == 1:
            from pydantic import AnyUrl

            uri = AnyUrl(uri)
        found["issue"] = json.loads(dumped(await session.read_resource(uri))["contents"][0]["text"])
        prompt = dumped(await session.get_prompt("triage", {"number": "2", "tone": "friendly"}))
        found["prompt"] = prompt["messages"][0]["content"]["text"]
    found["logged"], found["progress"] = logged, progress
    print(json.dumps(found))


asyncio.run(main())
