"""``notifications/tasks``: reports the states of tasks to clients that listen for them (2026-07-28)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from mcp_runtime.core.changes.listeners import Put
from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import NotificationMethod, WireType, notification_of
from mcp_runtime.core.protocol.jsonrpc import INVALID_PARAMS
from mcp_runtime.core.protocol.names import SUBSCRIPTIONS_LISTEN
from mcp_runtime.extensions.binding import ExtensionBinding
from mcp_runtime.extensions.tasks.engine import Engine, spoken_result
from mcp_runtime.extensions.tasks.states import Status, Success, TaskRecord, timestamp
from mcp_runtime.extensions.tasks.store import StoreUnavailable, TaskError, TaskStore, UnknownTask

NOTIFICATIONS_TASKS: Final = "notifications/tasks"
MAX_WATCHED: Final = 100
"""How many tasks one request may listen for."""
IDS: Final = "taskIds"


Find: TypeAlias = Callable[[str, Context[Any]], Awaitable[TaskRecord]]
Check: TypeAlias = Callable[[Any], None]


class TaskFilter:
    """The tasks that clients listen for; it implements `Filter`.

    Args:
        engine: runs the tasks.
        binding: the extension.
        find: returns a task of the sender of a request.
        check_declared: raises `PeerError` for a request that does not declare the extension.
    """

    def __init__(self, engine: Engine, binding: ExtensionBinding, find: Find, check_declared: Check) -> None:
        self._engine, self._find, self._check_declared = engine, find, check_declared
        self._method = notification_of(binding.methods, NOTIFICATIONS_TASKS)
        self._type: WireType[Any] = binding.filters[SUBSCRIPTIONS_LISTEN]
        self._watching: dict[tuple[str, str], dict[Exchange, Put]] = {}
        self._told: dict[tuple[str, str], TaskRecord] = {}
        self._looking: asyncio.Task[None] | None = None

    async def agree(self, ctx: Context[Any]) -> Mapping[str, Any]:
        """Return the tasks that exist, of those that a request asks for; see `Filter.agree`."""
        asked: Any = ctx.exchange.raw_params.get("notifications")
        if not is_object(asked) or asked.get(IDS) is None:
            return {}
        self._check_declared(ctx)
        try:
            ids: list[str] = self._type.validate({IDS: asked[IDS]}).task_ids
        except ValidationError:
            ids = []
        if not 0 < len(ids) <= MAX_WATCHED:
            pointer = f"/notifications/{IDS}"
            reason = f"{pointer}: must be 1 to {MAX_WATCHED} ids of tasks"
            raise PeerError(INVALID_PARAMS, reason, {"pointer": pointer})
        known: list[str] = []
        for task_id in dict.fromkeys(ids):
            try:
                await self._find(task_id, ctx)
            except PeerError:
                continue
            known.append(task_id)
        return {IDS: known}

    def begin(self, ctx: Context[Any], agreed: Mapping[str, Any], put: Put) -> None:
        """Report the states of tasks from the current one on; see `Filter.begin`."""
        owner = ctx.requester.principal or ""
        for task_id in agreed.get(IDS, ()):
            told = partial(_put, ctx.requester, put)
            self._watching.setdefault((owner, task_id), {})[ctx.exchange] = told
            ctx.connection.spawn(self._tell(owner, task_id, told))
        is_shared = self._engine.shared is not None
        if is_shared and self._watching and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(), context=copy_context())

    def end(self, exchange: Exchange, agreed: Mapping[str, Any]) -> None:
        """Forget a request that no longer listens; see `Filter.end`."""
        for task_id in agreed.get(IDS, ()):
            key = exchange.requester.principal or "", task_id
            watching = self._watching.get(key, {})
            watching.pop(exchange, None)
            if not watching:
                self._forget(key)

    async def changed(self, owner: str, record: TaskRecord) -> None:
        """Report a new state of a task to those that listen for it."""
        await self._report(owner, record, tuple(self._watching.get((owner, record.id), {}).values()))

    async def _tell(self, owner: str, task_id: str, put: Put) -> None:
        with suppress(TaskError):
            await self._report(owner, await self._engine.store.get(owner, task_id), [put])

    async def _report(self, owner: str, record: TaskRecord, to: Sequence[Put]) -> None:
        if not to:
            return
        key = owner, record.id
        try:
            state = await state_of(self._engine.store, owner, record)
        except TaskError:
            return
        self._told[key] = record
        for put in to:
            put(self._method, record.id, state)
        if record.status.is_terminal:
            self._forget(key)

    async def _look(self) -> None:
        """Report what other processes do."""
        store: Any = self._engine.store
        while self._watching:
            await asyncio.sleep(store.interval)
            try:
                for owner, task_id in tuple(self._watching):
                    if task_id not in self._engine.running:
                        await self._compare(owner, task_id)
            except StoreUnavailable:
                continue
            except Exception:
                log.exception("the states of tasks were not read")

    async def _compare(self, owner: str, task_id: str) -> None:
        try:
            record = await self._engine.store.get(owner, task_id)
        except UnknownTask:
            self._forget((owner, task_id))
        else:
            if record != self._told.get((owner, task_id)):
                await self.changed(owner, record)

    def _forget(self, key: tuple[str, str]) -> None:
        self._watching.pop(key, None)
        self._told.pop(key, None)


def _put(
    requester: Requester, put: Put, method: NotificationMethod[Any], task_id: str, state: Mapping[str, Any]
) -> None:
    put(method, task_id, spoken_state(state, requester))


def spoken_state(state: Mapping[str, Any], requester: Requester) -> Mapping[str, Any]:
    """Return the state of a task as the requester's revision has it."""
    return {**state, "result": spoken_result(state["result"], requester)} if "result" in state else state


async def state_of(store: TaskStore, owner: str, record: TaskRecord) -> dict[str, Any]:
    """Return the whole state of a task, keyed by wire names."""
    state = spelled(record)
    if record.status in (Status.COMPLETED, Status.FAILED):
        outcome = await store.wait(owner, record.id)
        if isinstance(outcome, Success):
            state["result"] = outcome.result
        else:
            data = {} if outcome.data is None else {"data": outcome.data}
            state["error"] = {"code": outcome.code, "message": outcome.message, **data}
    return state


def spelled(record: TaskRecord) -> dict[str, Any]:
    """Return a task keyed by wire names, with its open questions."""
    state: dict[str, Any] = {
        "taskId": record.id,
        "status": record.status.value,
        "createdAt": timestamp(record.created_at),
        "lastUpdatedAt": timestamp(record.updated_at),
        "ttlMs": record.ttl,
        "pollIntervalMs": record.poll_interval,
    }
    state["statusMessage"] = record.message or None
    if record.status is Status.INPUT_REQUIRED:
        state["inputRequests"] = dict(record.questions)
    return {name: value for name, value in state.items() if value is not None or name == "ttlMs"}
