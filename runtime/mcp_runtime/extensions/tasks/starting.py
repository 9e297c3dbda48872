"""What starts tasks in either wire form, and finds them again."""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from importlib import import_module
from typing import Any, Final, TypeVar, cast

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Lasting
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.results import Interrupted
from mcp_runtime.core.errors import LocalProtocolError
from mcp_runtime.core.handlers import Stub
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.names import PREFIX, TASKS_GET, TOOLS_CALL
from mcp_runtime.extensions.tasks.caller import StatusHook, TaskHandle, spoken_methods
from mcp_runtime.extensions.tasks.polling import PACKAGE, Answered, DeferredTask, ends_of

P = TypeVar("P")
R = TypeVar("R")

_STARTING: Final[ContextVar[Any]] = ContextVar("mcp_starting_task", default=None)
"""The method of a call whose task is returned instead of its result."""


async def resume_call(connection: Connection, created: Any, call: Interrupted[Any, Any]) -> Any:
    """Wait for a task; the timeout of the call counts from its beginning."""
    if _STARTING.get() is call.method:
        return created
    timeout = call.options.timeout
    task = DeferredTask[Any](connection.stub, call.method, created)
    return await task.within(timeout, None if timeout is None else call.ends)


async def _start(stub: Stub, method: RequestMethod[Any, R], params: Any, options: CallOptions | None) -> TaskHandle[R]:
    """Send a call, and return its task if the server makes one."""
    if isinstance(params, Mapping):
        assert method.params is not None
        given = cast("Mapping[str, Any]", params)
        params = method.params.build({**given, "_meta": {**stub.connection.request_meta(), **given.get("_meta", {})}})
    token = _STARTING.set(method)
    try:
        answer = await stub.__caller__.request(method, params, options)
    finally:
        _STARTING.reset(token)
    if hasattr(answer, "task_id"):
        return DeferredTask(stub, method, answer)
    return Answered(stub, method, answer)


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
    own, spoken = stub.__binding__.methods, spoken_methods(stub)
    if method.name == TOOLS_CALL:
        peer, is_new = stub.connection.declared[Side.SERVER], stub.connection.requester.result_tag
        has_tasks = TASKS_GET in spoken and declares(peer, "tasks.requests.tools.call")
        if is_new or (TASKS_GET not in own and not has_tasks):
            return await _start(stub, method, params, options)
    return await _create(stub, method, params, ttl, options)


async def _create(
    stub: Stub,
    method: RequestMethod[P, R],
    params: P | Mapping[str, Any],
    ttl: float | None,
    options: CallOptions | None,
) -> TaskHandle[R]:
    """Send a request for the peer to run as a task; see `start_task`."""
    connection, spoken = stub.connection, spoken_methods(stub)
    native: Any = spoken.get(method.name, method) if TASKS_GET in spoken else method
    if not native.task_augmentable or native.params is None:
        reason = "this request cannot be a task"
        raise LocalProtocolError(revision=stub.__binding__.revision, method=method.name, pointer="/task", reason=reason)
    given: Any = params
    spelled: dict[str, Any] = {**params} if isinstance(params, Mapping) else given.model_dump(mode="json")
    if native is not method:
        meta: dict[str, Any] = spelled.get("_meta") or {}
        spelled["_meta"] = {name: said for name, said in meta.items() if not name.startswith(PREFIX)}
    spelled["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
    stop: Callable[[], object] | None = None
    limits = options
    if options is not None and options.progress is not None:
        # The token of an ordinary request is its id, which is no longer valid once it is answered.
        token = f"task-{sources.token_hex(8)}"
        spelled["_meta"] = {**(spelled.get("_meta") or {}), "progressToken": token}
        lasting = connection.session.lasting
        lasting[token] = Lasting(options.progress)
        stop = partial(lasting.pop, token, None)
        limits = CallOptions(timeout=options.timeout, max_time=options.max_time)
    try:
        kind: type[Any] = native.alternatives[0].load()
        created = await stub.__caller__.request_as(native, native.params.build(spelled), kind, limits)
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
    ends, stub = ends_of(timeout), client
    task = (
        await import_module(PACKAGE)
        .ClientMixin(client.connection)
        .get_task(task_id=task_id, options=CallOptions(timeout=timeout))
    )
    return await DeferredTask[Any](stub, stub.__binding__.methods[TOOLS_CALL], task).within(timeout, ends)
