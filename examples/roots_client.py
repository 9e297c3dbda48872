"""A client with two roots, a front end and a back end, which takes one of them away again.

python examples/roots_client.py FRONTEND BACKEND PATH...
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import ClientOptions, connect_stdio
from mcp_bindings.v2025_11_25 import Client, Root, TextContent

SERVER = Path(__file__).with_name("roots_server.py")


async def call(client: Client, tool: str, **arguments: str) -> None:
    result = await client.call_tool(name=tool, arguments=dict(arguments))
    [block] = result.content
    assert isinstance(block, TextContent)
    print(" ".join([tool, *arguments.values()]), "->", "refused:" if result.is_error else "", block.text)


async def main(frontend: str, backend: str, paths: list[str]) -> None:
    front = Root(uri=Path(frontend).absolute().as_uri(), name="Front end")
    back = Root(uri=Path(backend).absolute().as_uri(), name="Back end")
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, options=ClientOptions(roots=[front, back]))
        await call(client, "roots")
        for path in paths:
            await call(client, "read", path=path)
        await client.set_roots([front])
        await call(client, "roots")
        for path in paths:
            await call(client, "read", path=path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frontend")
    parser.add_argument("backend")
    parser.add_argument("paths", metavar="PATH", nargs="*")
    asyncio.run(main(**vars(parser.parse_args())))
