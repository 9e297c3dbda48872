"""A client of the audited server, whose audit log appears on standard error."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import ClientOptions, PeerError, connect_stdio
from mcp_bindings.v2025_11_25 import Client

SERVER = Path(__file__).with_name("audit_server.py")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, options=ClientOptions(name="visitor"))
        await client.list_tools()
        await client.call_tool("open")
        try:
            await client.call_tool("burn")
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
