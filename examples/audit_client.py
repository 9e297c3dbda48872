"""A client of the audited server, whose audit log appears on standard error."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.core.client import ClientOptions
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.transports.stdio import connect_stdio

SERVER = Path(__file__).with_name("audit_server.py")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, options=ClientOptions(name="visitor"))
        await client.list_tools()
        await client.call_tool(name="open")
        try:
            await client.call_tool(name="burn")
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
