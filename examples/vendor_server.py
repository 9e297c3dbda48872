"""A server with a request and a notification of its own, which no revision has: an extension without a schema."""

import argparse
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from mcp_bindings import App, Connection, Context, Extension, ExtensionBinding, vendor_notification, vendor_request


class Order(BaseModel):
    dish: str
    portions: int = 1


class Bill(BaseModel):
    cents: int


class Smell(BaseModel):
    of: str


ORDER = vendor_request("acme/order", Order, Bill)
SMELL = vendor_notification("acme/smell", Smell)


class Kitchen(Extension):
    binding = ExtensionBinding.of("com.acme/kitchen", ORDER, SMELL)

    def settings(self, connection: Connection) -> Mapping[str, Any]:
        return {"currency": "EUR"}

    def handlers(self) -> Mapping[str, Any]:
        return {"acme/order": self.order}

    async def order(self, params: Order, ctx: Context) -> Bill:
        # A client that does not declare the extension expects none of its notifications.
        if self.peer_settings(ctx) is not None:
            await ctx.connection.notify(SMELL, Smell(of=params.dish))
        return Bill(cents=450 * params.portions)


app = App("kitchen", version="1.0", extensions=[Kitchen()])

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    app.run()
