"""A client and a server with the extension com.acme/bakery, whose package a test generates as ``acme.bakery``.

As a program, the server over stdio.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from mcp_bindings import v2026_07_28 as mcp
from mcp_runtime.core.connection import Connection
from mcp_runtime.core.connection.results import Interrupted
from mcp_runtime.extensions.extension import Around, Extension

ID = "com.acme/bakery"
SCHEMA = """
import type { JSONRPCNotification, JSONRPCRequest, NotificationParams, RequestParams, Result } from "./schema.js";
/** The bakery takes an order. */
export type PlaceOrderRequest = JSONRPCRequest & {
  method: "orders/place"; params: RequestParams & { bread: string; /** @format int */ loaves: number };
};
export type PlaceOrderResult = Result & { resultType: "complete"; number: string };
/** Stars of a customer. */
export type RateOrderNotification = JSONRPCNotification & {
  method: "notifications/orders/rated"; params: NotificationParams & { stars: number };
};
/** An order is baked. */
export type BakedOrderNotification = JSONRPCNotification & {
  method: "notifications/orders/baked"; params: NotificationParams & { number: string };
};
/** A tool that answers with an order. */
export type OrderedResult = Result & { resultType: "ordered"; number: string };
export interface Settings { /** @format int */ ovens?: number }
"""
TABLE = f"""
[tool.mcp-bindgen.extensions."{ID}"]
revision = "2026-07-28"
schema = "bakery.ts"
settings = "Settings"
results = {{ "tools/call" = "OrderedResult" }}
headers = {{ "orders/place" = "bread" }}
[tool.mcp-bindgen.extensions."{ID}".directions]
"orders/place" = {{ direction = "client_to_server", reason = "customers order" }}
"notifications/orders/rated" = {{ direction = "client_to_server", reason = "customers rate" }}
"notifications/orders/baked" = {{ direction = "server_to_client", reason = "the bakery says so" }}
"""


def write_sources(folder: Path) -> None:
    """Write what the package is generated from."""
    (folder / "pyproject.toml").write_text(TABLE, "utf-8")
    (folder / "bakery.ts").write_text(SCHEMA, "utf-8")


def bakery(ovens: Any = 2) -> Any:
    """Return the extension, for either side; `ovens` are its settings."""
    package = import_module("acme.bakery")

    class Bakery(Extension):
        binding = package.EXTENSION

        def __init__(self) -> None:
            self.stars: list[float] = []
            self.baked: list[str] = []
            self.resumed: list[str] = []
            self.seen: list[Mapping[str, Any] | None] = []

        def settings(self, connection: Connection) -> Mapping[str, Any]:
            return {"ovens": ovens}

        def handlers(self) -> Mapping[str, Any]:
            return {
                "orders/place": self.place,
                "notifications/orders/rated": self.rated,
                "notifications/orders/baked": self.heard,
            }

        def around(self) -> Mapping[str, Around]:
            return {"tools/call": self.call}

        async def place(self, params: Any, ctx: mcp.Context) -> Any:
            self.seen.append(self.peer_settings(ctx))
            await package.ServerMixin(ctx.client.__caller__).notify_baked_order(number=f"{params.bread} 1")
            return package.PlaceOrderResult(number=f"{params.loaves} {params.bread}")

        async def rated(self, params: Any, ctx: mcp.Context) -> None:
            self.stars.append(params.stars)

        async def heard(self, params: Any, ctx: Any) -> None:
            self.baked.append(params.number)

        async def call(self, params: Any, ctx: mcp.Context, proceed: Any) -> Any:
            if params.name != "order":
                return await proceed(params, ctx)
            return package.OrderedResult(number="7")

        async def resume(self, result: Any, call: Interrupted[Any, Any]) -> Any:
            self.resumed.append(result.number)
            return mcp.CallToolResult(content=[mcp.TextContent(text=f"order {result.number}")])

    return Bakery()


def customer() -> Any:
    """Return the class of a client with the stubs of the extension."""
    package = import_module("acme.bakery")

    class Customer(package.ClientMixin, mcp.Client):  # type: ignore[misc,name-defined]
        """A client with both."""

    return Customer


def shop(extension: Any) -> mcp.App:
    """Return a server with two tools: ``order``, which the extension answers otherwise, and ``stars``."""
    app = mcp.App("shop", extensions=[extension])

    @app.tool()
    def order() -> str:
        """Order bread."""
        return "ordered the usual way"

    @app.tool()
    def stars() -> str:
        """Show the ratings."""
        return str(extension.stars)

    return app


if __name__ == "__main__":
    shop(bakery()).run()
