"""A peer fills neither the disk nor the hooks: what goes wrong is said so often, then summarised."""

import asyncio
import logging

import pytest

from mcp_runtime.connection.journal import BURST, RATE
from mcp_runtime.errors import McpError
from support.raw_client import raw_client
from support.talk import talk
from support.tools_server import Tools

SECONDS = 5
"""How long a flood takes here at most."""


async def test_junk_is_summarised_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with raw_client(Tools()) as client:
        for _ in range(10_000):
            client.send(b"?")
        assert BURST <= len(caplog.records) <= BURST + RATE * SECONDS
        await asyncio.sleep(1.5 / RATE)
        client.send(b"?")
        assert "more messages about this connection were left out" in caplog.records[-2].message


async def test_failing_handlers_are_summarised(caplog: pytest.LogCaptureFixture) -> None:
    async with talk(Tools()) as both:
        for _ in range(3 * BURST):
            with pytest.raises(McpError, match="internal error"):
                await both.client.call_tool(name="secret")
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert BURST <= len(failed) <= BURST + RATE * SECONDS


async def test_hooks_are_called_as_often_and_told_of_the_rest() -> None:
    errors: list[McpError] = []
    async with raw_client(Tools()) as client:
        client.server.on_error(errors.append)
        for _ in range(1_000):
            client.send(b"?")
    *told, last = errors
    assert BURST <= len(told) <= BURST + RATE * SECONDS
    assert str(last) == f"{1_000 - len(told)} more messages about this connection were left out"
