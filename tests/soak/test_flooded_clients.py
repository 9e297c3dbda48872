"""Clients flooded by their server process."""

import asyncio
import logging
import sys
from pathlib import Path

import pytest

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.stub import CallOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from soak.fire import resident
from soak.scale import scaled

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

SERVER = Path(__file__).with_name("flooding_server.py")
LIMIT_MB = 64


class Busy(v.ClientHandlers):
    """Never ends."""

    async def create_message(
        self, params: v.CreateMessageRequestParams, ctx: v.ClientContext
    ) -> v.CreateMessageResult | v.CreateTaskResult:
        await asyncio.sleep(3600)
        raise AssertionError

    async def on_logging_message(self, params: v.LoggingMessageNotificationParams, ctx: v.ClientContext) -> None:
        await asyncio.sleep(3600)


def _ignore(progress: float, total: float | None, message: str | None) -> None:
    """Only ask for reports."""


@pytest.mark.parametrize("kind", ["requests", "notifications", "progress", "answers"])
async def test_a_server_that_floods_its_client(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "mcp_runtime")
    options = ClientOptions(max_bytes=LIMIT_MB << 20)
    # A flooding server does not read; after 1 MB of refusals its client would wait for it to do so.
    count = scaled(1_500, 6_000 if kind == "requests" else 30_000)
    command = (sys.executable, SERVER, kind, str(count))
    async with connect_stdio(*command) as peer:
        client = await v.Client.open(peer, handlers=Busy(), options=options)
        await client.ping()
        before = resident()
        result = await client.call_tool(name="x", options=CallOptions(progress=_ignore, timeout=100))
        assert isinstance(result.content[0], v.TextContent)
        grown = (resident() - before) // 1024
        print(f"memory +{grown} MB, {len(caplog.text)} characters of log")
        assert grown < LIMIT_MB + 40
        assert len(caplog.text) < 200_000
        await client.ping()
