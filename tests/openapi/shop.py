"""A shop with an HTTP API, for the tests of servers that are generated from its documents: its own, and shop.yaml."""

from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, HTTPException, Query
from fastapi.responses import JSONResponse, PlainTextResponse
from pydantic import BaseModel, Field

KEY = "key-of-the-shop"


class Line(BaseModel):
    """A line of an order."""

    sku: str = Field(pattern="^[A-Z]{2}$")
    count: int = Field(1, ge=1)


class Order(BaseModel):
    """An order."""

    id: str
    lines: list[Line]
    size: Literal["small", "large"] = "small"
    note: str | None = None
    gift: bool = False


class NewOrder(BaseModel):
    """What a customer orders."""

    lines: list[Line]
    size: Literal["small", "large"] = "small"
    note: str | None = None
    payment: dict[str, Any] | None = None


def identify(x_api_key: Annotated[str, Header()] = "") -> None:
    if x_api_key != KEY:
        raise HTTPException(401, f"{x_api_key or 'nothing'} is not a key")


def shop() -> FastAPI:
    """Return a shop without orders."""
    orders: dict[str, Order] = {}
    app = FastAPI(title="Shop")
    signed = [Depends(identify)]

    def found(id: str) -> Order:
        if id not in orders:
            raise HTTPException(404, f"there is no order {id}")
        return orders[id]

    @app.get("/base/orders", dependencies=signed)
    def list_orders(
        tag: Annotated[list[str] | None, Query()] = None, size: str | None = None, limit: int = 10
    ) -> list[Order]:
        return [each for each in orders.values() if size in (None, each.size)][:limit]

    @app.post("/base/orders", status_code=201, dependencies=signed)
    def place_order(order: NewOrder) -> Order:
        placed = Order(id=f"n{len(orders)}", lines=order.lines, size=order.size, note=order.note)
        orders[placed.id] = placed
        return placed

    @app.get("/base/orders/{id}", dependencies=signed)
    def get_order(id: str) -> Order:
        return found(id)

    @app.put("/base/orders/{id}", dependencies=signed)
    def replace_order(id: str, lines: list[Line]) -> Order:
        found(id).lines = lines
        return orders[id]

    @app.delete("/base/orders/{id}", status_code=204, dependencies=signed)
    def cancel_order(id: str) -> None:
        del orders[found(id).id]

    @app.get("/base/status", response_class=PlainTextResponse)
    def status() -> str:
        return "open"

    @app.get("/base/closed", include_in_schema=False)
    def closed() -> JSONResponse:
        return JSONResponse({"detail": "closed"}, 503, {"Retry-After": "3"})

    _ = list_orders, place_order, get_order, replace_order, cancel_order, status, closed
    return app
