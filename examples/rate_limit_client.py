"""A client that waits for as long as a server tells it to, and then tries again."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import CallToolResult, Client, PeerError, connect_stdio
from mcp_runtime.middleware import RATE_LIMITED

SERVER = Path(__file__).with_name("rate_limit_server.py")


async def lookup(client: Client) -> CallToolResult:
    """Call the tool until the server accepts the call."""
    while True:
        try:
            return await client.call_tool("lookup")
        except PeerError as error:
            if error.code != RATE_LIMITED:
                raise
            print(error)
            await asyncio.sleep(error.data["retryAfter"])


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer)
        for number in range(1, 13):
            await lookup(client)
            print("call", number, "done")


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
