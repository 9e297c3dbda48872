"""The states of tasks, and the store in memory."""

import asyncio
import pickle
from datetime import UTC, datetime, timedelta, timezone
from itertools import product

import pytest

from mcp_runtime.extensions.tasks import (
    TRANSITIONS,
    Failure,
    InvalidTransition,
    MemoryTaskStore,
    Status,
    Success,
    TooManyTasks,
    UnknownCursor,
    UnknownTask,
)
from mcp_runtime.extensions.tasks.states import timestamp

pytestmark = pytest.mark.usefixtures("virtual_time")

DONE = Success(result={})


class TestStates:
    def test_the_transitions_are_those_of_the_specification(self) -> None:
        allowed = {(before.value, after.value) for before, following in TRANSITIONS.items() for after in following}
        ends = {"completed", "failed", "cancelled"}
        assert allowed == {(before, end) for before in ("working", "input_required") for end in ends} | {
            ("working", "input_required"),
            ("input_required", "working"),
        }
        assert {status for status in Status if status.is_terminal} == ends

    async def test_the_store_allows_only_these_transitions(self) -> None:
        store = MemoryTaskStore()
        for before, after in product(Status, repeat=2):
            task = await store.create("me", None)
            if before is not Status.WORKING:
                await store.move("me", task.id, before, outcome=DONE)
            if after in TRANSITIONS[before] or (after is before and not before.is_terminal):
                assert (await store.move("me", task.id, after, outcome=DONE)).status is after
            else:
                with pytest.raises(InvalidTransition, match=before.value):
                    await store.move("me", task.id, after, outcome=DONE)
                assert (await store.get("me", task.id)).status is before
        store.forget("me")

    def test_a_time_is_spelled_in_utc(self) -> None:
        moment = datetime(2025, 11, 25, 12, 30, tzinfo=timezone(timedelta(hours=2)))
        assert timestamp(moment) == "2025-11-25T10:30:00.000Z"

    def test_its_errors_can_be_pickled(self) -> None:
        error = pickle.loads(pickle.dumps(InvalidTransition(Status.FAILED, Status.WORKING)))
        assert str(error) == "a task that is 'failed' cannot become 'working'"


class TestKeeping:
    async def test_a_change_is_dated(self) -> None:
        now = datetime(2025, 11, 25, tzinfo=UTC)
        store = MemoryTaskStore(ttl=None, clock=lambda: now)
        task = await store.create("me", None)
        now += timedelta(seconds=3)
        moved = await store.move("me", task.id, Status.INPUT_REQUIRED, message="ask")
        assert moved.wire() == {
            "taskId": task.id,
            "status": "input_required",
            "createdAt": "2025-11-25T00:00:00.000Z",
            "lastUpdatedAt": "2025-11-25T00:00:03.000Z",
            "ttl": None,
            "statusMessage": "ask",
            "pollInterval": 1000,
        }

    async def test_all_waiters_get_the_outcome(self) -> None:
        store = MemoryTaskStore()
        task = await store.create("me", None)
        waiting = [asyncio.create_task(store.wait("me", task.id)) for _ in range(3)]
        await asyncio.sleep(0)
        outcome = Failure(code=1, message="no")
        await store.move("me", task.id, Status.FAILED, outcome=outcome)
        assert await asyncio.gather(*waiting) == [outcome] * 3
        store.forget("me")

    async def test_waiters_of_an_expiring_task_get_an_error(self) -> None:
        store = MemoryTaskStore()
        task = await store.create("me", 10)
        with pytest.raises(UnknownTask, match="expired"):
            await store.wait("me", task.id)
        assert await store.page("me", None) == ([], None)

    async def test_deleted_tasks_leave_no_timer(self) -> None:
        store = MemoryTaskStore(ttl=1000)
        await store.create("me", None)
        loop = asyncio.get_running_loop()
        timers: list[asyncio.TimerHandle] = vars(loop)["_scheduled"]
        ours = [timer for timer in timers if not timer.cancelled() and timer.when() > loop.time() + 900]
        assert len(ours) == 1
        store.forget("me")
        assert ours[0].cancelled()

    async def test_ids_are_unique(self) -> None:
        store = MemoryTaskStore(ttl=None)
        assert len({(await store.create("me", None)).id for _ in range(1000)}) == 1000

    async def test_owners_cannot_see_each_others_tasks(self) -> None:
        store = MemoryTaskStore(ttl=None, max_tasks=1)
        mine = await store.create("me", None)
        yours = await store.create("you", None)
        assert [task.id for task in (await store.page("you", None))[0]] == [yours.id]
        with pytest.raises(UnknownTask):
            await store.get("you", mine.id)
        with pytest.raises(TooManyTasks, match="1 tasks"):
            await store.create("me", None)

    async def test_no_peer_has_more_than_half_of_the_tasks(self) -> None:
        store = MemoryTaskStore(ttl=None, max_tasks=4)
        for peer in ("greedy", "greedy", "a"):
            await store.create("", None, peer=peer)
        with pytest.raises(TooManyTasks):
            await store.create("", None, peer="greedy")
        await store.create("", None, peer="b")
        with pytest.raises(TooManyTasks, match="the limit of 4 tasks"):
            await store.create("", None, peer="c")

    async def test_pages_continue_when_tasks_disappear(self) -> None:
        store = MemoryTaskStore(ttl=None, page_size=2)
        created = [(await store.create("me", None)).id for _ in range(5)]
        first, cursor = await store.page("me", None)
        gone = await store.create("me", 1)
        await asyncio.sleep(0.01)
        second, cursor = await store.page("me", cursor)
        third, end = await store.page("me", cursor)
        assert [task.id for task in first + second + third] == created and end is None
        assert gone.id not in created
        with pytest.raises(UnknownCursor):
            await store.page("me", "later")

    @pytest.mark.parametrize("wrong", [{"ttl": -1.0}, {"max_ttl": -1.0}, {"poll_interval": -1.0}, {"page_size": 0}])
    def test_settings_are_checked(self, wrong: dict[str, float]) -> None:
        with pytest.raises(ValueError, match="must not be negative"):
            MemoryTaskStore(**wrong)  # type: ignore[arg-type]
