"""Changes that reach the clients of other processes: here several server objects of one process, joined in memory."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager

import pytest

from mcp_runtime.cluster import fan_out as fan_outs
from mcp_runtime.cluster.fan_out import MemoryFanOut
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.handshake.server import start_server
from support.channels import Stream, Streams
from support.talk import of_sender
from support.workers import EVERYTHING, URI, Workers, modern_server, started

pytestmark = pytest.mark.usefixtures("virtual_time")


@pytest.fixture
async def workers(request: pytest.FixtureRequest) -> AsyncGenerator[Workers]:
    async with started(getattr(request, "param", "modern")) as started_workers:
        yield started_workers


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_outs, "PAUSES", (0.01, 0.05))
    monkeypatch.setattr(fan_outs, "TIMEOUT", 0.2)


@contextmanager
def logged(caplog: pytest.LogCaptureFixture) -> Generator[list[str]]:
    """Collect what is logged of fan-outs."""
    lines: list[str] = []
    yield lines
    lines += [record.getMessage() for record in caplog.records if "process" in record.getMessage()]


@pytest.mark.parametrize("workers", ["legacy", "modern"], indirect=True)
async def test_a_change_reaches_the_clients_of_all_workers_once(workers: Workers) -> None:
    fan_out = MemoryFanOut()
    one, two, three = [await workers.start(fan_out) for _ in range(3)]
    assert await resource_updated(one.server, f"{URI}/b") == 1, "those that were told here are counted"
    assert await list_changed(two.server, "tools") == 1
    await asyncio.sleep(0.05)
    expected = Counter({f"resources/updated {URI}/b": 1, "tools/list_changed": 1})
    assert [worker.changes() for worker in (one, two, three)] == [expected] * 3


async def test_servers_with_different_names_ignore_each_others_changes(workers: Workers) -> None:
    fan_out = MemoryFanOut()
    one, other = await workers.start(fan_out), await workers.start(fan_out, "archive")
    await list_changed(one.server, "tools")
    await asyncio.sleep(0.05)
    assert (one.changes().total(), other.changes().total()) == (1, 0)


class Unreliable(MemoryFanOut):
    """Fails as it is told to.

    Attributes:
        error: what publishing raises; `TimeoutError` makes it take forever.
    """

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    async def publish(self, message: bytes) -> None:
        if isinstance(self.error, TimeoutError):
            await asyncio.sleep(1000)
        if self.error is not None:
            raise self.error
        await super().publish(message)

    async def messages(self) -> AsyncGenerator[bytes | None]:
        async for message in super().messages():
            if message == b"break":
                raise ConnectionResetError("cut")
            yield message


@pytest.mark.parametrize("error", [ConnectionError("no route"), TimeoutError()], ids=["raises", "hangs"])
async def test_changes_that_cannot_be_published_are_kept_and_delay_no_handler(
    workers: Workers, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    fan_out = Unreliable()
    with logged(caplog) as lines:
        one, two = await workers.start(fan_out), await workers.start(fan_out)
        fan_out.error = error
        async with asyncio.timeout(0.1):
            for _ in range(3):
                assert await resource_updated(one.server, URI) == 1
        await asyncio.sleep(0.4)
        assert two.changes().total() == 0
        fan_out.error = None
        async with asyncio.timeout(2):
            while not two.changes():
                await asyncio.sleep(0.01)
    assert two.changes() == {f"resources/updated {URI}": 1}
    assert [line.partition(":")[0] for line in lines] == [
        "cannot publish changes to other processes, keeping them",
        "publishing changes to other processes again",
    ]


async def test_too_many_waiting_changes_become_a_change_of_everything(workers: Workers) -> None:
    fan_out = Unreliable()
    one, two = await workers.start(fan_out), await workers.start(fan_out)
    fan_out.error = ConnectionError()
    for number in range(fan_outs.MAX_UNPUBLISHED + 50):
        await resource_updated(one.server, f"{URI}/{number}")
    await resource_updated(one.server, f"{URI}/{'x' * 10_000}")
    fan_out.error = None
    await asyncio.sleep(0.2)
    assert set(two.changes()) == {f"resources/updated {URI}", "resources/list_changed", "tools/list_changed"}


async def test_after_an_interruption_everything_may_have_changed(
    workers: Workers, caplog: pytest.LogCaptureFixture
) -> None:
    fan_out = Unreliable()
    with logged(caplog) as lines:
        worker = await workers.start(fan_out)
        await fan_out.publish(b"break")
        await asyncio.sleep(0.1)
    assert worker.changes() == EVERYTHING
    assert lines == [
        "not receiving changes from other processes: ConnectionResetError: cut",
        "receiving changes from other processes again; clients are notified that all may have changed",
    ]


async def test_a_slow_worker_is_notified_that_everything_may_have_changed(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fan_outs, "MAX_WAITING", 10)
    fan_out = MemoryFanOut()
    one, two = await workers.start(fan_out), await workers.start(fan_out)
    for number in range(40):
        await fan_out.publish(json.dumps(["x", "nobody", "tools", str(number)]).encode())
    await asyncio.sleep(0.05)
    assert one.changes() == two.changes() and "tools/list_changed" in two.changes()


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\xff",
        b"[" * 1000,
        b"{}",
        b'["x", "NAME", "tools"]',
        b'["x", "NAME", "tools", "file:///a"]',
        b'["x", "NAME", "planets", ""]',
        b'["x", "NAME", "resource", ""]',
        b'["x", "NAME", "resource", 1]',
        b'["x", "NAME", "resource", "file:///a/' + b"x" * 9_000 + b'"]',
        b'["x", "NAME", "tools", ""' + b" " * 70_000 + b"]",
    ],
    ids=lambda message: message[:40].decode("latin-1"),
)
async def test_foreign_messages_are_ignored(workers: Workers, message: bytes, caplog: pytest.LogCaptureFixture) -> None:
    fan_out = MemoryFanOut()
    with logged(caplog) as lines:
        worker = await workers.start(fan_out)
        name = f"library {worker.server.__binding__.revision}".encode()
        for _ in range(3):
            await fan_out.publish(message.replace(b"NAME", name))
        await asyncio.sleep(0.02)
        assert worker.changes().total() == 0
        await fan_out.publish(b'["x", "NAME", "tools", ""]'.replace(b"NAME", name))
        await asyncio.sleep(0.02)
        assert worker.changes() == {"tools/list_changed": 1}
    assert len(lines) == 1 and len(lines[0]) < 300


async def test_a_listener_that_does_not_read_delays_no_other() -> None:
    server = modern_server(MemoryFanOut())

    class Deaf(Stream):
        async def drain(self) -> None:
            if len(self.got) > 1:
                await asyncio.sleep(1000)

    streams = Streams()
    connection = await start_server(streams, server)
    params = {"_meta": of_sender("2026-07-28", {}), "notifications": {"resourceSubscriptions": [URI]}}
    deaf, good = Deaf(), Stream()
    for number, channel in enumerate((deaf, good)):
        streams.deliver(channel, id=number, method="subscriptions/listen", params=params)
    await asyncio.sleep(0.05)
    async with asyncio.timeout(1):
        for number in range(20):
            assert await resource_updated(server, f"{URI}/{number}") == 2
    assert (len(deaf.got), len(good.got)) == (2, 21)
    await connection.aclose()


@pytest.mark.parametrize(("number", "kept"), [(10_000, "all"), (10_001, "none"), (10_002, "last"), (15_000, "last")])
async def test_a_reader_that_is_over_10_000_messages_behind_misses_them(number: int, kept: str) -> None:
    fan_out = MemoryFanOut()
    slow, quick = fan_out.messages(), fan_out.messages()
    assert (await anext(slow), await anext(quick)) == (None, None)
    messages = [b"%d" % each for each in range(number)]
    for message in messages:
        await fan_out.publish(message)
        assert await anext(quick) == message
    expected: dict[str, list[bytes | None]] = {"all": [*messages], "none": [None], "last": [None, *messages[10_001:]]}
    async with asyncio.timeout(10):
        assert [await anext(slow) for _ in expected[kept]] == expected[kept]
        await fan_out.publish(b"end")
        assert await anext(slow) == b"end"
    await slow.aclose()
    await quick.aclose()
