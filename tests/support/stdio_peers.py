"""Real processes at the other end of stdio, and checks that they leave nothing behind."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp_runtime.core.connection.transport import TransportError
from mcp_runtime.core.transports.stdio_client import StdioClientOptions, StdioClientTransport
from support.receiving import OneStream

PEERS = Path(__file__).parents[1] / "runtime" / "transports" / "peers"
RAW_PEER = (sys.executable, "-S", "-E", str(PEERS / "peer.py"))
"""A server that echoes lines and obeys commands; it uses none of our code."""
PATIENCE = 30
"""Seconds after which what a test waits for counts as missing: many times what it takes on a busy machine."""


class Collector(OneStream):
    """A receiver that records its calls, so that a test can wait for them."""

    def __init__(self) -> None:
        self.messages: list[bytes] = []
        self.refused: list[str] = []
        self.lost: list[TransportError | None] = []
        self.on_message: Callable[[bytes], None] | None = None
        self._changed = asyncio.Event()

    def receive(self, message: bytes) -> None:
        self.messages.append(message)
        self._changed.set()
        if self.on_message is not None:
            self.on_message(message)

    def refuse(self, reason: str) -> None:
        self.refused.append(reason)
        self._changed.set()

    def connection_lost(self, reason: TransportError | None) -> None:
        self.lost.append(reason)
        self._changed.set()

    async def until(self, reached: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    async def count(self, number: int) -> list[bytes]:
        """Wait until this many messages have arrived in all, and return them."""
        await self.until(lambda: len(self.messages) >= number)
        return self.messages

    async def end(self) -> TransportError | None:
        """Wait for the end, and return its reason."""
        await self.until(lambda: bool(self.lost))
        assert len(self.lost) == 1
        return self.lost[0]


class Raw:
    """A started client transport with its collector."""

    def __init__(self, transport: StdioClientTransport) -> None:
        self.transport = transport
        self.seen = Collector()

    async def ask(self, line: str) -> bytes:
        """Send a line and return the next message."""
        before = len(self.seen.messages)
        self.transport.send(line.encode())
        await self.seen.until(lambda: len(self.seen.messages) > before or bool(self.seen.lost))
        assert not self.seen.lost, self.seen.lost
        return self.seen.messages[before]


StartRaw = Callable[[StdioClientOptions], Awaitable[Raw]]
"""Starts a raw peer (the fixture `start`)."""


async def eventually(condition: Callable[[], object]) -> None:
    """Poll until a condition holds."""
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "it did not happen in time"
        await asyncio.sleep(0.005)


async def soon(awaitable: Awaitable[object], seconds: float) -> bool:
    """Whether a condition becomes true within some seconds."""
    done, _ = await asyncio.wait((asyncio.ensure_future(awaitable),), timeout=seconds)
    return bool(done)


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return _stat(pid)[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def children() -> set[int]:
    """Return our child processes, zombies included."""
    found: set[int] = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if _stat(int(name))[1] == str(os.getpid()):
                    found.add(int(name))
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def descriptors() -> dict[str, str]:
    """Return our open file descriptors and their targets."""
    found: dict[str, str] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the descriptor used to list them
            continue
    return found


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
