"""`Tasks`, the extension, and the client that polls tasks of 2026-07-28."""

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final, NoReturn

from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.requester import Handler
from mcp_runtime.connection.results import Interrupted
from mcp_runtime.errors import McpError, PeerError, RequestTimeout
from mcp_runtime.extensions.extension import Around, Extension
from mcp_runtime.extensions.tasks.caller import TaskFailed
from mcp_runtime.extensions.tasks.deferred import ID, TASKS_UPDATE, TaskServer, undeclared
from mcp_runtime.extensions.tasks.receiver import ANSWERED, paths_of, receive
from mcp_runtime.extensions.tasks.states import Status, TaskRecord
from mcp_runtime.extensions.tasks.store import TaskStore
from mcp_runtime.features.inputs.questions import answer_all
from mcp_runtime.method import typed_wire
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.names import TASKS_CANCEL, TASKS_GET, TOOLS_CALL

PACKAGE: Final = "mcp_bindings.extensions.tasks"
DEFAULT_INTERVAL: Final = 1.0
"""The default interval in seconds between two polls of a task."""
_ANY: Final = typed_wire(dict[str, Any])
MIN_INTERVAL: Final = 0.1
MAX_INTERVAL: Final = 60.0


class Tasks(Extension):
    """Runs requests as tasks; without arguments, for clients, which poll the tasks of servers.

    In 2025-11-25 the peer decides which of its requests become tasks, in 2026-07-28 the server's handlers do: by
    `defer`. In other revisions nothing happens.

    Args:
        store: stores the tasks that this side runs; None if it runs none.
        after: seconds after which every call of a tool becomes a task by itself (2026-07-28); None for never.
    """

    def __init__(self, store: TaskStore | None = None, *, after: float | None = None) -> None:
        extension = import_module(PACKAGE).EXTENSION
        update = copy(extension.methods[TASKS_UPDATE])
        update.params = _ANY  # answers are validated one by one
        self.binding = replace(extension, methods={**extension.methods, TASKS_UPDATE: update})
        self.store = store
        self._server = None if store is None else TaskServer(store, self.binding, after)

    @property
    def revision(self) -> str:
        """Empty: in revisions without tasks, nothing happens."""
        return ""

    @property
    def methods(self) -> Sequence[str]:
        """The methods that it adds."""
        return tuple(dict.fromkeys((*ANSWERED, *self.binding.methods)))

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Declare the extension, or the tasks of 2025-11-25; see `Feature`."""
        if not self._is_extension(connection):
            return () if self.store is None else paths_of(connection)
        return super().declares(connection, declared) if self._server or connection.side is Side.CLIENT else ()

    def install(self, connection: Connection) -> None:
        """Register the handlers; see `Feature`."""
        if not self._is_extension(connection):
            if self.store is not None:
                receive(connection, self.store)
            return
        if connection.side is Side.CLIENT or self._server is not None:
            super().install(connection)
        if connection.side is Side.SERVER and self._server is not None:
            connection.features[ID] = self
        if connection.side is Side.CLIENT and connection.binding is not None and connection.requester.result_tag:
            method: Any = connection.binding.methods[TOOLS_CALL]
            for tag, type_ in self.binding.results[TOOLS_CALL].items():
                connection.results.accept(method, tag, type_, partial(_resume, connection))

    def handlers(self) -> Mapping[str, Handler]:
        """Return what answers the methods of the extension, for requests that declare it."""
        if self._server is None:
            return {}
        own = {TASKS_GET: self._server.get, TASKS_UPDATE: self._server.update, TASKS_CANCEL: self._server.cancel}
        return {name: partial(self._declared, handler) for name, handler in own.items()}

    def around(self) -> Mapping[str, Around]:
        """Return what answers calls of tools with tasks."""
        return {} if self._server is None else {TOOLS_CALL: self._server.call}

    async def _declared(self, handler: Handler, params: Any, ctx: Any) -> Any:
        if self.peer_settings(ctx) is None:
            raise undeclared()
        return await handler(params, ctx)

    def _is_extension(self, connection: Connection) -> bool:
        return connection.binding is not None and connection.binding.revision == self.binding.revision


async def _resume(connection: Connection, created: Any, call: Interrupted[Any, Any]) -> Any:
    return await _follow(connection, created.task_id, call.options.timeout, created.poll_interval_ms)


async def resume_task(client: Any, task_id: str, *, timeout: float | None = None) -> Any:
    """Wait for a task of ``tools/call`` that an earlier call created, perhaps in another process (2026-07-28).

    The client's handlers answer what the task asks. Cancelling this cancels the task.

    Args:
        client: the client, opened with ``extensions=[Tasks()]``.
        task_id: the id of the task.
        timeout: seconds to wait; then the task is cancelled. None for no limit.

    Returns:
        The result of the call.

    Raises:
        PeerError: the error of the call, or -32602 if there is no such task.
        TaskFailed: it was cancelled.
        RequestTimeout: it did not end in time.
    """
    return await _follow(client.connection, task_id, timeout, 0)


async def _follow(connection: Connection, task_id: str, timeout: float | None, wait: float | None) -> Any:
    """Poll a task until it has ended, and answer what it asks; return the result of its call."""
    stub = import_module(PACKAGE).ClientMixin(connection)
    assert connection.binding is not None
    method: Any = connection.binding.methods[TOOLS_CALL]
    answered: set[str] = set()
    try:
        async with asyncio.timeout(timeout):
            await _pause(wait)
            while True:
                task = await stub.get_task(task_id=task_id)
                if task.status == "completed":
                    result = task.model_dump(mode="json", by_alias=True)["result"]
                    return connection.requester.reader.read(method.result, result, TOOLS_CALL)
                if task.status in ("failed", "cancelled"):
                    _fail(task)
                asked: dict[str, Any] = task.input_requests if task.status == "input_required" else {}
                if new := {key: request for key, request in asked.items() if key not in answered}:
                    answers = await answer_all(connection, method, new)
                    answered.update(answers)
                    await stub.update_task(task_id=task_id, input_responses=answers)
                else:
                    await _pause(task.poll_interval_ms)
    except TimeoutError:
        connection.spawn(_cancel(stub, task_id))
        raise RequestTimeout(TOOLS_CALL, timeout or 0) from None
    except asyncio.CancelledError:
        if connection.closed_because is None:
            connection.spawn(_cancel(stub, task_id))
        raise


async def _pause(milliseconds: float | None) -> None:
    """Wait until the next poll, so that clients that started together do not poll together."""
    if milliseconds == 0:
        return
    seconds = DEFAULT_INTERVAL if milliseconds is None else milliseconds / 1000
    await asyncio.sleep(min(max(seconds, MIN_INTERVAL), MAX_INTERVAL) * random.uniform(1, 1.1))


async def _cancel(stub: Any, task_id: str) -> None:
    with suppress(McpError):
        await stub.cancel_task(task_id=task_id)


def _fail(task: Any) -> NoReturn:
    if task.status == "failed":
        error = PeerError(task.error.code, task.error.message, task.error.data)
        error.is_from_peer = True
        raise error
    made, changed = datetime.fromisoformat(task.created_at), datetime.fromisoformat(task.last_updated_at)
    status, message = Status(task.status), task.status_message or ""
    raise TaskFailed(
        TaskRecord(
            id=task.task_id, created_at=made, updated_at=changed, ttl=task.ttl_ms, status=status, message=message
        )
    )
