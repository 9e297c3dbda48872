"""A peer can flood neither the log nor the hooks: errors are reported up to a limit, then summarised."""

import asyncio
import logging
import re

import pytest

from mcp_runtime.core.connection.timers import BURST, RATE
from mcp_runtime.core.errors import McpError
from mcp_runtime.core.handshake.server import start_server
from mcp_runtime.memory import memory_pair
from support.talk import Raw, raw, talk
from support.tools_server import Tools

pytestmark = pytest.mark.usefixtures("virtual_time")


async def test_junk_is_summarised_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    here, there = memory_pair()
    server = await start_server(there, Tools())
    await here.start(Raw(server))
    for _ in range(10_000):
        here.send(b"?")
    assert len(caplog.records) == BURST
    await asyncio.sleep(1.5 / RATE)
    here.send(b"?")
    assert "more messages about this connection were omitted" in caplog.records[-2].message
    await here.close()
    await server.wait_closed()


async def test_failing_handlers_are_summarised(caplog: pytest.LogCaptureFixture) -> None:
    async with talk(Tools()) as both:
        for _ in range(3 * BURST):
            with pytest.raises(McpError, match="internal error"):
                await both.client.call_tool(name="secret")
    failed = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(failed) == BURST


async def test_hooks_have_the_same_limit_and_a_summary() -> None:
    async with raw(Tools()) as peer:
        for _ in range(1_000):
            peer.send(b"?")
    left_out = [re.fullmatch(r"([\d,]+) more messages about this connection were omitted", str(e)) for e in peer.errors]
    counted = [int(found[1].replace(",", "")) for found in left_out if found]
    reported = len(left_out) - len(counted)
    assert counted and reported + sum(counted) == 1_000
    assert reported == BURST
