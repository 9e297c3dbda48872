"""Stdio: a server as a child process, or this process as a server.

On Unix, the event loop watches the descriptors; on Windows, threads read and write them.
"""

import asyncio
import importlib
import os
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Unpack

from mcp_runtime.transports.ending import Ending, on_signals
from mcp_runtime.transports.stdio_client import DEFAULT_GRACE, StdioClientOptions, StdioClientTransport
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
    """Start a server program and connect to it, for as long as the context lasts; then stop it and all it started.

    The program starts when the peer is first used.

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


def serve_stdio(*servers: "AnyServer", end_timeout: float = 3.0, **options: Unpack[StdioServerOptions]) -> None:
    """Serve the client that started this process, until it disconnects; SIGINT and SIGTERM end it too.

    From here on, printed output goes to standard error. Uses uvloop if that is installed.

    Args:
        servers: one object of a generated `Server` per revision; the client's choice decides which one answers.
        end_timeout: seconds that handlers have to end after that, in addition to the `grace` for queued messages; then
            the process exits with status 1.
        options: see `StdioServerOptions`.

    Raises:
        ValueError: there is no server, or two servers have the same revision.
        ConnectionClosed: standard input or output is not open.
    """
    ending = Ending(options.get("grace", DEFAULT_GRACE) + end_timeout)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner, suppress(KeyboardInterrupt):
        runner.run(_serve(servers, options, ending))
    ending.over()


async def _serve(servers: tuple["AnyServer", ...], options: StdioServerOptions, ending: Ending) -> None:
    from mcp_runtime.handshake.server import start_server

    task = asyncio.current_task()
    assert task is not None
    if os.isatty(options.get("stdin", 0)):
        print("waiting for an MCP client on standard input; Ctrl-D ends it", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    with on_signals(loop, task.cancel, partial(ending.begin, loop)), suppress(asyncio.CancelledError):
        connection = await start_server(StdioServerTransport(**options), *servers)
        connection.on_close(lambda _: ending.begin(loop))
        try:
            await connection.wait_closed()
        finally:
            await connection.aclose()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        factory: Callable[[], asyncio.AbstractEventLoop] = importlib.import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return factory
