"""State that processes share in Redis, with a real redis-server that is killed, restarted, paused and full."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
from redis.asyncio import Redis

from mcp_runtime.cluster import fan_out as fan_outs
from mcp_runtime.cluster.redis import RedisEventStore, RedisFanOut, RedisSpentStates
from mcp_runtime.core.changes.subscriptions import list_changed, resource_updated
from mcp_runtime.core.transports.http import Event, HttpLimits, asgi_app
from mcp_runtime.core.transports.http import events as event_log
from mcp_runtime.sealed import inputs
from support.asking import text
from support.http import RawClient, call, events_of, messages_of, raw_client
from support.http_server import chatty
from support.redis_server import RedisServer, full, killed, redis_server, stopped
from support.till import Till, again, answered
from support.workers import EVERYTHING, URI, Workers, started

pytestmark = pytest.mark.interop

NEWEST = "2025-11-25"


@pytest.fixture
async def server() -> AsyncGenerator[RedisServer]:
    async with redis_server() as running:
        yield running


@pytest.fixture
async def redis(server: RedisServer) -> AsyncGenerator[Any]:
    async with server.client() as client:
        yield client


FAULTS = pytest.mark.parametrize("fault", [killed, stopped, full])


async def soon(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(40):
        while not await holds():
            await asyncio.sleep(0.05)


async def is_empty(redis: Any, pattern: str) -> bool:
    return not await redis.keys(pattern)


@pytest.mark.parametrize("make", [RedisEventStore, RedisFanOut, RedisSpentStates])
async def test_a_client_or_prefix_that_cannot_be_used_is_refused_at_once(make: Any) -> None:
    with pytest.raises(ValueError, match="decode_responses"):
        make(Redis(decode_responses=True))
    with pytest.raises(ValueError, match="name your application"):
        make(Redis(), prefix="")


class TestSpentStates:
    async def test_a_state_is_used_once_by_all_workers_and_forgotten_when_it_expires(
        self, server: RedisServer, redis: Any
    ) -> None:
        async with server.client() as other:
            workers = [RedisSpentStates(each, prefix="shop") for each in (redis, other)]
            uses = [worker.spend("ab" * 16, time.time() + 60) for worker in workers for _ in range(20)]
            assert Counter(await asyncio.gather(*uses)) == {True: 1, False: 39}
            assert await RedisSpentStates(redis, prefix="other").spend("ab" * 16, time.time() + 60)
            assert sorted(await redis.keys()) == [b"other:spent:" + b"ab" * 16, b"shop:spent:" + b"ab" * 16]
            assert 0 < await redis.pttl("shop:spent:" + "ab" * 16) <= 60_001
            assert await RedisSpentStates(redis, prefix="brief").spend("ab" * 16, time.time() + 0.1)
            await soon(lambda: is_empty(redis, "brief:*"))

    async def test_a_command_that_is_sent_twice_by_the_client_is_one_use(self, server: RedisServer) -> None:
        class Repeating(Redis):
            async def set(self, *args: Any, **kwargs: Any) -> Any:
                await super().set(*args, **kwargs)
                return await super().set(*args, **kwargs)  # As if the connection had broken before the response.

        async with Repeating(port=server.port) as repeating:
            spent = RedisSpentStates(repeating)
            assert [await spent.spend("a", time.time() + 9) for _ in range(2)] == [True, False]

    @FAULTS
    async def test_states_are_refused_while_redis_is_unavailable(
        self, server: RedisServer, redis: Any, fault: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spent = RedisSpentStates(redis)
        message = await again(Till(spent=spent), "changing")
        async with fault(server):
            with monkeypatch.context() as hurried:
                hurried.setattr(inputs, "SPENT_TIMEOUT", 0.5)
                error = (await again(Till(spent=spent), "changing", **answered(message)))["error"]
            assert error["message"] == "used requestStates cannot be checked now; try again later"
        if fault is not stopped:  # That server may have executed the command that it did not answer in time.
            assert text(await again(Till(spent=spent), "changing", **answered(message))) == "How much? accept"
        message = await again(Till(spent=spent), "changing")
        assert text(await again(Till(spent=spent), "changing", **answered(message))) == "How much? accept"


class TestEvents:
    @pytest.fixture(autouse=True)
    def patient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(event_log, "TIMEOUT", 30.0)

    async def test_the_newest_are_kept_and_only_for_a_while(self, redis: Any) -> None:
        store = RedisEventStore(redis, prefix="shop", max_session_bytes=1_000, max_age=60)
        await store.append([Event("a", 1, number, b"x" * 100) for number in range(1, 9)])
        await store.append([Event("a", 2, 1, b"y"), Event("b", 1, 1, b"z" * 899), Event("c", 1, 1, b"z" * 901)])
        assert await store.after("a", 1, 3) is None and await store.after("c", 1, 0) is None
        assert [number for number, _ in await store.after("a", 1, 4) or ()] == [5, 6, 7, 8]
        assert await store.after("a", 2, 0) == [(1, b"y")]
        for _ in range(2):
            assert await store.after("b", 1, 0) == [(1, b"z" * 899)]
            await store.append([Event("b", 1, 1, b"z" * 899)])  # Duplicates are stored once.
        keys = await redis.keys()
        assert keys and all(key.startswith((b"shop:events:", b"shop:order:")) for key in keys)
        assert all([0 < await redis.pttl(key) <= 60_000 for key in keys])
        await store.forget("b")
        assert await store.after("b", 1, 0) is None
        await RedisEventStore(redis, prefix="brief", max_age=0.1).append([Event("a", 1, 1, b"x")])
        await soon(lambda: is_empty(redis, "brief:*"))

    async def test_a_session_whose_keys_were_evicted_in_part_goes_on(self, redis: Any) -> None:
        store = RedisEventStore(redis, max_session_bytes=1_000)
        for kind in ("order", "events"):
            await store.append([Event("a", 1, number, b"x" * 100) for number in range(1, 6)])
            await redis.delete(*await redis.keys(f"mcp:{kind}:*"))
            for number in range(6, 20):
                await store.append([Event("a", 1, number, b"x" * 100)])
                for left in await redis.keys("mcp:events:*"):
                    assert sum(map(len, (await redis.hgetall(left)).values())) < 1_100
            assert [number for number, _ in await store.after("a", 1, 17) or ()] == [18, 19]
            await store.forget("a")

    @pytest.mark.parametrize("kind", ["events", "order", "size"])
    async def test_a_session_with_corrupt_keys_starts_again_and_costs_no_other(self, redis: Any, kind: str) -> None:
        store = RedisEventStore(redis)
        await store.append([Event("a", 1, 1, b"x")])
        [key] = await redis.keys(f"mcp:{'events' if kind == 'size' else kind}:*")
        if kind == "size":
            await redis.hset(key, "size", b"many")
        else:
            await redis.delete(key)
            await redis.set(key, b"something else")
        await store.append([Event(session, 1, 2, b"x") for session in "ab"])
        assert await store.after("b", 1, 1) == await store.after("a", 1, 1) == [(2, b"x")]

    async def test_thousands_are_read_in_pages(self, redis: Any) -> None:
        store = RedisEventStore(redis)
        await store.append([Event("a", 1, number, b"%d" % number) for number in range(1, 2_001)])
        assert await store.after("a", 1, 10) == [(number, b"%d" % number) for number in range(11, 2_001)]

    @FAULTS
    async def test_answers_go_on_and_streams_can_be_resumed_when_redis_is_back(
        self, server: RedisServer, redis: Any, fault: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(event_log, "PAUSE", 0.1)
        app = asgi_app(chatty(NEWEST), limits=HttpLimits(stream_after=0.02), events=RedisEventStore(redis))
        async with raw_client(app) as client:
            await client.shake_hands(NEWEST)
            before = await logged(client)
            assert await resumed(client, before[0]) == (200, 3)
            async with fault(server):
                with monkeypatch.context() as hurried:
                    hurried.setattr(event_log, "TIMEOUT", 0.3)
                    during = await logged(client)
                    status, _ = await resumed(client, during[0])
                    assert status == (400 if fault is full else 503)
                    await logged(client)

            async def works() -> bool:
                return await resumed(client, (await logged(client))[0]) == (200, 3)

            await soon(works)
            assert (await resumed(client, during[0]))[0] == 400

    async def test_values_written_by_others_are_not_sent(self, redis: Any) -> None:
        app = asgi_app(chatty(NEWEST), limits=HttpLimits(stream_after=0.02), events=RedisEventStore(redis))
        async with raw_client(app) as client:
            await client.shake_hands(NEWEST)
            ids = await logged(client)
            assert await resumed(client, ids[0]) == (200, 3)
            [key] = await redis.keys("mcp:events:*")
            await redis.hset(key, ids[1].replace("-2", "-3"), b"{}\n\ndata: {}")
            assert (await resumed(client, ids[0]))[0] == 400
            await redis.delete(key)
            await redis.set(key, b"something else")
            assert (await resumed(client, ids[0]))[0] == 503


async def logged(client: RawClient) -> list[str]:
    """Let a tool log twice; return the event ids of its finished stream."""
    answer = await client.post(call("log", count=2))
    assert answer.status_code == 200 and len(messages_of(answer.text)) == 3
    return [event["id"] for event in events_of(answer.text)]


async def resumed(client: RawClient, event_id: str) -> tuple[int, int]:
    """Resume a stream; returns the status, and the number of messages."""
    headers = {**client.session, "accept": "text/event-stream", "last-event-id": event_id}
    answer = await client.http.get("/mcp", headers=headers)
    return answer.status_code, len(messages_of(answer.text)) if answer.status_code == 200 else 0


@pytest.fixture(params=["legacy", "modern"])
async def workers(request: pytest.FixtureRequest) -> AsyncGenerator[Workers]:
    async with started(request.param) as started_workers:
        yield started_workers


class TestFanOut:
    @pytest.fixture(autouse=True)
    def hurried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fan_outs, "PAUSES", (0.05, 0.1))

    async def test_a_change_reaches_the_clients_of_all_workers_once(
        self, server: RedisServer, redis: Any, workers: Workers
    ) -> None:
        async with server.client() as other:
            one, two = [await workers.start(RedisFanOut(each)) for each in (redis, other)]
            stranger = await workers.start(RedisFanOut(other, prefix="stranger"))
            assert await resource_updated(one.server, f"{URI}/b") == 1
            assert await list_changed(two.server, "tools") == 1
            expected = Counter({f"resources/updated {URI}/b": 1, "tools/list_changed": 1})
            await soon(lambda: _is(lambda: all(worker.changes() >= expected for worker in (one, two))))
            await asyncio.sleep(0.2)
            assert [worker.changes() for worker in (one, two)] == [expected] * 2
            assert stranger.changes().total() == 0
            assert await redis.keys() == []

    @FAULTS
    async def test_clients_are_notified_of_missed_changes_when_redis_is_back(
        self, server: RedisServer, redis: Any, workers: Workers, fault: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        quiet = 0.2 if fault is stopped else 15.0
        one, two = [await workers.start(RedisFanOut(redis, quiet=quiet)) for _ in range(2)]
        change = f"resources/updated {URI}/b"
        async with fault(server):
            assert await resource_updated(one.server, f"{URI}/b") == 1
            if fault is full:
                await soon(lambda: _is(lambda: two.changes()[change] > 0))
            else:
                await soon(lambda: _is(lambda: cut_off(caplog) == 2))
        if fault is full:  # It stores nothing, but delivers everything.
            await asyncio.sleep(0.2)
            assert two.changes() == {change: 1}
        else:
            await soon(lambda: _is(lambda: two.changes() >= EVERYTHING))
        two.received.clear()
        await list_changed(one.server, "tools")
        await soon(lambda: _is(lambda: "tools/list_changed" in two.changes()))

    async def test_a_worker_that_starts_without_redis_serves_its_clients_and_is_joined_later(
        self, server: RedisServer, redis: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(fan_outs, "TIMEOUT", 0.3)
        server.kill()
        async with asyncio.timeout(40):
            worker = await workers.start(RedisFanOut(redis))
        assert await list_changed(worker.server, "tools") == 1
        await server.start()
        await soon(lambda: _is(lambda: worker.changes() >= EVERYTHING))


async def _is(holds: Callable[[], bool]) -> bool:
    return holds()


def cut_off(caplog: pytest.LogCaptureFixture) -> int:
    """Return how many workers have noticed that they do not hear the others."""
    begun, ended = "not receiving changes from other processes", "receiving changes from other processes again"
    return caplog.text.count(begun) - caplog.text.count(ended)
