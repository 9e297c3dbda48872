"""A client that checks the results of tools, and shows how a server answers invalid arguments."""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, ClientOptions, PeerError, Validate, connect_stdio

SERVER = Path(__file__).with_name("validation_server.py")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, options=ClientOptions(middleware=(Validate(),)))
        result = await client.call_tool("sum", {"a": 1, "b": 2.5})
        print(result.structured_content)
        # A model can read this, and correct itself.
        print((await client.call_tool("sum", {"a": 1, "b": "two"})).content[0])
        try:
            await client.get_prompt(name="explain-code")
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
