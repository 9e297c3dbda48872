"""HTTP for the benchmarks: serves an application, and starts a program that does."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Literal

import uvicorn


async def serve(app: Callable[..., Awaitable[None]], lifespan: Literal["on", "off"] = "off") -> None:
    """Print the URL of an application, and serve it until the process ends."""
    # asyncio sends small writes at once on sockets that say they are TCP, which those of create_server do not.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(
        app, log_level="critical", lifespan=lifespan, timeout_keep_alive=3600, timeout_graceful_shutdown=1
    )
    await uvicorn.Server(config).serve([listener])


async def start(stack: AsyncExitStack, program: str) -> str:
    """Start a program that calls `serve`; return its URL."""
    process = await asyncio.create_subprocess_exec(sys.executable, program, "--http", stdout=asyncio.subprocess.PIPE)
    stack.push_async_callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()
