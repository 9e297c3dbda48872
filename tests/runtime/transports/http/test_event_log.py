"""Event stores: how much they keep, and what a client observes if one is slow, unreachable or faulty."""

import asyncio
from collections.abc import Sequence

import pytest

from mcp_runtime.core.transports.http import HttpLimits, MemoryEventStore, asgi_app
from mcp_runtime.core.transports.http.events import MAX_WAITING, Event, EventLog
from support.http import RawClient, call, events_of, messages_of, raw_client
from support.http_server import chatty

NEWEST = "2025-11-25"
FAILS = "the event store fails; answers are still sent, but streams cannot be resumed until it works: "
WORKS = "the event store works again"


class Unreliable(MemoryEventStore):
    """Keeps events in memory, and can be told to fail.

    Attributes:
        error: what it raises; `TimeoutError` makes it take forever.
    """

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None

    async def append(self, events: Sequence[Event]) -> None:
        await self._fail()
        await super().append(events)

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        await self._fail()
        return await super().after(session, stream, number)

    async def forget(self, session: str) -> None:
        await self._fail()
        await super().forget(session)

    async def _fail(self) -> None:
        if isinstance(self.error, TimeoutError):
            await asyncio.sleep(1000)
        if self.error is not None:
            raise self.error


async def logged(client: RawClient, count: int = 2) -> list[str]:
    """Let a tool log; return the event ids of its finished stream."""
    answer = await client.post(call("log", count=count))
    assert answer.status_code == 200 and len(messages_of(answer.text)) == count + 1
    return [event["id"] for event in events_of(answer.text)]


async def resumed(client: RawClient, event_id: str) -> tuple[int, str]:
    headers = {**client.session, "accept": "text/event-stream", "last-event-id": event_id}
    answer = await client.http.get("/mcp", headers=headers)
    return answer.status_code, answer.text


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ConnectionError("no\x1b[31m route"), r"ConnectionError: no\x1b[31m route"),
        (TimeoutError(), "TimeoutError: no answer within 0.1 seconds"),
    ],
    ids=["raises", "hangs"],
)
async def test_while_a_store_fails_answers_go_on_without_resumption(
    error: Exception, shown: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("mcp_runtime.core.transports.http.events.TIMEOUT", 0.1)
    monkeypatch.setattr("mcp_runtime.core.transports.http.events.PAUSE", 0.1)
    store = Unreliable()
    app = asgi_app(chatty(NEWEST), limits=HttpLimits(stream_after=0.02), events=store)
    async with raw_client(app) as client:
        await client.shake_hands(NEWEST)
        before = await logged(client)
        assert (await resumed(client, before[0]))[0] == 200
        store.error = error
        during = await logged(client)
        async with asyncio.timeout(30):
            status, said = await resumed(client, during[0])
        assert (status, "stored events cannot be read now; try again later" in said) == (503, True)
        for _ in range(3):
            await logged(client)
        store.error = None
        async with asyncio.timeout(30):
            while status != 200:
                await asyncio.sleep(0.05)
                after = await logged(client)
                status, said = await resumed(client, after[0])
        assert len(messages_of(said)) == 3
        assert (await resumed(client, during[0]))[0] == 400, "its end is not stored: it would appear to be open"
        store.error = error
    printed = [record.getMessage() for record in caplog.records if "store" in record.getMessage()]
    assert printed[:2] == [FAILS + shown, WORKS]
    assert len(printed) <= 3, "one line when it starts to fail, however much is lost, and one when it works again"


@pytest.mark.usefixtures("virtual_time")
async def test_a_store_that_is_behind_holds_up_only_so_much() -> None:
    gate, written = asyncio.Event(), list[int]()

    class Slow(MemoryEventStore):
        async def append(self, events: Sequence[Event]) -> None:
            written.append(sum(len(event.message) for event in events))
            await gate.wait()

    log = EventLog(Slow(), timeout=10, pause=0)
    log.append("a", 1, 1, b"0")
    await asyncio.sleep(0.01)
    for number in range(2, 202):
        log.append("a", number, 1, b"0" * (1 << 20))
    gate.set()
    await asyncio.sleep(0.01)
    assert written[0] == 1 and 0 < written[1] <= MAX_WAITING and len(written) == 2
    assert await log.after("a", 2, 0) is None


@pytest.mark.usefixtures("virtual_time")
async def test_a_stream_whose_end_was_lost_cannot_be_resumed_and_later_ones_can() -> None:
    store = Unreliable()
    log = EventLog(store, pause=0)
    log.append("a", 1, 1, b"{}")
    assert await log.after("a", 1, 0) == [(1, b"{}")]
    store.error = ConnectionError()
    log.append("a", 1, 2, b"{}")
    await asyncio.sleep(0.01)
    store.error = None
    log.append("a", 2, 1, b"{}")
    log.append("b", 1, 1, b"{}")
    assert await log.after("a", 1, 0) is None, "it would appear to end without a response"
    assert await log.after("a", 2, 0) == await log.after("b", 1, 0) == [(1, b"{}")]


@pytest.mark.parametrize(
    "found",
    [[(3, b"{}")], [(2, b"{}"), (4, b"{}")], [(2, b"{}\n\nid: 9\ndata: {}")], [(2, b"{} {}")], [(2, b"\xff")]],
    ids=["late", "gap", "another event", "two messages", "no text"],
)
async def test_what_a_store_returns_is_not_trusted(found: list[tuple[int, bytes]]) -> None:
    class Forged(MemoryEventStore):
        async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
            return found

    assert await EventLog(Forged()).after("a", 1, 1) is None


async def test_events_are_dropped_when_they_are_too_many_or_too_old() -> None:
    now = [0.0]
    store = MemoryEventStore(max_events=3, max_age=10, max_bytes=1000, max_session_bytes=500, clock=lambda: now[0])
    await store.append([Event("a", 1, number, b"x") for number in range(1, 6)])
    assert len(store) == 3
    assert await store.after("a", 1, 2) == [(3, b"x"), (4, b"x"), (5, b"x")]
    assert await store.after("a", 1, 1) is None
    assert await store.after("b", 1, 2) is None
    now[0] = 20
    assert await store.after("a", 1, 4) is None and len(store) == 0
    await store.append([Event("a", 1, 6, b"y" * 400), Event("a", 2, 1, b"y" * 400)])
    assert await store.after("a", 1, 5) is None, "a session cannot exceed its share"
    assert await store.after("a", 2, 0) == [(1, b"y" * 400)]
    await store.append([Event("b", 1, 1, b"y" * 499), Event("c", 1, 1, b"y" * 499)])
    assert await store.after("a", 2, 0) is None, "the oldest go first"
    await store.forget("b")
    assert await store.after("b", 1, 0) is None
    assert await store.after("c", 1, 0) == [(1, b"y" * 499)]
