"""Tests of a client against a mock of its server: `pytest examples/mocked`. Nothing but the lock file is needed."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import Client, connect_http

pytest_plugins = ["mcp_bindgen.mock.pytest_plugin"]
LOCK = Path(__file__).with_name("tools.lock.json")


async def pack(url: str, city: str) -> str:
    """The client that is tested: it asks a weather server what to pack."""
    async with connect_http(url) as peer:
        client = await Client.open(peer)
        for _ in range(2):
            result = await client.call_tool("forecast", {"city": city})
            forecast: Any = result.structured_content
            if not result.is_error:
                return "an umbrella" if forecast["wet"] else "sunglasses"
    return "both"


@pytest.mark.parametrize(("fault", "calls"), [("error@1", 2), ("delay=0.01", 1)])
def test_one_failure_is_survived(mcp_mock: Callable[..., Any], fault: str, calls: int) -> None:
    mock = mcp_mock(lock=LOCK, faults=[fault])
    assert asyncio.run(pack(mock.url, "Oslo")) in ("an umbrella", "sunglasses")
    assert [method for method, _ in mock.calls].count("tools/call") == calls


def test_a_server_that_always_fails(mcp_mock: Callable[..., Any]) -> None:
    assert asyncio.run(pack(mcp_mock(lock=LOCK, faults=["error"]).url, "Oslo")) == "both"
