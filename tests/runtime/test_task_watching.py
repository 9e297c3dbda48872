"""Clients listen for the states of tasks (2026-07-28, io.modelcontextprotocol/tasks, "Task Status Notifications")."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_bindings import v2025_11_25 as older
from mcp_bindings import v2026_07_28 as mcp
from mcp_bindings.extensions import tasks as types
from mcp_bindings.v2025_11_25.methods import TOOLS_CALL as OLDER_CALL
from mcp_bindings.v2026_07_28.methods import TOOLS_CALL
from mcp_runtime.core.changes.listen import Subscription, listen
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.transports.http import asgi_app, connect_http
from mcp_runtime.extensions.tasks import SqliteTaskStore, Tasks, caller, defer, resume_task, start_task
from mcp_runtime.extensions.tasks.polling import Watch
from mcp_runtime.memory import connect_memory
from support.http import served
from support.talk import bindings
from support.task_program import Size
from support.tasking import quick


class Counted(Tasks):
    """Counts the messages of the extension."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.calls = Counter[str]()

    def handlers(self) -> Any:
        return {name: self._counting(name, handler) for name, handler in super().handlers().items()}

    def _counting(self, name: str, handler: Any) -> Any:
        async def count(params: Any, ctx: Any) -> Any:
            self.calls[name] += 1
            return await handler(params, ctx)

        return count


class Oven:
    """A server with a tool that goes on whenever the test says so."""

    def __init__(self, store: Any) -> None:
        self.tasks = Counted(store)
        self.app = mcp.App("oven", extensions=[self.tasks])
        self.steps: asyncio.Queue[str] = asyncio.Queue()
        self.app.tool(task="optional")(self.bake)

    async def bake(self, ctx: mcp.Context) -> str:
        """Say each step; ask for the size, fail or end."""
        task = await defer(ctx)
        while (step := await self.steps.get()) != "end":
            if step == "ask":
                step = str(await ctx.elicit("how many?", Size))
            if step == "fail":
                raise PeerError(-7, "no flour")
            await task.say(step)
        return "baked"


class Baker(mcp.ClientHandlers):
    """Knows the size."""

    async def elicit(self, params: Any, ctx: mcp.ClientContext) -> mcp.ElicitResult:
        return mcp.ElicitResult(action="accept", content={"loaves": 3})


Opened = tuple[Oven, mcp.Client, list[tuple[str, str | None]]]


@asynccontextmanager
async def opened(store: Any = None, count: int = 1) -> AsyncGenerator[list[Opened]]:
    """Open a client for each of several servers that share a store; the states that each is told are noted."""
    store = store or quick()
    async with connect_memory((oven := Oven(store)).app) as peer:
        client = await mcp.Client.open(peer, handlers=Baker(), extensions=[Tasks()])
        told: list[tuple[str, str | None]] = []

        async def note(params: types.TaskStatusNotificationParams, ctx: Any) -> None:
            told.append((params.status, params.status_message))
            await Watch.take_in(client.connection, params, ctx)

        client.connection.handle(types.METHODS["notifications/tasks"], note)
        if count == 1:
            yield [(oven, client, told)]
        else:
            async with opened(store, count - 1) as others:
                yield [(oven, client, told), *others]


async def started(client: mcp.Client) -> str:
    return (await start_task(client, TOOLS_CALL, {"name": "bake"})).id


def watch(client: mcp.Client, ids: Any) -> Any:
    return listen(client.connection, more={"taskIds": ids})


async def until(told: Sequence[Any], *expected: Any, since: int = 0) -> None:
    async with asyncio.timeout(5):
        while [*told[since:]] != [*expected]:
            await asyncio.sleep(0.01)


async def test_listeners_are_told_each_state_from_the_current_one_on() -> None:
    async with opened() as [(oven, client, told)]:
        task_id = await started(client)
        changes: Subscription
        async with await watch(client, [task_id, "unknown", task_id]) as changes:
            assert changes.agreed == {"taskIds": [task_id]}
            await until(told, ("working", None))
            oven.steps.put_nowait("kneading")
            await until(told, *(first := [("working", None), ("working", "kneading")]))
            oven.steps.put_nowait("ask")
            await until(told, *first, ("input_required", "kneading"))
            oven.steps.put_nowait("end")
            result = await resume_task(client, task_id, timeout=5)
            assert result.content[0].text == "baked" and told[-1] == ("completed", None)


async def test_a_closed_subscription_tells_nothing() -> None:
    async with opened() as [(oven, client, told)]:
        task_id = await started(client)
        async with await watch(client, [task_id]):
            await until(told, ("working", None))
        oven.steps.put_nowait("kneading")
        async with await watch(client, [task_id]):
            await until(told, ("working", None), ("working", "kneading"))


async def test_a_client_that_is_told_does_not_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller, "MIN_INTERVAL", 0.01)
    async with opened() as [(oven, client, told)]:
        call = asyncio.ensure_future(client.call_tool(name="bake"))
        await until(told, ("working", None))
        polls = oven.tasks.calls["tasks/get"]
        await asyncio.sleep(0.1)
        for step in ("kneading", "ask"):
            oven.steps.put_nowait(step)
        await until(told, ("working", "loaves=3"), since=-1)
        oven.steps.put_nowait("end")
        assert (await call).content[0].text == "baked"  # type: ignore[union-attr]
        assert oven.tasks.calls["tasks/get"] <= max(polls, 2) and oven.tasks.calls["tasks/update"] == 1


async def test_the_error_of_a_task_is_told() -> None:
    async with opened() as [(oven, client, told)]:
        call = asyncio.ensure_future(client.call_tool(name="bake"))
        await until(told, ("working", None))
        oven.steps.put_nowait("fail")
        with pytest.raises(PeerError, match="no flour") as caught:
            await call
        assert caught.value.code == -7


async def test_a_server_that_does_not_tell_is_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(self: Any, ctx: Any) -> Any:
        return {}

    monkeypatch.setattr("mcp_runtime.extensions.tasks.watching.TaskFilter.agree", none)
    async with opened() as [(oven, client, told)]:
        for _ in range(2):
            call = asyncio.ensure_future(client.call_tool(name="bake"))
            await asyncio.sleep(0.25)
            oven.steps.put_nowait("end")
            assert (await call).content[0].text == "baked"  # type: ignore[union-attr]
        assert told == [] and oven.tasks.calls["tasks/get"] >= 4


async def test_another_process_tells_of_tasks_that_this_one_runs(tmp_path: Path) -> None:
    """Two servers with stores of their own on one file."""
    first, second = (SqliteTaskStore(tmp_path / "tasks.db", poll_interval=0.01, lease=1.0) for _ in range(2))
    async with opened(first) as [(oven, client, _)], opened(second) as [(_, other, told)]:
        task_id = await started(client)
        async with await watch(other, [task_id]):
            await until(told, ("working", None))
            oven.steps.put_nowait("kneading")
            await until(told, ("working", None), ("working", "kneading"))
            oven.steps.put_nowait("end")
            await until(told, ("completed", None), since=2)
    first.close()
    second.close()


@pytest.mark.parametrize("ids", ["x", ["x"] * 101, [7], []])
async def test_a_bad_filter_is_refused(ids: Any) -> None:
    async with opened() as [(_, client, _)]:
        with pytest.raises(PeerError, match="/notifications/taskIds: must be 1 to 100 ids of tasks") as caught:
            await watch(client, ids)
        assert caught.value.code == -32602


async def test_ids_that_are_unknown_are_not_agreed() -> None:
    async with opened() as [(_, client, _)], await watch(client, ["x", "x" * 300]) as changes:
        assert changes.agreed == {"taskIds": []}


async def test_defer_describes_tasks_of_2025_11_25_which_their_client_has_started() -> None:
    app = older.App("bakery", extensions=[Tasks(quick())])

    @app.tool(execution=older.ToolExecution(task_support="optional"))
    async def bake(ctx: older.Context) -> str:
        """Bake."""
        task = await defer(ctx, "kneading")
        return f"baked {task.id}"

    async with connect_memory(app) as peer:
        client = await older.Client.open(peer, require=["tasks.requests.tools.call"])
        order = older.CallToolRequestParams(name="bake")
        handle = await start_task(client, OLDER_CALL, order)
        result = await handle.result()
        assert result.content[0].text == f"baked {handle.id}"  # type: ignore[union-attr]
        assert (await client.list_tasks()).tasks[0].status == "completed"
        assert (await client.call_tool(name="bake")).content[0].text == "baked None"  # type: ignore[union-attr]


@pytest.mark.parametrize("revision", ["2024-11-05", "2026-07-28"])
async def test_clients_of_every_revision_call_a_task_tool_over_http(revision: str) -> None:
    """Sessions have no listeners."""
    app = mcp.App("oven", extensions=[Tasks(quick())])

    @app.tool(task="optional")
    def bake(loaves: int) -> int:
        """Count the loaves."""
        return loaves

    async with served(asgi_app(app)) as url, connect_http(url) as peer:
        client = await bindings(revision).Client.open(peer)
        result = await client.call_tool(name="bake", arguments={"loaves": 3})
        assert result.content[0].text == "3"
