"""A client that shows the log of a server, from a certain level upwards.

python examples/logging_client.py [legacy | modern]
"""

# pyright: reportDeprecated=false
# 2026-07-28 deprecates logging.

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp_bindings import ClientOptions, connect_stdio, open_any
from mcp_bindings import v2025_11_25 as legacy
from mcp_bindings import v2026_07_28 as modern

SERVER = Path(__file__).with_name("logging_server.py")


class Show(legacy.ClientHandlers):
    async def on_logging_message(
        self, params: legacy.LoggingMessageNotificationParams, ctx: legacy.ClientContext
    ) -> None:
        show(params.level, params.logger, params.data)


class ModernShow(modern.ClientHandlers):
    async def on_logging_message(
        self, params: modern.LoggingMessageNotificationParams, ctx: modern.ClientContext
    ) -> None:
        show(params.level, params.logger, params.data)


def show(level: str, logger: str | None, data: Any) -> None:
    print(f"{level:>7} {logger}: {data}")


async def main(era: Any) -> None:
    options = ClientOptions(era=era)
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await open_any(peer, legacy.Client, modern.Client, handlers=[Show(), ModernShow()], options=options)
        if isinstance(client, legacy.Client):
            await client.set_level(level="info")
            await client.call_tool("backup")
        else:
            await client.call_tool("backup", meta={"io.modelcontextprotocol/logLevel": "info"})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("era", nargs="?", choices=("auto", "legacy", "modern"), default="auto")
    asyncio.run(main(**vars(parser.parse_args())))
