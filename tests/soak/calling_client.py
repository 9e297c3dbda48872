"""A client that calls its server endlessly; it first prints the server's process id."""

import asyncio
import sys
from pathlib import Path

from mcp_bindings import v2026_07_28 as v
from mcp_runtime.core.handshake.client import Peer
from mcp_runtime.core.transports.stdio_client import StdioClientTransport

AT_ONCE = 1000


async def main() -> None:
    transport = StdioClientTransport(sys.executable, Path(__file__).with_name("echo_server.py"))
    client = await v.Client.open(Peer(transport))
    print(transport.pid, flush=True)

    async def call() -> None:
        while True:
            await client.call_tool(name="wait", arguments={"seconds": 0.01})

    await asyncio.gather(*(call() for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main())
