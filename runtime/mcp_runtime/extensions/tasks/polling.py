"""The client of tasks: of 2026-07-28, whose calls are answered by tasks, and what starts tasks in either revision."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final, NoReturn, TypeVar, cast

from mcp_runtime import sources
from mcp_runtime.connection.connection import Connection
from mcp_runtime.connection.results import Interrupted
from mcp_runtime.errors import McpError, PeerError, RemoteProtocolError, RequestTimeout
from mcp_runtime.extensions.tasks.caller import StatusHook, TaskFailed, TaskHandle, create_task, record_of
from mcp_runtime.extensions.tasks.states import timestamp
from mcp_runtime.features.inputs.questions import answer_all
from mcp_runtime.features.listen import listen
from mcp_runtime.handlers import Stub
from mcp_runtime.method import RequestMethod
from mcp_runtime.options import CallOptions
from mcp_runtime.protocol.names import TASKS_CANCEL, TASKS_GET, TOOLS_CALL

P = TypeVar("P")
R = TypeVar("R")

PACKAGE: Final = "mcp_bindings.extensions.tasks"
DEFAULT_INTERVAL: Final = 1.0
"""The default interval in seconds between two polls of a task."""
MIN_INTERVAL: Final = 0.1
MAX_INTERVAL: Final = 60.0
MAX_QUESTIONS: Final = 1_000
"""How many questions of one task are answered."""


async def resume_call(connection: Connection, created: Any, call: Interrupted[Any, Any]) -> Any:
    """Wait for a task; the timeout of the call counts from its beginning."""
    if _STARTING.get() is call.method:
        return created
    timeout = call.options.timeout
    ends = None if timeout is None else call.ends
    return await _follow(connection, created.task_id, timeout, created.poll_interval_ms, ends=ends)


_STARTING: Final[ContextVar[Any]] = ContextVar("mcp_starting_task", default=None)
"""The method of a call whose task is returned instead of its result."""


class DeferredTask(TaskHandle[R]):
    """A task of 2026-07-28; its id is empty if the server answered the call without one."""

    def __init__(self, stub: Stub, method: RequestMethod[Any, R], answer: Any) -> None:
        self._tasks = import_module(PACKAGE).ClientMixin(stub.connection)
        self._answer = None if hasattr(answer, "task_id") else answer
        if self._answer is not None:
            now = timestamp(datetime.now(UTC))
            said = {"task_id": "", "status": "completed", "created_at": now, "last_updated_at": now}
            answer = SimpleNamespace(**said, ttl_ms=None, poll_interval_ms=None, status_message=None)
        super().__init__(stub, method, _as_older(answer))

    async def _ask(self, name: str, options: CallOptions | None) -> Any:
        if name == TASKS_CANCEL:
            await self._tasks.cancel_task(task_id=self.id, options=options)
        return _as_older(await self._tasks.get_task(task_id=self.id, options=options))

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
        if self._answer is not None:
            return cast(R, self._answer)

        def observe(task: Any) -> None:
            self.record = record_of(self._stub, _as_older(task))
            if on_status is not None:
                on_status(self.record)

        timeout = None if options is None else options.timeout
        wait = self.record.poll_interval
        return cast(R, await _follow(self._stub.connection, self.id, timeout, wait, observe))


def _as_older(task: Any) -> Any:
    """Return a task with the properties of 2025-11-25."""
    return SimpleNamespace(**vars(task), ttl=task.ttl_ms, poll_interval=task.poll_interval_ms)


async def _start(stub: Stub, method: RequestMethod[Any, R], params: Any, options: CallOptions | None) -> TaskHandle[R]:
    """Send a call of 2026-07-28, and return its task if the server makes one."""
    if isinstance(params, Mapping):
        assert method.params is not None
        given = cast("Mapping[str, Any]", params)
        params = method.params.build({**given, "_meta": {**stub.connection.request_meta(), **given.get("_meta", {})}})
    token = _STARTING.set(method)
    try:
        return DeferredTask(stub, method, await stub.__caller__.request(method, params, options))
    finally:
        _STARTING.reset(token)


async def start_task(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P | Mapping[str, Any],
    *,
    ttl: float | None = None,
    options: CallOptions | None = None,
) -> TaskHandle[R]:
    """Send a request for the peer to run as a task; raises like `Connection.request` as well.

    In 2026-07-28 the server decides whether it becomes a task; without one, the handle has an empty id, and its result.

    Args:
        stub: the peer: a client's stub of the server, or ``ctx.client``.
        method: the method of the request, a record of the revision's ``methods`` module.
        params: its params, without ``task``: an object, or a mapping by wire names.
        ttl: seconds to keep the task and its result; None to let the peer decide, as it always does in 2026-07-28.
        options: timeouts of the request; `progress` is called for as long as the task runs.

    Raises:
        LocalProtocolError: the revision does not allow this request as a task.
        MissingCapability: the peer did not declare tasks for this request.
        PeerError: -32601, the peer does not run this as a task (tools may or may not allow it).
    """
    if TASKS_GET not in stub.__binding__.methods and method.name == TOOLS_CALL:
        return await _start(stub, method, params, options)
    return await create_task(stub, method, params, ttl, options)


async def run_as_task(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P,
    *,
    ttl: float | None = None,
    options: CallOptions | None = None,
    on_status: StatusHook | None = None,
) -> R:
    """Send a request for the peer to run as a task, and wait for its result.

    Cancelling this cancels the task too.

    Args:
        stub: the peer: a client's stub of the server, or ``ctx.client``.
        method: the method of the request, a record of the revision's ``methods`` module.
        params: its params, without ``task``.
        ttl: seconds to keep the task and its result; None to let the peer decide.
        options: timeouts of each request; `progress` is called for as long as the task runs.
        on_status: called with each observed state of the task.

    Raises:
        LocalProtocolError: the revision does not allow this request as a task.
        MissingCapability: the peer did not declare tasks for this request.
        PeerError: the error of the request, -32601 if it cannot be a task, or -32602 if the task has expired.
        TaskFailed: it failed, and the peer does not have the error.
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


async def _follow(
    connection: Connection,
    task_id: str,
    timeout: float | None,
    wait: float | None,
    observe: Callable[[Any], None] = lambda _: None,
    *,
    ends: float | None = None,
) -> Any:
    """Poll a task until it has ended, and answer what it asks; return the result of its call."""
    stub = import_module(PACKAGE).ClientMixin(connection)
    assert connection.binding is not None
    method: Any = connection.binding.methods[TOOLS_CALL]
    answered: set[str] = set()
    watch = Watch(connection, task_id)
    if ends is None and timeout is not None:
        ends = asyncio.get_running_loop().time() + timeout
    try:
        async with asyncio.timeout_at(ends):
            await _pause(wait)
            while True:
                task: Any = watch.take() or await stub.get_task(task_id=task_id)
                observe(task)
                if task.status == "completed":
                    result = task.model_dump(mode="json", by_alias=True)["result"]
                    return connection.requester.reader.read(method.result, result, TOOLS_CALL)
                if task.status in ("failed", "cancelled"):
                    _fail(stub, task)
                asked: dict[str, Any] = task.input_requests if task.status == "input_required" else {}
                if new := {key: request for key, request in asked.items() if key not in answered}:
                    answered.update(new)
                    if len(answered) > MAX_QUESTIONS:
                        raise _too_many(connection)
                    answers = await answer_all(connection, method, new)
                    await stub.update_task(task_id=task_id, input_responses=answers)
                await watch.pause(task.poll_interval_ms)
    except TimeoutError:
        connection.spawn(_cancel(stub, task_id))
        raise RequestTimeout(TOOLS_CALL, timeout or 0) from None
    except (asyncio.CancelledError, RemoteProtocolError):
        if connection.closed_because is None:
            connection.spawn(_cancel(stub, task_id))
        raise
    finally:
        watch.close()


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
        waiting = asyncio.ensure_future(_pause(MAX_INTERVAL * 1000 if self._is_told else milliseconds))
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


async def _pause(milliseconds: float | None) -> None:
    """Wait until the next poll, so that clients that started together do not poll together."""
    if milliseconds == 0:
        return
    seconds = DEFAULT_INTERVAL if milliseconds is None else milliseconds / 1000
    await asyncio.sleep(min(max(seconds, MIN_INTERVAL), MAX_INTERVAL) * sources.jitter(1, 1.1))


def _too_many(connection: Connection) -> RemoteProtocolError:
    reason = f"the task asks more than {MAX_QUESTIONS:,} questions"
    error = RemoteProtocolError(revision=connection.revision, method=TASKS_GET, pointer="/inputRequests", reason=reason)
    connection.report_error(error)
    return error


async def _cancel(stub: Any, task_id: str) -> None:
    with suppress(McpError):
        await stub.cancel_task(task_id=task_id)


def _fail(stub: Stub, task: Any) -> NoReturn:
    if task.status == "failed":
        error = PeerError(task.error.code, task.error.message, task.error.data)
        error.is_from_peer = True
        raise error
    raise TaskFailed(record_of(stub, _as_older(task)))
