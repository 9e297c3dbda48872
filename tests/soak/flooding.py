"""A client without the runtime that floods a server process, and measures the cost."""

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from mcp_runtime.core.json.values import is_array

SERVER = Path(__file__).with_name("flood_server.py")
_PIECE = 1 << 18
PATIENCE = 100
"""Seconds to wait for a response or for the end of the server, on a busy machine."""


class Flood:
    """One server under fire.

    Attributes:
        answers: what the server sent, except for `ignored`, by id; messages without an id are under None.
        messages: how many messages it sent.
        received: how many bytes those were.
    """

    def __init__(self, process: asyncio.subprocess.Process, log: IO[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin, self._stdout, self._log = process.stdin, process.stdout, log
        self.answers: dict[Any, Any] = {}
        self.messages = 0
        self.received = 0
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._arrived = asyncio.Event()
        self._reading = asyncio.create_task(self._read())
        self._begin = self.memory
        self._begun = time.monotonic()

    async def hello(self) -> None:
        """Do the handshake; memory and log are measured from then on."""
        info = {"name": "x", "version": "0"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        await self.ask("hello", "initialize", hello)
        await self.send([b'{"jsonrpc":"2.0","method":"notifications/initialized"}'])
        await self.ask("first", "ping")
        self._begin = self.memory

    async def send(self, lines: Iterable[bytes]) -> None:
        """Send lines as fast as the server reads them."""
        waiting: list[bytes] = []
        size = 0
        for line in lines:
            waiting.append(line)
            size += len(line)
            if size > _PIECE:
                self._stdin.write(b"\n".join((*waiting, b"")))
                waiting, size = [], 0
                await self._stdin.drain()
        self._stdin.write(b"\n".join((*waiting, b"")))
        await self._stdin.drain()

    async def ask(self, id_: Any, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request, and wait for its response."""
        await self.send([request(id_, method, params)])
        return await self.answer(id_)

    async def answer(self, id_: Any) -> Any:
        """Wait for the response to a request."""
        async with asyncio.timeout(PATIENCE):
            while id_ not in self.answers:
                self._arrived.clear()
                await self._arrived.wait()
        return self.answers[id_]

    def stop_reading(self) -> None:
        """Stop reading the server's output."""
        self._may_read.clear()

    def read_on(self) -> None:
        """Resume reading."""
        self._may_read.set()

    @property
    def memory(self) -> dict[str, int]:
        """The current and the peak memory of the server process, in KB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text("utf-8").splitlines()
        return {name: int(line.split()[1]) for line in lines if (name := line.partition(":")[0]) in ("VmRSS", "VmHWM")}

    @property
    def grown(self) -> int:
        """The largest growth of the server's memory, in MB."""
        return (self.memory["VmHWM"] - self._begin["VmRSS"]) // 1024

    @property
    def seconds(self) -> float:
        """How long the flood has lasted, in seconds."""
        return time.monotonic() - self._begun

    @property
    def cpu_seconds(self) -> float:
        """The processor time that the server has used, in seconds; other processes do not affect it much."""
        user, system = Path(f"/proc/{self.process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    @property
    def logged(self) -> int:
        """How many bytes the server has written to its log."""
        return self._log.seek(0, 2)

    @property
    def log(self) -> str:
        """The text of the server's log."""
        self._log.seek(0)
        return self._log.read().decode("utf-8", "replace")

    async def leave(self, *, reads: bool = True) -> int:
        """Close the server's input, and read the rest of its output or not; returns its exit status."""
        self._stdin.close()
        if reads:
            self.read_on()
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()

    async def end(self) -> None:
        """End the server, by force if needed."""
        self._reading.cancel()
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()
        # The pipes are closed in the next turns of the event loop.
        self._stdin.close()
        await asyncio.sleep(0.05)

    async def _read(self) -> None:
        while await self._may_read.wait():
            line = await self._stdout.readline()
            if not line:
                return
            self.received += len(line)
            self.messages += 1
            value: Any = json.loads(line)
            for part in value if is_array(value) else [value]:
                if "method" not in part:
                    self.answers[part.get("id")] = part
            self._arrived.set()


@asynccontextmanager
async def flooded(*command: str | Path) -> AsyncGenerator[Flood]:
    """Start a server, by default `flood_server.py`, and end it in any case."""
    pipe = asyncio.subprocess.PIPE
    given = [str(part) for part in command or (SERVER,)]
    with TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *given, stdin=pipe, stdout=pipe, stderr=log, limit=1 << 27
        )
        flood = Flood(process, log)
        try:
            yield flood
        finally:
            await flood.end()


def request(id_: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
    """Write a request."""
    return json.dumps(
        {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else {"params": params})
    ).encode()


def call(id_: Any, tool: str, **arguments: Any) -> bytes:
    """Write a call of a tool."""
    return request(id_, "tools/call", {"name": tool, "arguments": arguments})
