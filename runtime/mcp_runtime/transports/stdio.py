"""Stdio: a server as a child process, or this process as a server.

On Unix, the event loop watches the descriptors; on Windows, threads read and write them.
"""

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from mcp_runtime.transports.stdio_client import StdioClientOptions, StdioClientTransport
from mcp_runtime.transports.stdio_server import StdioServerOptions, StdioServerTransport

if TYPE_CHECKING:
    from mcp_runtime.handshake.server import AnyServer
    from mcp_runtime.peer import Peer

__all__ = [
    "StdioClientOptions",
    "StdioClientTransport",
    "StdioServerOptions",
    "StdioServerTransport",
    "connect_stdio",
    "serve_stdio",
]


@asynccontextmanager
async def connect_stdio(
    command: str | PathLike[str], *args: str | PathLike[str], **options: Unpack[StdioClientOptions]
) -> AsyncGenerator["Peer"]:
    """Reach a server that is a program, for as long as the context lasts; then it is ended with all that it started.

    The program starts when the peer is first spoken to.

    Args:
        command: the program, looked up on the PATH of its environment.
        args: its arguments.
        options: see `StdioClientOptions`.
    """
    from mcp_runtime.peer import Peer

    def start() -> StdioClientTransport:
        return StdioClientTransport(command, *args, **options)

    peer = Peer(start(), again=start)
    try:
        yield peer
    finally:
        await peer.aclose()


def serve_stdio(*servers: "AnyServer", **options: Unpack[StdioServerOptions]) -> None:
    """Serve the client that started this process, until it leaves; SIGINT and SIGTERM end it too.

    From here on, what is printed goes to standard error. Runs on uvloop if that is installed.

    Args:
        servers: one object of a generated `Server` per revision; the client's wish decides which one answers.
        options: see `StdioServerOptions`.

    Raises:
        ValueError: two servers are of the same revision, or there is none.
        ConnectionClosed: standard input or output is not open.
    """
    with asyncio.Runner(loop_factory=_loop_factory()) as runner, suppress(KeyboardInterrupt):
        runner.run(_serve(servers, options))


async def _serve(servers: tuple["AnyServer", ...], options: StdioServerOptions) -> None:
    from mcp_runtime.server import serve

    task = asyncio.current_task()
    assert task is not None
    with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    if os.isatty(options.get("stdin", 0)):
        print("waiting for an MCP client on standard input; Ctrl-D ends it", file=sys.stderr, flush=True)
    with suppress(asyncio.CancelledError):
        await serve(StdioServerTransport(**options), *servers)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
