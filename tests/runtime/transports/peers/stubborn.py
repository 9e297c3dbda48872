"""A server whose handlers do not end; its argument is how long it waits for them, in seconds."""

import asyncio
import signal
import sys
import time
from contextlib import suppress

from mcp_bindings import v2025_11_25 as v
from mcp_runtime.core.transports.stdio import serve_stdio

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stubborn(v.Server):
    """Its tools never end, or end late."""

    async def list_tools(self, params: v.PaginatedRequestParams | None, ctx: v.Context) -> v.ListToolsResult:
        return v.ListToolsResult(tools=[])

    async def call_tool(self, params: v.CallToolRequestParams, ctx: v.Context) -> v.CallToolResult:
        match params.name:
            case "swallows":
                begun()
                while True:
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(3600)
            case "thread":
                await asyncio.to_thread(block)
            case "elsewhere":
                signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
                await asyncio.to_thread(receive_signals)
            case "blocks":
                block()
            case _:
                begun()
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(3600)
        return v.CallToolResult(content=[])


def begun() -> None:
    """Tell the test that the tool is about to hang."""
    print("begun", file=sys.stderr, flush=True)


def block() -> None:
    """Block a thread for longer than any test lasts."""
    begun()
    time.sleep(3600)


def receive_signals() -> None:
    """Block a thread, which receives the signals that the main thread does not: that one is not interrupted by them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    block()


if __name__ == "__main__":
    serve_stdio(Stubborn(), end_timeout=float(sys.argv[1]), grace=0.5)
    print("served")
