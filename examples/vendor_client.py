"""A client that uses an extension without a schema, with pydantic models, after checking that the server has it.

python examples/vendor_client.py
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vendor_server import ORDER, Kitchen, Order, Smell

from mcp_bindings import Client, ClientContext, PeerError, connect_stdio, send_request

SERVER = Path(__file__).with_name("vendor_server.py")


class Guest(Kitchen):
    def handlers(self) -> Mapping[str, Any]:
        return {"acme/smell": self.on_smell}

    async def on_smell(self, params: Smell, ctx: ClientContext) -> None:
        print(f"it smells of {params.of}")


async def main() -> None:
    guest = Guest()
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, extensions=[guest])
        kitchen = guest.peer_settings(client.connection)
        if kitchen is None:
            sys.exit("this server takes no orders")
        bill = await send_request(client.connection, ORDER, Order(dish="soup", portions=2))
        print(f"that is {bill.cents / 100:.2f} {kitchen['currency']}")
        try:
            await send_request(client.connection, ORDER, {"portions": 1})
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
