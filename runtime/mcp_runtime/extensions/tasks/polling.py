"""The requesting side of the extension (2026-07-28): polls a task, or listens for it, and answers what it asks."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final, TypeVar

from mcp_runtime.core.asking.questions import answer_all
from mcp_runtime.core.changes.listen import listen
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.errors import McpError, PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.names import TASKS_GET, TOOLS_CALL
from mcp_runtime.extensions.tasks.caller import MAX_INTERVAL, StatusHook, TaskFailed, TaskHandle, pause, record_of
from mcp_runtime.extensions.tasks.states import Status, TaskRecord

R = TypeVar("R")

PACKAGE: Final = "mcp_bindings.extensions.tasks"
MAX_QUESTIONS: Final = 1_000
"""How many questions of one task are answered."""


class Watch:
    """Listens for the states of a task, once a poll has found it unfinished.

    Args:
        connection: the connection to the server.
        task_id: the task.
    """

    def __init__(self, connection: Connection, task_id: str) -> None:
        self._connection, self._id = connection, task_id
        self._task: Any = None
        self._news = asyncio.Event()
        self._is_told = False
        self._listening: asyncio.Task[None] | None = None
        self._all: dict[str, Watch] = connection.features.setdefault(_WATCHED, {})

    @staticmethod
    async def take_in(connection: Connection, params: Any, ctx: Any) -> None:
        """Receive a state that the server reports."""
        watched: dict[str, Watch] = connection.features.get(_WATCHED, {})
        if (watch := watched.get(params.task_id)) is not None:
            watch._task = params
            watch._news.set()

    def take(self) -> Any:
        """Return the state that was reported since the last call, or None."""
        task, self._task = self._task, None
        return task

    async def pause(self, milliseconds: float | None) -> None:
        """Wait until the next poll, or until there is news; with news, polls are rare."""
        if self._listening is None and not self._connection.features.get(_MUTE):
            self._all[self._id] = self
            self._listening = self._connection.spawn(self._listen())
        waiting = asyncio.ensure_future(pause(MAX_INTERVAL * 1000 if self._is_told else milliseconds))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((waiting, news), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            news.cancel()
            self._news.clear()

    def close(self) -> None:
        """Stop listening."""
        self._all.pop(self._id, None)
        if self._listening is not None:
            self._listening.cancel()

    async def _listen(self) -> None:
        try:
            async with await listen(self._connection, more={"taskIds": [self._id]}) as changes:
                self._is_told = self._id in (changes.agreed.get("taskIds") or ())
                self._connection.features[_MUTE] = not self._is_told
                self._news.set()  # what happened before is not reported by every server
                while self._is_told:
                    await anext(changes)
        except StopAsyncIteration:
            pass
        except McpError:
            self._connection.features[_MUTE] = True
        finally:
            self._is_told = False
            self._news.set()


_WATCHED: Final = "tasks.watched"
_MUTE: Final = "tasks.mute"
"""The connection feature that is set when the server has refused to report tasks."""


class DeferredTask(TaskHandle[R]):
    """A task of the extension.

    Args:
        stub: the peer.
        method: the method of the request.
        task: the task, as in ``CreateTaskResult`` or in the result of ``tasks/get``.
    """

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], task: Any) -> None:
        super().__init__(stub, method, task)
        self._tasks = import_module(PACKAGE).ClientMixin(stub.connection)
        self._watch = Watch(stub.connection, self.id)
        self._state = task
        self._answered: set[str] = set()
        self._is_polled = False

    async def poll(self, options: CallOptions | None = None) -> TaskRecord:
        """Request the state of the task, or take the one that the server reported; see `TaskHandle.poll`."""
        self._is_polled = True
        self._state = self._watch.take() or await self._tasks.get_task(task_id=self.id, options=options)
        self.record = record_of(self._stub, self._state)
        return self.record

    async def result(self, options: CallOptions | None = None, *, on_status: StatusHook | None = None) -> R:
        """Wait until the task has ended, and return its result; the client's handlers answer what it asks.

        Args:
            options: `timeout` limits the whole; then the task is cancelled.
            on_status: called with each observed state of the task.

        Raises:
            PeerError: the error of the call, or -32602 if the task has expired.
            TaskFailed: it was cancelled.
            RequestTimeout: it did not end in time.
        """
        timeout = None if options is None else options.timeout
        return await self.within(timeout, ends_of(timeout), on_status)

    async def within(self, timeout: float | None, ends: float | None, on_status: StatusHook | None = None) -> R:
        """Wait for the result; see `result`.

        Args:
            timeout: the timeout of the call in seconds, for the error.
            ends: when it ends, by the event loop's clock; None for no limit.
            on_status: called with each observed state of the task.
        """
        try:
            async with asyncio.timeout_at(ends):
                return await self._follow(None, on_status)
        except TimeoutError:
            self.abandon()
            raise RequestTimeout(TOOLS_CALL, timeout or 0) from None
        except (asyncio.CancelledError, RemoteProtocolError):
            self.abandon()
            raise
        finally:
            self._watch.close()

    async def cancel(self, options: CallOptions | None = None) -> TaskRecord:
        """Cancel the task; see `TaskHandle.cancel`. A task that has ended stays as it is."""
        await self._tasks.cancel_task(task_id=self.id, options=options)
        return await self.poll(options)

    async def _cancel_quietly(self) -> None:
        with suppress(McpError):
            await self._tasks.cancel_task(task_id=self.id)

    async def _meanwhile(self, options: CallOptions | None) -> R | None:
        asked: dict[str, Any] = getattr(self._state, "input_requests", None) or {}
        if new := {key: request for key, request in asked.items() if key not in self._answered}:
            self._answered.update(new)
            if len(self._answered) > MAX_QUESTIONS:
                raise self._violation("/inputRequests", f"the task asks more than {MAX_QUESTIONS:,} questions")
            answers = await answer_all(self._stub.connection, self._method, new)
            await self._tasks.update_task(task_id=self.id, input_responses=answers)
        await (self._watch.pause if self._is_polled else pause)(self.record.poll_interval)
        return None

    async def _fetch(self, options: CallOptions | None) -> R:
        if self.record.status is Status.CANCELLED:
            raise TaskFailed(self.record)
        outcome = "result" if self.record.status is Status.COMPLETED else "error"
        if not hasattr(self._state, outcome):  # the server created a task that had ended; older reports may still come
            self._state = await self._tasks.get_task(task_id=self.id, options=options)
            if not hasattr(self._state, outcome):
                raise self._violation("/status", f"the task was {self.record.status}, and is now {self._state.status}")
        if outcome == "result":
            return self._read(self._state.model_dump(mode="json", by_alias=True)["result"])
        error = PeerError(self._state.error.code, self._state.error.message, self._state.error.data)
        error.is_from_peer = True
        raise error

    def _violation(self, pointer: str, reason: str) -> RemoteProtocolError:
        connection = self._stub.connection
        place = {"revision": connection.revision, "method": TASKS_GET, "pointer": pointer}
        error = RemoteProtocolError(**place, reason=reason)
        connection.report(error)
        return error


class Answered(TaskHandle[R]):
    """What a server answered without a task."""

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], answer: R) -> None:
        now = datetime.now(UTC)
        super().__init__(
            stub, method, TaskRecord(id="", created_at=now, updated_at=now, ttl=None, status=Status.COMPLETED)
        )
        self._answer = answer

    async def _fetch(self, options: CallOptions | None) -> R:
        return self._answer


def ends_of(timeout: float | None) -> float | None:
    """Return when a timeout that begins now ends, by the event loop's clock."""
    return None if timeout is None else asyncio.get_running_loop().time() + timeout
