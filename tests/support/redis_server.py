"""A redis-server for one test, which can be killed, paused, filled and restarted."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import RedisError
from redis.asyncio import Redis

from support.ports import free_port

MISSING = "redis-server is not installed; `make interop` installs it, or: apt-get install redis-server"


class RedisServer:
    """One redis-server, on a free port.

    Args:
        folder: where it may write.
        persists: whether it has its data again after it was killed.
    """

    def __init__(self, folder: Path, *, persists: bool = False) -> None:
        found = shutil.which("redis-server")
        assert found is not None, MISSING
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder = folder
        data = ("--save", "", "--dir", str(folder), "--appendonly", "yes" if persists else "no")
        self._command = (found, "--port", str(self.port), "--bind", "127.0.0.1", *data)
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        async with self.client() as redis, asyncio.timeout(40):
            while True:
                try:
                    await redis.execute_command("PING")
                    return
                except RedisError:
                    assert self._process.poll() is None, (self._folder / "log").read_text("utf-8")
                    await asyncio.sleep(0.02)

    def kill(self) -> None:
        """Kill it; its data is lost, unless it persists."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Pause it until `go_on`: connections stay open, but commands get no answer."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it continue."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    @asynccontextmanager
    async def client(self) -> AsyncGenerator[Any]:
        """Yield a client connected to it."""
        redis: Any = Redis(host="127.0.0.1", port=self.port)
        try:
            yield redis
        finally:
            await redis.aclose()

    async def fill(self) -> None:
        """Make it refuse to store more data."""
        await self._configure(b"1")

    async def empty(self) -> None:
        """Let it store data again."""
        await self._configure(b"0")

    async def _configure(self, maxmemory: bytes) -> None:
        async with self.client() as redis:
            await redis.execute_command("CONFIG", "SET", "maxmemory", maxmemory)


@asynccontextmanager
async def redis_server(*, persists: bool = False) -> AsyncGenerator[RedisServer]:
    """Run a redis-server while the context is open."""
    with tempfile.TemporaryDirectory() as folder:
        server = RedisServer(Path(folder), persists=persists)
        await server.start()
        try:
            yield server
        finally:
            server.go_on()
            server.kill()


@asynccontextmanager
async def killed(server: RedisServer) -> AsyncGenerator[None]:
    """Kill it, and start it again in the end."""
    server.kill()
    yield
    await server.start()


@asynccontextmanager
async def stopped(server: RedisServer) -> AsyncGenerator[None]:
    """Pause it."""
    server.stop()
    yield
    server.go_on()


@asynccontextmanager
async def full(server: RedisServer) -> AsyncGenerator[None]:
    """Let it refuse to store more data."""
    await server.fill()
    yield
    await server.empty()


@dataclass
class Slow:
    """A proxy of a server that holds back each answer for some seconds."""

    port: int
    delay: float = 0.0


@asynccontextmanager
async def slowed(port: int) -> AsyncGenerator[Slow]:
    """Run a proxy of the server at a port."""

    async def passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                await asyncio.sleep(slow.delay if is_answer else 0)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        with suppress(asyncio.CancelledError):
            await asyncio.gather(passed(reader, outer, is_answer=False), passed(inner, writer, is_answer=True))

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    slow = Slow(listening.sockets[0].getsockname()[1])
    yield slow
    listening.close()
