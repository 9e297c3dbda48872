"""Fuzzes a connection: sends hostile lines, and checks that the output is valid protocol and nothing else."""

import asyncio
import gc
import json
import logging
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from mcp_runtime.core.connection import Connection
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.memory import MemoryTransport
from soak.hostile import Hostile
from support.receiving import OneStream

VALID: Final = "valid-"
"""Begins the ids of requests that must be answered exactly once; no hostile line has such an id."""
CORPUS: Final = Path(__file__).parents[1] / "corpus"
FREED: Final = ("_Pending", "Batch", "Exchange", "Gate", "Incoming", "Outgoing", "Reply", "Request")
"""What a connection makes per message and must let go."""
KEPT: Final = (*FREED, "Task", "TimerHandle")
"""What must not become more and more: the event loop keeps some of its own."""

Answer = Callable[[dict[str, Any]], Sequence[bytes]]
"""Answers a request of the connection under fire."""


def honest(revision: str, *directions: str) -> list[dict[str, Any]]:
    """Return valid requests and notifications of a revision, by the methods' names."""
    cases = [case for file in sorted(CORPUS.glob("*.json")) for case in json.loads(file.read_text("utf-8"))]
    wanted = [c for c in cases if c["kind"] in ("request", "notification") and revision in c["accepted"]]
    return [c["message"] for c in wanted if c["method"] is not None and c["method"].startswith(directions)]


class Peer(OneStream):
    """The peer: sends lines, and counts the responses.

    Attributes:
        answers: how often each valid request was answered.
        wrong: received lines that violate the protocol.
    """

    def __init__(self, transport: MemoryTransport, answer: Answer, *, batches: bool) -> None:
        self.transport = transport
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.lost = False
        self._answer = answer
        self._batches = batches

    def receive(self, message: bytes) -> None:
        value = json.loads(message)
        if is_array(value) and value and self._batches:
            for part in value:
                self._take(part)
        else:
            self._take(value)

    def refuse(self, reason: str) -> None:
        self.wrong.append(reason)

    def connection_lost(self, reason: Exception | None) -> None:
        self.lost = True

    def _take(self, value: Any) -> None:
        if fault := what_is_wrong(value):
            self.wrong.append(f"{fault}: {json.dumps(value)[:300]}")
        elif "method" not in value:
            id_ = value.get("id")
            if isinstance(id_, str) and id_.startswith((VALID, "ping-")):
                self.answers[id_] += 1
        elif "id" in value:
            for line in self._answer(value):
                self.transport.send(line)


def what_is_wrong(value: Any) -> str:
    """Return why a parsed line is not a JSON-RPC message, empty if it is one."""
    if not is_object(value) or value.get("jsonrpc") != "2.0":
        return "no message"
    if "method" in value:
        return "" if isinstance(value["method"], str) and "result" not in value and "error" not in value else "no call"
    if ("result" in value) == ("error" in value):
        return "no answer"
    # An error response to an unreadable message has no id, or null.
    allowed = (int, str) if "result" in value else (int, str, type(None))
    return "" if type(value.get("id")) in allowed else "no id"


class Fire:
    """Sends blocks of lines to a connection, and checks after each that nothing is lost or left open.

    Args:
        connection: the connection to test.
        peer: sends to it.
    """

    def __init__(self, connection: Connection, peer: Peer) -> None:
        self.connection = connection
        self.peer = peer
        self._tasks = len(asyncio.all_tasks())
        self._pings = 0

    async def block(self, lines: Sequence[bytes], patience: float = 60) -> None:
        """Send lines, and wait up to this many seconds until they are handled.

        Raises:
            AssertionError: a check failed.
        """
        self.peer.answers.clear()
        for number, line in enumerate(lines):
            self.peer.transport.send(line)
            if number % 20 == 19:
                await asyncio.sleep(0)
        await self._until_quiet(patience)
        owed = {id_ for line in lines for id_ in valid_ids(line)}
        assert self.connection.closed_because is None, f"closed: {self.connection.closed_because}"
        assert not self.peer.wrong, self.peer.wrong[:3]
        await self.is_alive()
        answers = self.peer.answers
        assert not owed - answers.keys(), f"not answered: {sorted(owed - answers.keys())[:5]}"
        assert max(answers.values(), default=1) == 1, f"answered more than once: {answers.most_common(3)}"
        assert len(asyncio.all_tasks()) <= self._tasks, "tasks are left"

    async def is_alive(self) -> None:
        """Check that the connection still works.

        Raises:
            AssertionError: it does not.
        """
        self._pings += 1
        ping = f"ping-{self._pings}"
        self.peer.transport.send(request(ping, "ping"))
        await asyncio.sleep(0)
        assert self.peer.answers[ping] == 1, "ping is not answered"

    async def _until_quiet(self, patience: float) -> None:
        deadline = asyncio.get_running_loop().time() + patience
        while self.connection.open_requests or len(asyncio.all_tasks()) > self._tasks:
            assert asyncio.get_running_loop().time() < deadline, f"{self.connection.open_requests} requests stay open"
            await asyncio.sleep(0.001)


def request(id_: str, method: str, params: dict[str, Any] | None = None) -> bytes:
    message = {"jsonrpc": "2.0", "id": id_, "method": method} | ({} if params is None else {"params": params})
    return json.dumps(message).encode()


def valid_ids(line: bytes) -> set[str]:
    """Return the ids of the valid requests in a line."""
    if VALID.encode() not in line:
        return set()
    value = json.loads(line)
    return {part["id"] for part in (value if is_array(value) else [value]) if "id" in part}


def blocks(hostile: Hostile, valid: Callable[[str], bytes], count: int, size: int = 1000) -> Iterator[list[bytes]]:
    """Make blocks of hostile lines, with a valid request after about every eighth; ids are unique."""
    number = 0
    for _ in range(count):
        lines: list[bytes] = []
        while len(lines) < size:
            lines += hostile.lines()
            if hostile.random.random() < 1 / 8:
                number += 1
                lines.append(valid(f"{VALID}{number}"))
        yield lines[:size]


def census() -> Counter[str]:
    """Count the live objects of the kinds that a connection creates per message."""
    gc.collect()
    return Counter(name for item in gc.get_objects() if (name := type(item).__name__) in KEPT)


def resident(pid: int | str = "self") -> int:
    """Return the memory of a process in KB."""
    return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@contextmanager
def silent() -> Generator[None]:
    """Keep log records about faulty peers and handlers out of memory."""
    log = logging.getLogger("mcp_runtime")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(before)
