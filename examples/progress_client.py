"""A client that watches a call, cancels another one with a reason, and lets a third one time out.

python examples/progress_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import CallOptions, Client, RequestTimeout, TextContent, connect_stdio

SERVER = Path(__file__).with_name("progress_server.py")


async def call(client: Client, tool: str, options: CallOptions | None = None, **arguments: int) -> str:
    result = await client.call_tool(name=tool, arguments=dict(arguments), options=options)
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


def show(progress: float, total: float | None, message: str | None) -> None:
    print(f"  {progress:g} of {total:g}: {message}")


def ignore(progress: float, total: float | None, message: str | None) -> None:
    """Ask for reports without showing them."""


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["tools"])
        print("result:", await call(client, "bake", CallOptions(progress=show), loaves=3))

        def seen_enough(progress: float, total: float | None, message: str | None) -> None:
            if progress >= 2:
                baking.cancel("the guests have left")

        baking = asyncio.create_task(call(client, "bake", CallOptions(progress=seen_enough), loaves=10_000))
        await asyncio.wait([baking])
        print("cancelled:", baking.cancelled())
        print((await call(client, "bin")).partition(" ")[2])

        # Each report of progress renews the timeout, but not the maximum.
        try:
            await call(client, "bake", CallOptions(timeout=5, max_time=2, progress=ignore), loaves=10_000)
        except RequestTimeout as error:
            print(error)
        print((await call(client, "bin")).partition(" ")[2])


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
