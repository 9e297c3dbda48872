"""A custom extension for tests, and the official files of the shipped ones."""

from pathlib import Path
from typing import Any

from mcp_bindgen.ingest.extensions import read_table
from mcp_bindgen.ingest.sources import SourceKind, SourceText
from mcp_bindgen.ir.diagnostics import Diagnostics
from mcp_bindgen.ir.extensions import Extension
from mcp_bindgen.load.extension import extend
from support.official import upstream

REVISION = "2026-07-28"
ID = "com.acme/orders"
TASKS, UI = "io.modelcontextprotocol/tasks", "io.modelcontextprotocol/ui"
CARDS = "io.modelcontextprotocol/server-card"
OFFICIAL = [(TASKS, "tasks", "schema.ts"), (UI, "ui", "spec.types.d.ts"), (CARDS, "server_card", "schema.ts")]
"""The shipped extensions with official files: the folder of these, and the schema.ts."""
ORDERS = """
import type { Error as Failure, JSONRPCNotification, JSONRPCRequest, NotificationParams, Result } from "./revision.js";
/** What is ordered. */
export interface Order { loaves: number; /** @format int */ table: number; failure?: Failure; eaten?: never }
/** The bakery takes an order. */
export type PlaceOrderRequest = JSONRPCRequest & { method: "orders/place"; params: { order: Order } };
export type PlaceOrderResult = Result & { resultType: "complete"; number: string };
/** Stars of a customer. */
export type RateOrderNotification = JSONRPCNotification & {
  method: "notifications/orders/rated"; params: { stars: number };
};
/** An order is baked. */
export type BakedOrderNotification = JSONRPCNotification & {
  method: "notifications/orders/baked"; params: NotificationParams & { number: string };
};
/** A tool that answers with an order. */
export type OrderedResult = Result & { resultType: "ordered"; number: string };
export type Settings = Record<string, never>;
export interface OrderFilter { orders?: string[] }
"""
"""A request, a notification each way, and a result for tools/call."""
REASON = "our own protocol"
DIRECTIONS = {
    "orders/place": {"direction": "client_to_server", "reason": REASON},
    "notifications/orders/rated": {"direction": "client_to_server", "reason": REASON},
    "notifications/orders/baked": {"direction": "server_to_client", "reason": REASON},
}
ROWS: dict[str, Any] = {
    "settings": "Settings",
    "results": {"tools/call": "OrderedResult"},
    "filters": {"subscriptions/listen": "OrderFilter"},
    "headers": {"orders/place": "order"},
    "directions": DIRECTIONS,
}
"""The table that goes with it."""


def orders(
    text: str = ORDERS, diagnostics: Diagnostics | None = None, *, id: str = ID, revision: str = REVISION, **rows: Any
) -> Extension:
    """Load the extension, with another text or other rows."""
    source = SourceText(name="orders.ts", kind=SourceKind.TYPESCRIPT, data=text.encode())
    table = read_table(id, {**ROWS, **rows}, "pyproject.toml")
    return extend(table, revision, source, Diagnostics() if diagnostics is None else diagnostics)


def official(name: str, file: str = "schema.ts") -> Path:
    """Return an official file of an extension; without the folder of official files, the test is skipped."""
    import pytest

    path = upstream() / "extensions" / name.replace("_", "-") / file
    if not upstream().is_dir():
        pytest.skip(f"the official files are not here: {upstream()} (set MCP_UPSTREAM)")
    return path
