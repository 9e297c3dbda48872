"""The requesting side of tasks: a handle of a task of 2025-11-25 (basic/utilities/tasks)."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, cast

from mcp_runtime.core import sources
from mcp_runtime.core.connection.checks import read_result
from mcp_runtime.core.errors import McpError, RemoteProtocolError, RequestTimeout, clipped
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.method import MethodTable, RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.jsonrpc import dump
from mcp_runtime.core.protocol.names import TASKS_CANCEL, TASKS_GET, TASKS_RESULT
from mcp_runtime.extensions.tasks.states import Status, TaskRecord

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_INTERVAL: Final = 1.0
"""The default interval in seconds between two polls of a task."""
MIN_INTERVAL: Final = 0.1
MAX_INTERVAL: Final = 60.0
"""The shortest and the longest interval in seconds, whatever the peer asks for."""

StatusHook = Callable[[TaskRecord], None]
"""Called with each observed state of a task."""


class TaskFailed(McpError):
    """A task failed or was cancelled, and the peer has neither a result nor an error for it.

    Args:
        record: the last known state of the task; its message may give a reason.
    """

    def __init__(self, record: TaskRecord) -> None:
        words = f": {clipped(record.message)}" if record.message else ""
        super().__init__(f"the task is {record.status.value!r} and has no result{words}")
        self.record = record


class TaskHandle(Generic[R]):
    """A task that the peer runs; `R` is the type of its result.

    Args:
        stub: the peer.
        method: the method of the request, a record of the revision's ``methods`` module.
        task: the task, as in ``CreateTaskResult``, or its record.

    Attributes:
        record: the last known state of the task.

    Raises:
        RemoteProtocolError: the peer sent a time that is not ISO 8601.
    """

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], task: Any) -> None:
        self.record: TaskRecord = task if isinstance(task, TaskRecord) else record_of(stub, task)
        self._stub = stub
        self._method = method
        self._stop_listening: Callable[[], object] | None = None
        self._is_abandoned = False

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.record.id

    async def poll(self, options: CallOptions | None = None) -> TaskRecord:
        """Request the state of the task; raises like `Connection.request` as well.

        Args:
            options: timeouts of the request.

        Raises:
            PeerError: -32602, the task does not exist or has expired.
        """
        self.record = record_of(self._stub, await self._ask(TASKS_GET, options))
        return self.record

    async def result(self, options: CallOptions | None = None, *, on_status: StatusHook | None = None) -> R:
        """Wait until the task has ended, and fetch its result.

        The task is polled no more often than the peer allows. While a task needs input, ``tasks/result`` is used, so
        that the peer can ask. Cancelling this does not cancel the task.

        Args:
            options: timeouts of each request; limit the whole with `asyncio.timeout`.
            on_status: called with each observed state of the task.

        Raises:
            PeerError: the error of the request, or -32602 if the task has expired.
            TaskFailed: it failed, and the peer does not have the error.
        """
        return await self._follow(options, on_status)

    async def cancel(self, options: CallOptions | None = None) -> TaskRecord:
        """Cancel the task; raises like `Connection.request` as well.

        Args:
            options: timeouts of the request.

        Raises:
            PeerError: -32602, it has already ended or has expired.
            MissingCapability: the peer cannot cancel tasks.
        """
        self.record = record_of(self._stub, await self._ask(TASKS_CANCEL, options))
        self.close()
        return self.record

    def listen(self, stop: Callable[[], object]) -> None:
        """Register a function to be called when the task has ended.

        Args:
            stop: ends progress reports.
        """
        self._stop_listening = stop

    def close(self) -> None:
        """Ignore further progress reports; the task continues. Not needed once its result has been fetched."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def abandon(self) -> None:
        """Cancel the task without waiting, as far as the peer can."""
        self.close()
        connection = self._stub.connection
        if connection.closed_because is None and not self._is_abandoned:
            self._is_abandoned = True
            connection.spawn(self._cancel_quietly())

    async def _follow(self, options: CallOptions | None, on_status: StatusHook | None) -> R:
        """Poll the task until it has ended, and let it ask in the meantime."""
        while True:
            if on_status is not None:
                on_status(self.record)
            if self.record.status.is_terminal:
                return await self._fetch(options)
            if (early := await self._meanwhile(options)) is not None:
                return early
            await self.poll(options)

    async def _meanwhile(self, options: CallOptions | None) -> R | None:
        """Wait until the next poll, or until the result has arrived."""
        if self.record.status is Status.INPUT_REQUIRED:
            with suppress(RequestTimeout):
                return await self._fetch(options)
        else:
            await pause(self.record.poll_interval)
        return None

    async def _fetch(self, options: CallOptions | None) -> R:
        """Return the result of a task, which ends before this returns."""
        method = self._tasks_method(TASKS_RESULT)
        assert method.params is not None
        params = method.params.build({"taskId": self.id})
        try:
            kind: type[dict[str, Any]] = dict[str, Any]
            result = self._read(await self._stub.__caller__.request_as(method, params, kind, options))
        except RequestTimeout:
            raise
        except RemoteProtocolError as error:
            self.close()
            # Some peers keep nothing for a failed task.
            if self.record.status in (Status.FAILED, Status.CANCELLED):
                raise TaskFailed(self.record) from error
            raise
        except BaseException:
            self.close()
            raise
        self.close()
        return result

    def _read(self, value: dict[str, Any]) -> R:
        """Return a result of the revision in use as one of the request's own."""
        connection, method = self._stub.connection, self._method
        try:
            result, resume, _ = read_result(connection.results, connection.requester, method, value, dump(value))
            if resume is not None:
                tag, place = connection.requester.result_tag, {"revision": connection.revision, "method": method.name}
                reason = f"the result of a task is {clipped(repr(value[tag]))}, not the usual one"
                raise RemoteProtocolError(**place, pointer=f"/{tag}", reason=reason)
            return cast("R", result)
        except RemoteProtocolError as error:
            connection.report(error)
            raise

    async def _cancel_quietly(self) -> None:
        with suppress(McpError):
            await self.cancel()

    async def _ask(self, name: str, options: CallOptions | None) -> Any:
        method = self._tasks_method(name)
        assert method.params is not None
        return await self._stub.__caller__.request(method, method.params.build({"taskId": self.id}), options)

    def _tasks_method(self, name: str) -> RequestMethod[Any, Any]:
        return cast("RequestMethod[Any, Any]", spoken_methods(self._stub)[name])


async def pause(milliseconds: float | None) -> None:
    """Wait until the next poll, so that clients that started together do not poll together."""
    seconds = DEFAULT_INTERVAL if milliseconds is None else milliseconds / 1000
    await asyncio.sleep(min(max(seconds, MIN_INTERVAL), MAX_INTERVAL) * sources.jitter(1, 1.1))


def spoken_methods(stub: Stub) -> MethodTable:
    """Return the methods of the revision in use."""
    return (stub.connection.requester.spoken or stub.__binding__).methods


def record_of(stub: Stub, task: Any) -> TaskRecord:
    """Return a peer's task as a record.

    Raises:
        RemoteProtocolError: a time is not ISO 8601.
    """
    is_extended = hasattr(task, "ttl_ms")
    return TaskRecord(
        id=task.task_id,
        created_at=_moment(stub, "createdAt", task.created_at),
        updated_at=_moment(stub, "lastUpdatedAt", task.last_updated_at),
        ttl=task.ttl_ms if is_extended else task.ttl,
        poll_interval=task.poll_interval_ms if is_extended else task.poll_interval,
        status=Status(task.status),
        message=task.status_message or "",
    )


def _moment(stub: Stub, member: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        revision = stub.__binding__.revision
        reason = "not an ISO 8601 time"
        raise RemoteProtocolError(revision=revision, method=None, pointer=f"/{member}", reason=reason) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
