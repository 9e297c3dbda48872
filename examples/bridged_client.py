"""Clients of three revisions that talk to a server written for another one.

python examples/bridged_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import connect_stdio, v2024_11_05, v2025_06_18, v2026_07_28

SERVER = Path(__file__).with_name("bridged_server.py")


class Guest(v2025_06_18.ClientHandlers):
    async def elicit(
        self, params: v2025_06_18.ElicitRequestParams, ctx: v2025_06_18.ClientContext
    ) -> v2025_06_18.ElicitResult:
        return v2025_06_18.ElicitResult(action="accept", content={"balcony": True})


class ModernGuest(v2026_07_28.ClientHandlers):
    async def elicit(
        self, params: v2026_07_28.ElicitRequestParams, ctx: v2026_07_28.ClientContext
    ) -> v2026_07_28.ElicitResult:
        return v2026_07_28.ElicitResult(action="accept", content={"balcony": True})


async def book(client: v2024_11_05.Client | v2025_06_18.Client | v2026_07_28.Client) -> None:
    [block] = (await client.call_tool("book")).content
    print(client.connection.revision, getattr(block, "text", block.type))


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        await book(await v2024_11_05.Client.open(peer))
    async with connect_stdio(sys.executable, SERVER) as peer:
        await book(await v2025_06_18.Client.open(peer, handlers=Guest()))
    async with connect_stdio(sys.executable, SERVER) as peer:
        await book(await v2026_07_28.Client.open(peer, handlers=ModernGuest()))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
