"""The side that has tasks run: begin one, watch it, fetch what it came to (2025-11-25, basic/utilities/tasks)."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar, cast

from mcp_runtime.caller import CallOptions
from mcp_runtime.errors import LocalProtocolError, McpError, RemoteProtocolError, RequestTimeout
from mcp_runtime.features.tasks.states import Status, TaskRecord
from mcp_runtime.method import RequestMethod
from mcp_runtime.protocol.names import TASKS_CANCEL, TASKS_GET, TASKS_RESULT
from mcp_runtime.protocol.text import clipped
from mcp_runtime.remote import Stub

P = TypeVar("P")
R = TypeVar("R")

DEFAULT_INTERVAL: Final = 1000
"""Milliseconds between two looks at a task whose owner does not say how long to wait."""
MIN_INTERVAL: Final = 10

StatusHook = Callable[[TaskRecord], None]
"""Is told of each state that a task was seen in."""


class TaskFailed(McpError):
    """A task failed or was cancelled, and the peer has neither its result nor an error, but something else.

    Args:
        record: the task as it was last seen; its message may say why.
    """

    def __init__(self, record: TaskRecord) -> None:
        words = f": {clipped(record.message)}" if record.message else ""
        super().__init__(f"the task is {record.status.value!r}, and has no result{words}")
        self.record = record

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.record,))


class TaskHandle(Generic[R]):
    """A task that the peer runs; `R` is the type of what it will come to.

    Args:
        stub: the peer.
        method: the request that the task was made of, a record of the revision's ``methods`` module.
        task: the task, as in the ``CreateTaskResult``.

    Attributes:
        record: the task as it was last seen.

    Raises:
        RemoteProtocolError: the peer spells a time in a way that is not ISO 8601.
    """

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], task: Any) -> None:
        self.record = _record(stub, task)
        self._stub = stub
        self._method = method
        self._stop_listening: Callable[[], None] | None = None

    @property
    def id(self) -> str:
        """The id of the task."""
        return self.record.id

    async def poll(self, options: CallOptions | None = None) -> TaskRecord:
        """Ask how the task is doing; raises as `Connection.request` does.

        Raises:
            PeerError: -32602, there is no such task: it has expired.
        """
        task = await self._ask(TASKS_GET, options)
        self.record = _record(self._stub, task)
        return self.record

    async def result(self, options: CallOptions | None = None, *, on_status: StatusHook | None = None) -> R:
        """Wait until the task has ended, and fetch what it came to.

        It is looked at no more often than the peer wants. A task that needs input is waited for with ``tasks/result``,
        so that the peer can ask. Cancelling this does not cancel the task.

        Args:
            options: limits of each single message; bound the whole with `asyncio.timeout`.
            on_status: is told of each state that the task was seen in.

        Raises:
            PeerError: the error that the request ended with, or -32602 if the task has expired.
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
        """Cancel the task; raises as `Connection.request` does.

        Raises:
            PeerError: -32602, it has ended already or has expired.
            MissingCapability: the peer cannot cancel tasks.
        """
        task = await self._ask(TASKS_CANCEL, options)
        self.record = _record(self._stub, task)
        self.close()
        return self.record

    def listen(self, stop: Callable[[], None]) -> None:
        """Keep what ends the reports of progress, to be called when the task has ended."""
        self._stop_listening = stop

    def close(self) -> None:
        """Take no more reports of progress; the task goes on. Not needed once its result has been fetched."""
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    def abandon(self) -> None:
        """Cancel the task without waiting for that, as far as the peer can."""
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
            # Some peers keep nothing for a task that has failed.
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


async def start_task(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P,
    *,
    ttl: float | None = None,
    options: CallOptions | None = None,
) -> TaskHandle[R]:
    """Send a request that the peer shall work on as a task; raises as `Connection.request` does.

    Args:
        stub: the peer: a client's stub of the server, or ``ctx.client``.
        method: the request, a record of the revision's ``methods`` module.
        params: its params, without ``task``.
        ttl: seconds for which the task and its result shall be kept; None to leave that to the peer.
        options: limits of this message; `progress` is told how far the task has come for as long as it lasts.

    Raises:
        LocalProtocolError: the revision does not let this request be a task.
        MissingCapability: the peer did not declare that it runs tasks of this request.
        PeerError: -32601, the peer does not do this as a task (a tool may be one or not).
    """
    connection = stub.connection
    if not method.task_augmentable or method.params is None:
        reason = "this request cannot be a task"
        raise LocalProtocolError(revision=stub.__binding__.revision, method=method.name, pointer="/task", reason=reason)
    given: Any = params
    spelled: dict[str, Any] = given.model_dump(mode="json")
    spelled["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
    stop: Callable[[], None] | None = None
    limits = options
    if options is not None and options.progress is not None:
        # The token of an ordinary request is its id, which means nothing any more once it is answered.
        token = f"task-{secrets.token_hex(8)}"
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


async def run_as_task(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P,
    *,
    ttl: float | None = None,
    options: CallOptions | None = None,
    on_status: StatusHook | None = None,
) -> R:
    """Send a request that the peer shall work on as a task, and wait for what it comes to.

    Cancelling this cancels the task too. The arguments and errors are those of `start_task` and `TaskHandle.result`.
    """
    handle = await start_task(stub, method, params, ttl=ttl, options=options)
    limits = None if options is None else CallOptions(timeout=options.timeout, max_time=options.max_time)
    try:
        return await handle.result(limits, on_status=on_status)
    except asyncio.CancelledError:
        handle.abandon()
        raise
    finally:
        handle.close()


def _record(stub: Stub, task: Any) -> TaskRecord:
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
        reason = "not a time in ISO 8601"
        raise RemoteProtocolError(revision=revision, method=None, pointer=f"/{member}", reason=reason) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
