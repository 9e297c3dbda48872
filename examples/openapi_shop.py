"""The HTTP API of a tea shop: `uvicorn openapi_shop:api` runs it, and this program prints its OpenAPI document."""

import argparse
import json

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

api = FastAPI(title="Tea shop", version="1.0")


class Order(BaseModel):
    tea: str
    grams: int = Field(50, ge=10, le=1000, description="How much tea, in grams")


class PlacedOrder(Order):
    number: int


placed: list[PlacedOrder] = []


@api.get("/orders", operation_id="orders_list")
async def list_orders(tea: str | None = None) -> list[PlacedOrder]:
    """List orders."""
    return [order for order in placed if tea in (None, order.tea)]


@api.post("/orders", operation_id="orders_place", status_code=201)
async def place_order(order: Order) -> PlacedOrder:
    """Place an order."""
    placed.append(PlacedOrder(**order.model_dump(), number=len(placed)))
    return placed[-1]


@api.get("/orders/{number}", operation_id="orders_get")
async def get_order(number: int) -> PlacedOrder:
    """Get an order."""
    if not 0 <= number < len(placed):
        raise HTTPException(404, f"there is no order {number}")
    return placed[number]


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps(api.openapi(), indent=2))
