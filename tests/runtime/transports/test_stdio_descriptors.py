"""Each way to read and write, by polling and by threads, at the server's end and within one process."""

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest

from mcp_runtime.core.transports import pipes
from mcp_runtime.core.transports.pipes import HIGH_WATER, LineWriter, line_writer
from mcp_runtime.core.transports.reader import ByteReader
from mcp_runtime.core.transports.stdio import StdioServerTransport
from support.stdio_peers import Collector, soon

pytestmark = pytest.mark.usefixtures("nothing_left")


@dataclass
class Wires:
    """The descriptors that the transport reads and writes, and the test's ends of both."""

    stdin: int
    stdout: int
    to: int
    back: int

    def hang_up(self) -> None:
        os.close(self.to)
        self.to = -1

    async def write(self, data: bytes) -> None:
        assert await asyncio.to_thread(os.write, self.to, data) == len(data)

    async def read(self, size: int) -> bytes:
        found = b""
        while len(found) < size and (data := await asyncio.to_thread(os.read, self.back, size - len(found))):
            found += data
        return found


def not_reopened(fd: int, *, writing: bool) -> None:
    """Simulate a system without /proc."""


def in_threads(fd: int, *, writing: bool) -> pipes.Descriptor:
    """Simulate Windows."""
    return pipes.Descriptor(
        fd=fd, pollable=False, read=partial(os.read, fd, 4096), write=partial(os.write, fd), close=partial(os.close, fd)
    )


@pytest.fixture(params=["pipes", "sockets", "pipes without /proc", "threads"])
def wires(nothing_left: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Wires]:
    if request.param == "sockets":
        (a, b), (c, d) = socket.socketpair(), socket.socketpair()
        wires = Wires(a.detach(), d.detach(), b.detach(), c.detach())
    else:
        (r_in, w_in), (r_out, w_out) = os.pipe(), os.pipe()
        wires = Wires(r_in, w_out, w_in, r_out)
    if request.param == "pipes without /proc":
        monkeypatch.setattr(pipes, "_reopened", not_reopened)
    if request.param == "threads":
        monkeypatch.setattr(pipes, "adopt", in_threads)
    yield wires
    for fd in {wires.to, wires.back} - {-1}:
        os.close(fd)


async def started(wires: Wires) -> tuple[StdioServerTransport, Collector]:
    transport, seen = StdioServerTransport(stdin=wires.stdin, stdout=wires.stdout, grace=0.2), Collector()
    await transport.start(seen)
    return transport, seen


async def test_it_carries_messages_both_ways_and_ends_with_its_input(wires: Wires) -> None:
    transport, seen = await started(wires)
    await wires.write(b"1\n2\n3")
    assert await seen.count(2) == [b"1", b"2"]
    transport.send(b"answer")
    transport.send(b"x" * 50_000)
    assert await wires.read(50_008) == b"answer\n" + b"x" * 50_000 + b"\n"
    await wires.write(b"\n")
    wires.hang_up()
    assert await seen.end() is None
    assert seen.messages == [b"1", b"2", b"3"]
    await transport.close()
    assert await wires.read(1) == b""


async def test_a_pause_holds_everything_even_the_end(wires: Wires) -> None:
    transport, seen = await started(wires)
    seen.on_message = lambda _: transport.pause_reading()
    await wires.write(b"1\n2\n")
    await seen.count(1)
    await wires.write(b"3\n")
    wires.hang_up()
    for number in (1, 2, 3):
        await seen.count(number)
        await asyncio.sleep(0.02)
        assert (len(seen.messages), seen.lost) == (number, [])
        transport.resume_reading()
    assert await seen.end() is None
    assert seen.messages == [b"1", b"2", b"3"]
    await transport.close()


async def test_a_client_that_never_reads_makes_drain_wait(wires: Wires) -> None:
    transport, seen = await started(wires)
    transport.send(b"x" * 4 * HIGH_WATER)
    waiting = asyncio.ensure_future(transport.drain())
    assert not await soon(asyncio.shield(waiting), 0.05)
    assert len(await wires.read(4 * HIGH_WATER)) == 4 * HIGH_WATER
    await asyncio.wait_for(waiting, 30)
    wires.hang_up()
    await seen.end()
    await transport.close()


async def test_a_client_that_no_longer_reads_is_lost(wires: Wires) -> None:
    transport, seen = await started(wires)
    os.close(wires.back)
    wires.back = -1
    transport.send(b"into the void")
    assert "cannot write to the client: " in str(await seen.end())
    wires.hang_up()
    await transport.close()
    assert len(seen.lost) == 1


async def test_closing_writes_queued_messages_and_reports_the_end_once(wires: Wires) -> None:
    transport, seen = await started(wires)
    transport.send(b"last")
    await asyncio.gather(transport.close(), transport.close())
    assert seen.lost == [None]
    assert await wires.read(6) == b"last\n"
    transport.send(b"dropped without a word")
    wires.hang_up()
    await transport.close()


async def test_closing_does_not_wait_forever_for_a_client_that_never_reads(wires: Wires) -> None:
    transport, seen = await started(wires)
    transport.send(b"x" * 4 * HIGH_WATER)
    await asyncio.wait_for(transport.close(), 30)
    assert seen.lost == [None]
    os.close(wires.back)  # a thread that is inside a write is free again
    wires.back = -1
    wires.hang_up()
    await transport.close()


def counted(fd: int, writes: list[bytes]) -> LineWriter:
    """A writer that records each write."""

    def write(data: bytes | memoryview) -> int:
        writes.append(bytes(data))
        return os.write(fd, data)

    def fail(error: OSError) -> None:
        raise error

    return line_writer(replace(pipes.of_pipe(fd, partial(os.close, fd)), write=write), fail)


async def test_messages_sent_in_one_turn_are_written_together() -> None:
    r, w = os.pipe()
    writes: list[bytes] = []
    writer = counted(w, writes)
    for turn in (1, 2):
        for i in range(100):
            writer.send(b"%d" % i)
        await asyncio.sleep(0)
        assert writes == [b"".join(b"%d\n" % i for i in range(100))] * turn
    writer.close()
    os.close(r)


async def test_the_answer_to_a_single_message_is_written_at_once() -> None:
    r, w = os.pipe()
    writes: list[bytes] = []
    writer = counted(w, writes)
    writer.hurry()
    writer.send(b"answer")
    assert writes == [b"answer\n"]
    writer.send(b"more")
    writer.send(b"and more")
    await asyncio.sleep(0)
    assert writes == [b"answer\n", b"more\nand more\n"]
    writer.close()
    os.close(r)


async def test_duplicates_of_the_descriptors_stay_blocking(wires: Wires) -> None:
    theirs = [os.dup(wires.stdin), os.dup(wires.stdout)]
    transport, seen = await started(wires)
    wires.hang_up()
    await seen.end()
    await transport.close()
    assert all(map(os.get_blocking, theirs))
    for fd in theirs:
        os.close(fd)


async def test_timers_run_between_slow_deliveries() -> None:
    """Full reads of many short lines, as from a server that prints endlessly: timers run between them."""
    reading, writing = os.pipe()
    delivered: list[bytes] = []

    def deliver(data: bytes) -> None:
        delivered.append(data)
        time.sleep(0.03)
        os.write(writing, data)

    reader = ByteReader(pipes.of_pipe(reading, lambda: os.close(reading)), deliver, lambda _: None)
    os.write(writing, b"y\n" * (pipes.READ_BYTES // 2))
    reader.resume()
    await asyncio.sleep(0.01)
    reader.close()
    os.close(writing)
    assert 0 < len(delivered) < 4
