"""A client that uses a vendor's own methods, with pydantic models, after checking that the server has them.

python examples/vendor_client.py
"""

import argparse
import asyncio
import sys
from pathlib import Path

from vendor_server import Bill, Order, Smell

from mcp_bindings.v2025_11_25 import Client, ClientContext, ClientHandlers
from mcp_runtime.client import ClientOptions
from mcp_runtime.connection import Connection
from mcp_runtime.errors import PeerError
from mcp_runtime.transports.stdio import connect_stdio

SERVER = Path(__file__).with_name("vendor_server.py")


class Guest(ClientHandlers):
    def connected(self, connection: Connection) -> None:
        connection.handle_notification("acme/smell", Smell, self.on_smell)

    async def on_smell(self, params: Smell, ctx: ClientContext) -> None:
        print(f"it smells of {params.of}")


async def main() -> None:
    options = ClientOptions(experimental={"acme": {"smells": {}}})
    async with connect_stdio(sys.executable, SERVER) as peer:
        client = await Client.open(peer, handlers=Guest(), options=options, require=["experimental.acme"])
        connection = client.connection
        currency = client.capabilities["experimental"]["acme"]["currency"]
        bill = await connection.send_request("acme/order", Order(dish="soup", portions=2), Bill)
        print(f"that is {bill.cents / 100:.2f} {currency}")
        try:
            await connection.send_request("acme/order", {"portions": 1}, Bill)
        except PeerError as error:
            print(error)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    asyncio.run(main())
