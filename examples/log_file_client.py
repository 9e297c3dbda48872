"""A client that follows a log file: it subscribes, and reads the file again whenever the server reports a change.

python examples/log_file_client.py LOGFILE LINE...     (it writes the lines itself, in place of another program)
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import connect_stdio
from mcp_bindings.v2025_11_25 import Client, TextResourceContents
from mcp_bindings.v2025_11_25.methods import NOTIFICATIONS_RESOURCES_UPDATED

SERVER = Path(__file__).with_name("log_file_server.py")


async def read(client: Client, uri: str) -> list[str]:
    [contents] = (await client.read_resource(uri=uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents.text.splitlines()


async def main(path: str, lines: list[str]) -> None:
    async with connect_stdio(sys.executable, SERVER, path) as peer:
        client = await Client.open(peer, require=["resources.subscribe"])
        [resource] = [resource async for resource in client.iter_resources()]
        updates = client.notifications(NOTIFICATIONS_RESOURCES_UPDATED)
        await client.subscribe(uri=resource.uri)
        seen = await read(client, resource.uri)
        print(f"{resource.name}: {len(seen)} lines so far")
        for line in lines:
            with Path(path).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            updated = await updates.next(timeout=30)
            assert updated is not None and updated.uri == resource.uri
            now = await read(client, resource.uri)
            print("new:", *now[len(seen) :])
            seen = now
        await client.unsubscribe(uri=resource.uri)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="LOGFILE")
    parser.add_argument("lines", metavar="LINE", nargs="*")
    given = parser.parse_args()
    if not Path(given.path).is_file():
        parser.error(f"{given.path} is not a file")
    asyncio.run(main(**vars(given)))
