"""A client that shows a prompt with several messages, as it would send it to its model.

python examples/debugging_client.py "KeyError: 'tea'" "turned it off; turned it on"
"""

import argparse
import asyncio
import sys
from pathlib import Path

from mcp_bindings import Client, TextContent, connect_stdio

SERVER = Path(__file__).with_name("debugging_server.py")


async def main(error: str, tried: str) -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, require=["prompts"])
        prompt = await client.get_prompt(name="debug-error", arguments={"error": error, "tried": tried})
        for message in prompt.messages:
            assert isinstance(message.content, TextContent)
            print(f"{message.role:>9}: {message.content.text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("error", nargs="?", default="KeyError: 'tea'")
    parser.add_argument("tried", nargs="?", default="")
    asyncio.run(main(**vars(parser.parse_args())))
