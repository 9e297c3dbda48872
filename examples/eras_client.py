"""A client of both eras: it detects what its server supports, answers its questions, and listens for changes.

python examples/eras_client.py [legacy | modern]
"""

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Literal

from mcp_bindings import ClientOptions, connect_stdio, open_any
from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern
from mcp_runtime.middleware import ResultCache

SERVER = Path(__file__).with_name("eras_server.py")
Era = Literal["auto", "legacy", "modern"]


class Person(legacy.ClientHandlers):
    async def elicit(self, params: legacy.ElicitRequestParams, ctx: legacy.ClientContext) -> legacy.ElicitResult:
        return legacy.ElicitResult(action="accept", content={"sure": decide(params.message)})


class ModernPerson(modern.ClientHandlers):
    async def elicit(self, params: modern.ElicitRequestParams, ctx: modern.ClientContext) -> modern.ElicitResult:
        return modern.ElicitResult(action="accept", content={"sure": decide(params.message)})


def decide(question: str) -> bool:
    sure = "letter" not in question
    print(f"  {question} {'yes' if sure else 'no'}")
    return sure


async def delete(client: legacy.Client | modern.Client, name: str) -> None:
    [block] = (await client.call_tool("delete", {"name": name})).content
    if isinstance(block, legacy.TextContent | modern.TextContent):
        print(f"  {block.text}")


async def main(era: Era) -> None:
    results = ResultCache()
    options = ClientOptions(era=era, probe_timeout=30, middleware=(results,))
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await open_any(
            peer, legacy.Client, modern.Client, handlers=[Person(), ModernPerson()], options=options
        )
        print("both speak", client.connection.revision)
        await delete(client, "letter")
        if isinstance(client, modern.Client):
            for _ in range(3):
                await client.list_tools()
            async with await client.listen(tools=True) as changes:
                await delete(client, "draft")
                print("  changed:", (await anext(changes)).what)
            [tool] = (await client.list_tools()).tools
            print(f"  now: {tool.description}; {results.hits} of 4 lists came from the cache")
        else:
            await delete(client, "draft")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("era", nargs="?", choices=("auto", "legacy", "modern"), default="auto")
    asyncio.run(main(**vars(parser.parse_args())))
