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
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'


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


async def test_a_batch_of_invalid_messages() -> None:
    async with flooded() as flood:
        await flood.hello("2025-03-26")
        before = flood.messages
        with within(flood, 10):
            await flood.send([b"[" + b",".join([b"1"] * scaled(500_000, 5_000_000)) + b"]"])
            await unharmed(flood, megabytes=scaled(60, 300), log=2_000)
        assert flood.messages - before == 2


async def test_notifications_whose_handlers_do_not_end() -> None:
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(40, 600)):
            await flood.send(CHANGED for _ in range(scaled(200_000, 2_000_000)))
            await unharmed(flood, megabytes=40)


async def test_large_notifications_whose_handlers_do_not_end() -> None:
    large = CHANGED[:-1] + b',"params":{"_meta":{"x":"' + TEXT.encode() + b'"}}}'
    async with flooded() as flood:
        await flood.hello()
        await flood.send(large for _ in range(scaled(1_500, 10_000)))
        await unharmed(flood, megabytes=HELD_MB + 60)


async def test_subscriptions() -> None:
    number = scaled(15_000, 200_000)
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(40, 600)):
            for begin in range(0, number, 1_000):
                ids = range(begin, begin + 1_000)
                await flood.send(request(i, "resources/subscribe", {"uri": f"file:///{i}"}) for i in ids)
                await flood.answer(begin + 999)
        assert sum("result" in flood.answers[i] for i in range(number)) == 10_000
        await unharmed(flood, megabytes=60)


async def test_large_requests_that_wait() -> None:
    """The long version sends 4 GB."""
    async with flooded() as flood:
        await flood.hello()
        await flood.send(call(i, "wait", text=TEXT) for i in range(scaled(1_500, 10_000)))
        await unharmed(flood, megabytes=HELD_MB + 60)
        refused = sum("error" in answer for answer in flood.answers.values())
        assert refused >= scaled(1_000, 9_500)


async def test_answers_to_a_client_that_stopped_reading() -> None:
    number, size = scaled(1_000, 10_000), 1_000_000
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


async def test_results_of_tasks_that_nobody_fetches() -> None:
    number = scaled(300, 1_000)
    async with flooded() as flood:
        await flood.hello()
        for i in range(number):
            await flood.send([call(i, "large", task=True, size=2_000_000)])
            await flood.answer(i)
        await unharmed(flood, megabytes=HELD_MB)


async def test_arguments_of_tasks_that_do_not_end() -> None:
    async with flooded() as flood:
        await flood.hello()
        for i in range(scaled(900, 990)):
            await flood.send([call(i, "wait", task=True, text=TEXT)])
            await flood.answer(i)
        await unharmed(flood, megabytes=HELD_MB + 60)


async def test_repairs_are_forgotten() -> None:
    async with flooded() as flood:
        await flood.hello()
        lines = (
            request(i, "tools/call", {"name": "large", "arguments": {}, "task": None, f"{i}{TEXT[:10_000]}": None})
            for i in range(scaled(5_000, 100_000))
        )
        await flood.send(lines)
        await unharmed(flood, megabytes=60)


@pytest.mark.parametrize("bad", [b"1", b"null", b"{}"])
async def test_a_message_with_a_million_errors(bad: bytes) -> None:
    items = b",".join([bad] * scaled(1_000_000, 4_000_000))
    line = b'{"jsonrpc":"2.0","id":"bad","method":"completion/complete","params":{"ref":[' + items + b"]}}"
    names = b'{"jsonrpc":"2.0","id":"worse","method":"tools/call","params":{"name":[%b],"task":[%b]}}' % (items, items)
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(15, 120)):
            await flood.send([line, names])
            assert "error" in await flood.answer("worse")
            await unharmed(flood, megabytes=scaled(300, 3_000))


@pytest.mark.parametrize("junk", [b"x", b"{}", b"[]", b"[1]", b'{"jsonrpc":"2.0","id":1,"result":{}}'])
async def test_junk(junk: bytes) -> None:
    number = scaled(60_000, 2_000_000)
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(30, 1_000)):
            await flood.send(junk for _ in range(number))
            await unharmed(flood, megabytes=30)
        assert flood.messages <= number + 10
        assert "more messages about this connection were omitted" in flood.log


async def test_requests_that_fail() -> None:
    number = scaled(5_000, 100_000)
    async with flooded() as flood:
        await flood.hello()
        await flood.send(call(i, "fail") for i in range(number))
        for i in range(number):
            assert "error" in await flood.answer(i)
        await unharmed(flood, megabytes=60, log=200_000)


async def test_tasks_can_be_cancelled_while_many_requests_wait_for_them() -> None:
    async with flooded() as flood:
        await flood.hello()
        await flood.send([call("task", "wait", task=True)])
        task = (await flood.answer("task"))["result"]["task"]["taskId"]
        await flood.send(request(i, "tasks/result", {"taskId": task}) for i in range(scaled(300, 100_000)))
        with within(flood, 5):
            cancelled = await flood.ask("cancel", "tasks/cancel", {"taskId": task})
        assert cancelled["result"]["status"] == "cancelled"
        assert "error" in await flood.answer(0)
        await unharmed(flood, megabytes=40)


@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("tool", ["swallows", "thread"])
async def test_the_end_of_a_server_whose_handlers_do_not_end(tool: str, how: signal.Signals | None) -> None:
    async with flooded(PEERS / "stubborn.py", "1") as flood:
        await flood.hello()
        await flood.send(call(i, tool) for i in range(500))
        await eventually(lambda: "begun" in flood.log)
        if how is None:
            assert await flood.leave() == 1
        else:
            flood.process.send_signal(how)
            assert await flood.process.wait() == 1


async def test_huge_ids() -> None:
    ids = [f"{number}{TEXT}" for number in range(scaled(200, 2_000))]
    async with flooded() as flood:
        await flood.hello()
        await flood.send(call(id_, "wait") for id_ in ids)
        await flood.send(request(id_, "no such method") for id_ in ids)
        await flood.send(request(1, "tools/call", {"name": id_, "arguments": {}}) for id_ in ids)
        await unharmed(flood, megabytes=HELD_MB + 100)


async def test_progress_and_cancellations_of_unknown_requests() -> None:
    number = scaled(50_000, 2_000_000)
    lines = (
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}',
    )
    async with flooded() as flood:
        await flood.hello()
        await flood.send(lines[i % 2] % i for i in range(number))
        await unharmed(flood, megabytes=30)


async def test_deeply_nested_json() -> None:
    deep = [opening * scaled(2_000_000, 20_000_000) for opening in (b"[", b'{"a":', b'[{"":')]
    async with flooded() as flood:
        await flood.hello()
        with within(flood, scaled(10, 60)):
            await flood.send(deep)
            await unharmed(flood, megabytes=scaled(80, 800))


async def test_requests_that_are_begun_and_cancelled() -> None:
    async with flooded() as flood:
        await flood.hello()
        for _ in range(scaled(10, 500)):
            lines: list[bytes] = []
            for i in range(1_000):
                lines += (
                    call(i, "wait", text="x" * 5_000),
                    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % i,
                )
            await flood.send(lines)
            assert "result" in await flood.ask("between", "ping")
            flood.answers.clear()
        await unharmed(flood, megabytes=60, log=LOG)


async def test_a_client_that_leaves_without_reading() -> None:
    async with flooded() as flood:
        await flood.hello()
        flood.stop_reading()
        await flood.send(call(i, "large", size=100_000) for i in range(500))
        await flood.leave(reads=False)
