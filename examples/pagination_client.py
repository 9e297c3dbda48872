"""A client that reads a long list: all of it with an iterator, page by page, and from a cursor that it made up.

python examples/pagination_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, PeerError, connect_stdio

SERVER = Path(__file__).with_name("pagination_server.py")


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["resources"])
        names = [resource.name async for resource in client.iter_resources()]
        print(f"all {len(names)}: {names[0]} to {names[-1]}")

        # By hand, as in a program that shows one page at a time. Only an absent cursor ends the list.
        page = await client.list_resources()
        while True:
            print(f"a page of {len(page.resources)}, from {page.resources[0].name}")
            if page.next_cursor is None:
                break
            page = await client.list_resources(cursor=page.next_cursor)

        try:
            await client.list_resources(cursor="page 2")
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
