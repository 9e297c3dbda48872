"""A server with its own request and notification, which no revision has, and an experimental capability."""

import argparse

from pydantic import BaseModel

from mcp_bindings.v2025_11_25 import Context, Server
from mcp_runtime.connection import Connection
from mcp_runtime.server import ServerOptions
from mcp_runtime.transports.stdio import serve_stdio


class Order(BaseModel):
    dish: str
    portions: int = 1


class Bill(BaseModel):
    cents: int


class Smell(BaseModel):
    of: str


class Kitchen(Server):
    options = ServerOptions(name="kitchen", version="1.0", experimental={"acme": {"currency": "EUR"}})

    def connected(self, connection: Connection) -> None:
        connection.handle_request("acme/order", Order, self.order)

    async def order(self, params: Order, ctx: Context) -> Bill:
        # The other side must support it too; undeclared methods are not sent.
        if ctx.client.has("experimental.acme.smells"):
            await ctx.connection.send_notification("acme/smell", Smell(of=params.dish))
        return Bill(cents=450 * params.portions)


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    serve_stdio(Kitchen())
