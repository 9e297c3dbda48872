"""A client that prints every message of a conversation, with times and without secrets."""

import argparse
import asyncio
import json
import sys
from pathlib import Path

from mcp_bindings import ClientOptions, Tracer, connect_stdio
from mcp_bindings.v2025_11_25 import Client
from mcp_runtime.middleware import Kind, Traced

SERVER = Path(__file__).with_name("trace_server.py")


def show(record: Traced) -> None:
    """Print one message: a line, and the params of requests."""
    print(record)
    if record.kind is Kind.REQUEST and record.message is not None:
        print("   ", json.dumps(record.message["params"]))


async def main() -> None:
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, options=ClientOptions(trace=Tracer(show)))
        await client.call_tool("login", {"user": "ada", "password": "lovelace"})


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
