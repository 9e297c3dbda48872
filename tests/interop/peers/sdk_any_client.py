"""A client written with any release of the official SDK: what it gets from a server, as one line of JSON.

python sdk_any_client.py COMMAND [ARGUMENT ...]
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import warnings
from contextlib import asynccontextmanager
from typing import Any

from mcp import StdioServerParameters

warnings.simplefilter("ignore")
IS_1 = importlib.metadata.version("mcp").startswith("1.")


@asynccontextmanager
async def connected(parameters: StdioServerParameters) -> Any:
    """Connect with the newest revision of both sides; yields the client and the revision."""
    if IS_1:
        from mcp import ClientSession
        from mcp.client.stdio import stdio_client

        async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
            yield session, (await session.initialize()).protocolVersion
    else:
        from mcp import Client

        async with Client(parameters) as client:
            yield client, client.protocol_version


async def main() -> None:
    """Print what the client gets."""
    command, *arguments = sys.argv[1:]
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
    async with connected(parameters) as (client, revision):
        result = await client.call_tool("add", {"a": 1, "b": 2})
        try:
            failed = await client.call_tool("add", {"a": "x", "b": 2})
            is_refused = failed.isError if IS_1 else failed.is_error
        except Exception as error:  # before 2025-11-25
            is_refused = "invalid arguments" in str(error)
        uri: Any = "note://today"
        if IS_1:
            from pydantic import AnyUrl

            uri = AnyUrl(uri)
        read = await client.read_resource(uri)
        prompt = await client.get_prompt("greet", {"name": "Ada"})
        seen = {
            "revision": revision,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "sum": [block.text for block in result.content],
            "refused": is_refused,
            "note": read.contents[0].text,
            "prompt": prompt.messages[0].content.text,
        }
        print(json.dumps(seen), flush=True)


asyncio.run(main())
