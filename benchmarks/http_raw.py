"""HTTP for the benchmarks: serving an application, and a client that only detects where a response ends."""

import asyncio
import json
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import uvicorn

TOKEN = 1
"""The progress token of the calls that are answered with a stream."""
_INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
_MODERN = "2026-07-28"
_META = {
    "io.modelcontextprotocol/protocolVersion": _MODERN,
    "io.modelcontextprotocol/clientInfo": _INITIALIZE["clientInfo"],
    "io.modelcontextprotocol/clientCapabilities": {},
}
_USAGE = re.compile(rb'"text":\s*"([\d.e-]+) (\d+)"')


async def serve(app: Callable[..., Awaitable[None]]) -> None:
    """Print the URL of an application, and serve it until the process ends."""
    # asyncio sends small writes at once on sockets that say they are TCP, which those of create_server do not.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(
        app, log_level="critical", lifespan="off", timeout_keep_alive=3600, timeout_graceful_shutdown=1
    )
    await uvicorn.Server(config).serve([listener])


async def start(stack: AsyncExitStack, program: str) -> str:
    """Start a program that calls `serve`; return its URL."""
    process = await asyncio.create_subprocess_exec(sys.executable, program, "--http", stdout=asyncio.subprocess.PIPE)
    stack.push_async_callback(process.wait)
    stack.callback(process.terminate)
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


class Raw:
    """A client with one connection, which has begun a session if the server has any; `tool` is what `echo` calls.

    If it is modern, it speaks 2026-07-28, in which each request is self-contained.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tool: str, *, is_modern: bool
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._tool = tool
        self._is_modern = is_modern
        self._head = ""
        self._number = 0

    async def begin(self, port: int) -> None:
        common = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n"
        self._head = f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{common}"
        if self._is_modern:
            self._head += f"mcp-protocol-version: {_MODERN}\r\nmcp-method: tools/call\r\n"
            return
        head, _ = await self._ask("initialize", _INITIALIZE)
        if session := re.search(r"mcp-session-id: *(\S+)", head, re.IGNORECASE):
            self._head += f"mcp-session-id: {session[1]}\r\nmcp-protocol-version: 2025-11-25\r\n"
        await self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def echo(self, text: str) -> str:
        token = {"progressToken": TOKEN} if self._tool == "stream" else {}
        head, _ = await self._call(self._tool, {"text": text}, token)
        assert ("event-stream" in head) == (self._tool == "stream")
        return text

    async def usage(self) -> tuple[float, int]:
        _, body = await self._call("usage", {}, {})
        found = _USAGE.search(body)
        assert found is not None
        return float(found[1]), int(found[2])

    async def _call(self, name: str, arguments: dict[str, Any], meta: dict[str, Any]) -> tuple[str, bytes]:
        meta = {**(_META if self._is_modern else {}), **meta}
        params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        return await self._ask("tools/call", params, f"mcp-name: {name}\r\n" if self._is_modern else "")

    async def _ask(self, method: str, params: dict[str, Any], headers: str = "") -> tuple[str, bytes]:
        self._number += 1
        return await self._post({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}, headers)

    async def _post(self, message: dict[str, Any], headers: str = "") -> tuple[str, bytes]:
        body = json.dumps(message).encode()
        self._writer.write(f"{self._head}{headers}content-length: {len(body)}\r\n\r\n".encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        if length := re.search(r"content-length: *(\d+)", head, re.IGNORECASE):
            return head, await self._reader.readexactly(int(length[1]))
        if "transfer-encoding" not in head.lower():
            return head, b""
        body = b""
        while size := int(await self._reader.readline(), 16):
            body += (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readline()
        return head, body


def opener(program: str, tool: str, *, is_modern: bool = False) -> Callable[[AsyncExitStack], Awaitable[Raw]]:
    """Return what starts a program and connects a raw client, whose `echo` calls a tool."""

    async def open_raw(stack: AsyncExitStack) -> Raw:
        port = int((await start(stack, program)).rsplit(":", 1)[1].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        stack.callback(writer.close)
        client = Raw(reader, writer, tool, is_modern=is_modern)
        await client.begin(port)
        return client

    return open_raw
