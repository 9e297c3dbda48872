"""A client that calls a tool correctly, with an argument that is not a number, and under a name that does not exist.

python examples/sum_client.py 2 3.5
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import CallToolResult, Client, PeerError, TextContent, connect_stdio

SERVER = Path(__file__).with_name("sum_server.py")


def show(result: CallToolResult) -> None:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    print("failed:" if result.is_error else "result:", *texts, result.structured_content or "")


async def main(a: float, b: float) -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["tools"])
        print(client.connection.peer_info["name"], "says:", client.connection.instructions)
        async for tool in client.iter_tools():
            print(f"{tool.name}: {tool.description}")
        show(await client.call_tool("sum", {"a": a, "b": b}))
        show(await client.call_tool("sum", {"a": a, "b": "many"}))
        try:
            await client.call_tool("product")
        except PeerError as error:
            print("error:", error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("a", nargs="?", type=float, default=2.0)
    parser.add_argument("b", nargs="?", type=float, default=3.5)
    asyncio.run(main(**vars(parser.parse_args())))
