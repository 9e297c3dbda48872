"""A client that shows the log of a server, from a level on."""

import asyncio
import sys
from pathlib import Path

from mcp_bindings.v2025_11_25 import Client, ClientContext, ClientHandlers, LoggingMessageNotificationParams
from mcp_runtime.transports.stdio import connect_stdio

SERVER = Path(__file__).with_name("logging_server.py")


class Show(ClientHandlers):
    async def on_logging_message(self, params: LoggingMessageNotificationParams, ctx: ClientContext) -> None:
        print(f"{params.level:>7} {params.logger}: {params.data}")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, handlers=Show())
        await client.set_level(level="info")
        await client.call_tool(name="backup")


if __name__ == "__main__":
    asyncio.run(main())
