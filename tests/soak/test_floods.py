"""Floods between real processes: the memory, time, log and responses that a peer can cause are bounded."""

import asyncio
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from soak.flooding import Flood, call, flooded, request
from soak.scale import scaled
from support.stdio_peers import eventually

pytestmark = [pytest.mark.soak, pytest.mark.timeout(scaled(120, 3600)), pytest.mark.usefixtures("nothing_left")]

PEERS = Path(__file__).parents[1] / "runtime" / "transports" / "peers"
TEXT = "x" * 400_000
HELD_MB = 256
"""`Limits.max_bytes` and `max_unread_bytes`."""
LOG = 100_000
"""The maximum size of the log in bytes: 50 tracebacks at once ..."""
LOG_PER_SECOND = 5_000
"""... and 10 lines per second, with the summaries of omitted ones."""


@contextmanager
def within(flood: Flood, seconds: float) -> Generator[None]:
    """Fail if the server needs more processor time."""
    before = flood.cpu_seconds
    yield
    used = flood.cpu_seconds - before
    assert used < seconds, f"{used:.1f} s"


async def unharmed(flood: Flood, *, megabytes: int, log: int = LOG) -> None:
    """Check that the server answers, and that its memory and log stayed within bounds."""
    assert "result" in await flood.ask("unharmed", "ping")
    log += int(LOG_PER_SECOND * flood.seconds)
    print(f"memory +{flood.grown} MB, log {flood.logged} bytes, {flood.messages} messages of {flood.received} bytes")
    assert flood.grown <= megabytes, f"memory grew by {flood.grown} MB"
    assert flood.logged <= log, flood.log[-2000:]


async def test_arguments_that_are_expensive_to_validate() -> None:
    items = list(range(scaled(100_000, 1_000_000)))
    async with flooded() as flood:
        await flood.hello()
        with within(flood, 10):
            answer = await flood.ask("call", "tools/call", {"name": "unique", "arguments": {"items": items}})
        assert "result" in answer or "error" in answer
        await unharmed(flood, megabytes=scaled(120, 1_000))


async def test_large_requests_that_wait() -> None:
    """The long version sends 4 GB."""
    async with flooded() as flood:
        await flood.hello()
        await flood.send(call(i, "wait", text=TEXT) for i in range(scaled(900, 10_000)))
        await unharmed(flood, megabytes=HELD_MB + 60)
        refused = sum("error" in answer for answer in flood.answers.values())
        assert refused >= scaled(200, 9_500)


async def test_answers_to_a_client_that_stopped_reading() -> None:
    number, size = scaled(300, 10_000), 1_000_000
    async with flooded() as flood:
        await flood.hello()
        flood.stop_reading()
        await flood.send(call(i, "large", size=size) for i in range(number))
        await asyncio.sleep(2)
        assert flood.grown <= 60, f"memory grew by {flood.grown} MB"
        flood.read_on()
        for i in range(number):
            assert "result" in await flood.answer(i)
            flood.answers[i] = None
        await unharmed(flood, megabytes=60)


async def test_a_message_with_a_million_errors() -> None:
    items = b",".join([b"{}"] * scaled(1_000_000, 4_000_000))
    line = b'{"jsonrpc":"2.0","id":"bad","method":"completion/complete","params":{"ref":[' + items + b"]}}"
    names = b'{"jsonrpc":"2.0","id":"worse","method":"tools/call","params":{"name":[%b],"task":[%b]}}' % (items, items)
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(15, 120)):
            await flood.send([line, names])
            assert "error" in await flood.answer("worse")
            await unharmed(flood, megabytes=scaled(300, 3_000))


@pytest.mark.parametrize("junk", [b"x", b'{"jsonrpc":"2.0","id":1,"result":{}}'])
async def test_junk(junk: bytes) -> None:
    number = scaled(60_000, 2_000_000)
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(30, 1_000)):
            await flood.send(junk for _ in range(number))
            await unharmed(flood, megabytes=30)
        assert flood.messages <= number + 10
        assert "more messages about this connection were omitted" in flood.log


async def test_the_end_of_a_server_whose_handlers_do_not_end() -> None:
    """With many handlers at once; test_stdio_ending tries each way to end."""
    async with flooded(PEERS / "stubborn.py", "1") as flood:
        await flood.hello()
        await flood.send(call(i, "thread") for i in range(500))
        await eventually(lambda: "begun" in flood.log)
        flood.process.send_signal(signal.SIGTERM)
        assert await flood.process.wait() == 1


async def test_huge_ids() -> None:
    ids = [f"{number}{TEXT}" for number in range(scaled(100, 2_000))]
    async with flooded() as flood:
        await flood.hello()
        await flood.send(call(id_, "wait") for id_ in ids)
        await flood.send(request(id_, "no such method") for id_ in ids)
        await flood.send(request(1, "tools/call", {"name": id_, "arguments": {}}) for id_ in ids)
        await unharmed(flood, megabytes=HELD_MB + 100)


async def test_a_client_that_leaves_without_reading() -> None:
    async with flooded() as flood:
        await flood.hello()
        flood.stop_reading()
        await flood.send(call(i, "large", size=100_000) for i in range(500))
        await flood.leave(reads=False)
