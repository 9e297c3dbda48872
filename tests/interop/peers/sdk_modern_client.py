"""A client of 2026-07-28 written with the official SDK, which calls the tools of `interop.modern_server`.

python sdk_modern_client.py COMMAND [ARGUMENT ...]
python sdk_modern_client.py URL [MODE]

It prints one JSON object: what it observed, by scenario.
"""

import asyncio
import json
import os
import sys
import warnings
from typing import Any

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")
WORDS = {"word 0": "one", "word 1": "two", "word 2": "three"}


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"word": WORDS[params.message]})


async def list_roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult.model_validate({"roots": [{"uri": "file:///home"}]})


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    content = {"type": "text", "text": params.messages[0].content.text.upper()}
    return types.CreateMessageResult.model_validate({"role": "assistant", "model": "m", "content": content})


async def main() -> None:
    command, *arguments = sys.argv[1:]
    is_url = command.startswith("http")
    target = command if is_url else StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    options: dict[str, Any] = {"mode": arguments[0]} if is_url and arguments else {}
    found: dict[str, Any] = {}
    logged: list[Any] = []

    async def log(params: Any) -> None:
        logged.append([params.level, params.data])

    async def call(name: str, **arguments: Any) -> str:
        result = await client.call_tool(name, arguments)
        return result.content[0].text

    async with Client(
        target,
        **options,
        elicitation_callback=elicit,
        list_roots_callback=list_roots,
        sampling_callback=sample,
        logging_callback=log,
        log_level="info",
        read_timeout_seconds=60,
    ) as client:
        found["revision"] = client.protocol_version
        found["server"] = client.server_info.name if client.server_info else None
        found["instructions"] = client.instructions
        found["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        found["three"] = await call("three")
        found["both"] = await call("both")
        found["say"] = await call("say", text="hello")
        async with asyncio.timeout(40):
            while not logged:
                await asyncio.sleep(0.01)
        found["logged"] = logged
        steps: list[Any] = []

        async def report(progress: float, total: float | None, message: str | None) -> None:
            steps.append([progress, total, message])

        await client.call_tool("count", {"steps": 3}, progress_callback=report)
        async with asyncio.timeout(40):
            while len(steps) < 3:
                await asyncio.sleep(0.01)
        found["steps"] = steps
        try:
            await client.call_tool("fail", {})
        except MCPError as error:
            found["fail"] = [error.error.code, error.error.message, error.error.data]
        begun = asyncio.Event()

        async def begin(progress: float, total: float | None, message: str | None) -> None:
            begun.set()

        slow = asyncio.ensure_future(client.call_tool("slow", {}, progress_callback=begin))
        async with asyncio.timeout(40):
            await begun.wait()
            slow.cancel()
            await asyncio.gather(slow, return_exceptions=True)
            while (cancelled := await call("cancelled_calls")) == "0":
                await asyncio.sleep(0.02)
        found["cancelled"] = cancelled
        async with client.listen(tools_list_changed=True, resource_subscriptions=["memo://x"]) as changes:
            await call("change", uri="memo://x")
            found["changes"] = [type(await anext(changes)).__name__ for _ in range(2)]
    print(json.dumps(found))


asyncio.run(main())
