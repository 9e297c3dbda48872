"""The requesting side of tasks: start one, watch it, fetch its result (2025-11-25, basic/utilities/tasks)."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, cast

from mcp_runtime import sources
from mcp_runtime.errors import LocalProtocolError, McpError, RemoteProtocolError, RequestTimeout, clipped
from mcp_runtime.extensions.tasks.states import Status, TaskRecord
from mcp_runtime.handlers import Stub
from mcp_runtime.method import RequestMethod
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.names import TASKS_CANCEL, TASKS_GET, TASKS_RESULT

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_INTERVAL: Final = 1000
"""The default interval in milliseconds between two polls of a task."""
MIN_INTERVAL: Final = 10

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

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.record,))


class TaskHandle(Generic[R]):
    """A task that the peer runs; `R` is the type of its result.

    Args:
        stub: the peer.
        method: the method of the request, a record of the revision's ``methods`` module.
        task: the task, as in ``CreateTaskResult``.

    Attributes:
        record: the last known state of the task.

    Raises:
        RemoteProtocolError: the peer sent a time that is not ISO 8601.
    """

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], task: Any) -> None:
        self.record = record_of(stub, task)
        self._stub = stub
        self._method = method
        self._stop_listening: Callable[[], None] | None = None

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
        task = await self._ask(TASKS_GET, options)
        self.record = record_of(self._stub, task)
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
        while not self.record.status.is_terminal:
            if on_status is not None:
                on_status(self.record)
            if self.record.status is Status.INPUT_REQUIRED:
                with suppress(RequestTimeout):
                    return await self._fetch(options)
            else:
                await asyncio.sleep(max(self.record.poll_interval or DEFAULT_INTERVAL, MIN_INTERVAL) / 1000)
            await self.poll(options)
        if on_status is not None:
            on_status(self.record)
        return await self._fetch(options)

    async def cancel(self, options: CallOptions | None = None) -> TaskRecord:
        """Cancel the task; raises like `Connection.request` as well.

        Args:
            options: timeouts of the request.

        Raises:
            PeerError: -32602, it has already ended or has expired.
            MissingCapability: the peer cannot cancel tasks.
        """
        task = await self._ask(TASKS_CANCEL, options)
        self.record = record_of(self._stub, task)
        self.close()
        return self.record

    def listen(self, stop: Callable[[], None]) -> None:
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
        if connection.closed_because is None:
            connection.spawn(self._cancel_quietly())

    async def _cancel_quietly(self) -> None:
        with suppress(McpError):
            await self.cancel()

    async def _fetch(self, options: CallOptions | None) -> R:
        method = self._tasks_method(TASKS_RESULT)
        assert method.params is not None
        params = method.params.build({"taskId": self.id})
        try:
            result = await self._stub.__caller__.request_as(method, params, self._method.result.load(), options)
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
        return cast(R, result)

    async def _ask(self, name: str, options: CallOptions | None) -> Any:
        method = self._tasks_method(name)
        assert method.params is not None
        return await self._stub.__caller__.request(method, method.params.build({"taskId": self.id}), options)

    def _tasks_method(self, name: str) -> RequestMethod[Any, Any]:
        return cast("RequestMethod[Any, Any]", self._stub.__binding__.methods[name])


async def create_task(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P | Mapping[str, Any],
    ttl: float | None,
    options: CallOptions | None,
) -> TaskHandle[R]:
    """Send a request for the peer to run as a task; see `start_task`."""
    connection = stub.connection
    if not method.task_augmentable or method.params is None:
        reason = "this request cannot be a task"
        raise LocalProtocolError(revision=stub.__binding__.revision, method=method.name, pointer="/task", reason=reason)
    given: Any = params
    spelled: dict[str, Any] = {**params} if isinstance(params, Mapping) else given.model_dump(mode="json")
    spelled["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
    stop: Callable[[], None] | None = None
    limits = options
    if options is not None and options.progress is not None:
        # The token of an ordinary request is its id, which is no longer valid once it is answered.
        token = f"task-{sources.token_hex(8)}"
        spelled["_meta"] = {**(spelled.get("_meta") or {}), "progressToken": token}
        stop = connection.expect_progress(token, options.progress)
        limits = CallOptions(timeout=options.timeout, max_time=options.max_time)
    try:
        created = await stub.__caller__.request_as(
            method, method.params.build(spelled), method.alternatives[0].load(), limits
        )
        handle = TaskHandle(stub, method, created.task)
    except BaseException:
        if stop is not None:
            stop()
        raise
    if stop is not None:
        handle.listen(stop)
    return handle


def record_of(stub: Stub, task: Any) -> TaskRecord:
    """Return a peer's task as a record.

    Raises:
        RemoteProtocolError: a time is not ISO 8601.
    """
    return TaskRecord(
        id=task.task_id,
        created_at=_moment(stub, "createdAt", task.created_at),
        updated_at=_moment(stub, "lastUpdatedAt", task.last_updated_at),
        ttl=task.ttl,
        poll_interval=task.poll_interval,
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
