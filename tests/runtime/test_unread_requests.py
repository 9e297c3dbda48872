"""What a client sends to a server that does not read takes bounded memory, though each call ends by its timeout."""

import asyncio
import os
import signal
import sys
from contextlib import suppress
from typing import Any

import pytest

from mcp_bindings import v2025_11_25, v2026_07_28
from mcp_runtime.core.errors import McpError, RequestTimeout
from mcp_runtime.core.settings import ClientOptions
from mcp_runtime.core.transports.stdio import connect_stdio
from support.programs import quick_python

LIMIT = 3_000_000
LARGE = {"text": "x" * 1_000_000}
SERVER = """
import os
from mcp_bindings import App

app = App("slow")

@app.tool(description="Returns the id of this process, whatever it is given.")
def pid(text: str) -> dict[str, int]:
    return {"pid": os.getpid()}

app.run()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows stops no processes by signals")
@pytest.mark.parametrize("bindings", [v2025_11_25, v2026_07_28], ids=lambda bindings: bindings.REVISION)
async def test_requests_that_are_not_read_are_refused_beyond_a_limit(bindings: Any) -> None:
    async with connect_stdio(quick_python(), "-c", SERVER) as peer:
        client = await bindings.Client.open(peer, options=ClientOptions(max_unread_bytes=LIMIT))
        pid = (await client.call("pid", {"text": ""}))["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            errors: list[McpError] = []
            for _ in range(12):
                with pytest.raises(McpError) as raised:
                    await client.with_options(timeout=0.2).call_tool("pid", LARGE)
                errors.append(raised.value)
            timed_out = [error for error in errors if isinstance(error, RequestTimeout)]
            assert len(timed_out) == 3
            assert {str(error).partition(" has not")[0] for error in errors[3:]} == {"tools/call: not sent: the peer"}
        finally:
            os.kill(pid, signal.SIGCONT)
        async with asyncio.timeout(60):
            answered = None
            while answered is None:
                await asyncio.sleep(0.01)
                with suppress(McpError):
                    answered = await client.call("pid", {"text": "again"})
        assert answered == {"pid": pid}
