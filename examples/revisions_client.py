"""A client that speaks the newest revision that its server supports, and distinguishes revisions by type.

python examples/revisions_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import (
    ClientOptions,
    UnsupportedRevision,
    connect_stdio,
    open_any,
    v2024_11_05,
    v2025_03_26,
    v2025_11_25,
)

SERVER = Path(__file__).with_name("revisions_server.py")
ARGUMENTS = {"text": "to be or not to be"}


async def ask(client: v2024_11_05.Client | v2025_11_25.Client) -> None:
    print("both speak", client.connection.revision)
    if isinstance(client, v2025_11_25.Client):
        result = await client.call_tool("count-words", ARGUMENTS)
        print("  structured:", result.structured_content)
    else:
        [block] = (await client.call_tool("count-words", ARGUMENTS)).content
        print("  text:", block.text if isinstance(block, v2024_11_05.TextContent) else block.type)


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        await ask(await open_any(peer, v2024_11_05.Client, v2025_11_25.Client))
    async with connect_stdio(sys.executable, SERVER) as peer:
        await ask(await v2024_11_05.Client.open(peer))
    async with connect_stdio(sys.executable, SERVER) as peer:
        try:
            await v2025_03_26.Client.open(peer, options=ClientOptions(revisions="own"))
        except UnsupportedRevision as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
