"""An agent that shows its model only the tools that fit the question, out of all that its servers have.

python examples/host_search_client.py "add numbers"
"""

import argparse
import asyncio
import logging

from host_client import SERVERS

from mcp_bindings import Client, Host
from mcp_runtime.host import allow_all


async def main(question: str) -> None:
    logging.disable(logging.WARNING)  # one of the servers does not exist
    async with Host.from_mapping(SERVERS, Client, policy=allow_all) as host:
        view = host.view().search(question, limit=3)
        for tool in view.for_anthropic():
            print(f"{tool['name']}: {tool['description'].partition(chr(10))[0]}")
        print(f"{view.omitted} others")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", nargs="?", default="add numbers")
    asyncio.run(main(parser.parse_args().question))
