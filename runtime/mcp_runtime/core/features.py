"""What both sides have besides handlers: roots, keep-alive, log levels, tasks, and known lists of servers."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from pydantic_core import to_json

from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.requester import Handler
from mcp_runtime.core.errors import ConnectionClosed, LocalProtocolError, McpError
from mcp_runtime.core.handlers import Context
from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import AnyRequest, NotificationMethod, RequestMethod
from mcp_runtime.core.options import CallOptions
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.capabilities import declares
from mcp_runtime.core.protocol.dispatch import Side, State
from mcp_runtime.core.protocol.uris import UnsafePath, read_uri
from mcp_runtime.core.settings import Feature

LOGGING: Final = "logging"
"""The connection feature that names the event loop of a connection whose server sends log messages."""
RELATED: Final = "io.modelcontextprotocol/related-task"
"""The property of `_meta` that names the task to which a message belongs."""
OWN_IDS: Final = frozenset((names.PING, names.TASKS_CANCEL, names.TASKS_GET, names.TASKS_LIST, names.TASKS_RESULT))
"""Requests that belong to no task, or name the task in their params."""


@dataclass(frozen=True, slots=True)
class KeepAlive(Feature):
    """Pings a peer that is silent (`Limits.ping_interval`), and closes the connection if it does not answer."""

    def install(self, connection: Connection) -> None:
        """Start watching the peer, if pings are enabled."""
        interval = connection.limits.ping_interval
        if interval is not None:
            connection.spawn(_watch(connection, interval, connection.limits.ping_timeout))


async def _watch(connection: Connection, interval: float, timeout: float) -> None:
    method = connection.requester.method(names.PING)
    if not isinstance(method, RequestMethod):
        return
    loop = asyncio.get_running_loop()
    while True:
        silent = loop.time() - connection.last_activity
        if silent < interval:
            await asyncio.sleep(interval - silent)
        elif await _answers(connection, method, timeout):
            # An answer counts as activity; a ping that middleware refused proves nothing.
            await asyncio.sleep(interval if loop.time() - connection.last_activity >= interval else 0)
        elif loop.time() - connection.last_activity >= timeout:
            reason = f"the peer was silent for {interval:g} s and did not answer a ping within {timeout:g} s"
            # In a separate task: closing waits for everything that the connection started, including this one.
            _closing.add(closing := loop.create_task(connection.aclose(reason)))
            closing.add_done_callback(_closing.discard)
            return


async def _answers(connection: Connection, method: "RequestMethod[object, object]", timeout: float) -> bool:
    """Ping once; return whether the peer may be alive: an error is an answer as well."""
    try:
        # A separate timeout: a peer that does not read may keep the ping from being sent.
        async with asyncio.timeout(timeout):
            await connection.request(method, None, CallOptions(timeout=2 * timeout))
    except (TimeoutError, ConnectionClosed):
        return False
    except McpError:
        return True
    return True


_closing: set["asyncio.Task[None]"] = set()
"""Connections that are being closed: the event loop itself holds tasks only weakly."""


@dataclass(frozen=True, slots=True)
class Logging(Feature):
    """Lets a server send log messages, and its client choose which."""

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare that log messages are sent."""
        return ("logging",)

    def install(self, connection: Connection) -> None:
        """Answer ``logging/setLevel`` where it exists, before the server's own handler if there is one."""
        connection.features[LOGGING] = asyncio.get_running_loop()
        method = connection.requester.method(names.LOGGING_SET_LEVEL)
        if not isinstance(method, RequestMethod):
            return
        own = connection.handler(names.LOGGING_SET_LEVEL)

        async def set_level(params: Any, ctx: Context[Any]) -> Any:
            connection.set_log_level(params.level)
            return await own(params, ctx) if own else method.result.build({})

        connection.handle(method, set_level)


def related_meta(task_id: str) -> dict[str, Any]:
    """Return the `_meta` of a message that belongs to a task."""
    return {RELATED: {"taskId": task_id}}


def related_task(meta: Mapping[str, Any]) -> str | None:
    """Return the id of the task that a message belongs to, or None.

    Args:
        meta: the `_meta` of the message.
    """
    task_id = related.get("taskId") if is_object(related := meta.get(RELATED)) else None
    return task_id if isinstance(task_id, str) else None


def mark(result: Any, task_id: str) -> Any:
    """Return a result, a generated model, marked as belonging to a task."""
    # Answers to questions have no `_meta` of their own in 2026-07-28.
    name = "meta" if hasattr(result, "meta") else "_meta"
    return result.model_copy(update={name: {**(getattr(result, name, None) or {}), **related_meta(task_id)}})


@dataclass(frozen=True, slots=True)
class RelatedTasks(Feature):
    """Marks answers to messages of the peer's tasks."""

    def install(self, connection: Connection) -> None:
        """Mark answers, if the peer runs tasks."""
        if connection.binding is None or not declares(connection.declared[connection.side.other], "tasks"):
            return
        for method in connection.binding.methods.values():
            own = connection.handler(method.name)
            if isinstance(method, RequestMethod) and method.name not in OWN_IDS and own is not None:
                connection.handle(method, _marking(own))


def _marking(own: Handler) -> Handler:
    async def handler(params: Any, ctx: Context[Any]) -> Any:
        result = await own(params, ctx)
        task_id = related_task(ctx.meta)
        return result if task_id is None else mark(result, task_id)

    return handler


_ROOTS: Final = "roots"


@dataclass(frozen=True, slots=True)
class RootsList(Feature):
    """Answers ``roots/list`` for a client; `set_roots` changes the answer on one connection.

    Attributes:
        roots: the roots, keyed by wire names.
    """

    roots: tuple[Mapping[str, Any], ...]

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str]:
        """Declare roots, and announcements of changes where the revision has them."""
        spoken = connection.requester.spoken
        notifies = spoken is not None and names.NOTIFICATIONS_ROOTS_LIST_CHANGED in spoken.methods
        return ("roots.listChanged",) if notifies else ("roots",)

    def install(self, connection: Connection) -> None:
        """Answer with these roots until others are set."""
        binding = connection.binding
        assert binding is not None
        method = cast("AnyRequest", binding.methods[names.ROOTS_LIST])
        connection.features[_ROOTS] = self.roots

        async def list_roots(params: Any, ctx: Context[Any]) -> Any:
            return method.result.build({"roots": list(connection.features[_ROOTS])})

        connection.handle(method, list_roots)


async def set_roots(connection: Connection, roots: Sequence[Any]) -> None:
    """Set the roots, and notify the server of the change; see `ClientStub.set_roots`."""
    checked = tuple(map(root_of, roots))
    if _ROOTS not in connection.features:
        reason = "this client did not declare roots: open it with options=ClientOptions(roots=[...])"
        raise LocalProtocolError(revision=connection.revision, method=names.ROOTS_LIST, pointer="", reason=reason)
    connection.features[_ROOTS] = checked
    if connection.binding is not None and connection.state is State.READY:
        method = connection.requester.method(names.NOTIFICATIONS_ROOTS_LIST_CHANGED)
        if not isinstance(method, NotificationMethod):
            return
        await connection.notify(method, None)


def root_of(root: Any) -> dict[str, Any]:
    """Return a root keyed by wire names.

    Raises:
        ValueError: the URI is not a ``file:`` URI, or disguises its target.
    """
    made: dict[str, Any] = {"uri": root} if isinstance(root, str) else root.model_dump(mode="json")
    try:
        read_uri(made["uri"])
    except UnsafePath as error:
        raise ValueError(f"a root must be a file URI (file:///path), not {made['uri']!r}: {error}") from error
    return made


MAX_PAGES: Final = 1_000


async def read_pages(exchange: Exchange, method: AnyRequest, read: Callable[[Any], bool | None]) -> None:
    """Read the pages of a list that a client requests, or that a server makes for the sender of a message.

    Args:
        exchange: the message.
        method: the method of the list, a record of this side's revision.
        read: called with each page; returns True if no more are needed.
    """
    connection, cursor = exchange.connection, None
    for _ in range(MAX_PAGES):
        params = _params(exchange, method, cursor)
        if connection.side is Side.CLIENT:
            page: Any = await connection.request(method, params, None)
        else:
            page = await connection.ask_self(method, params)
        if page is None or read(page) or (cursor := page.next_cursor) is None:
            return


def _params(exchange: Exchange, method: AnyRequest, cursor: str | None) -> Any:
    """Return the params of a request for a page, on a server as if the sender of the message had sent them."""
    assert method.params is not None
    requester, connection = exchange.requester, exchange.connection
    given: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
    if connection.side is Side.CLIENT:
        if meta := connection.request_meta():
            given["_meta"] = dict(meta)
    else:
        if requester.is_modern:
            given["_meta"] = {name: value for name, value in exchange.meta.items() if name != "progressToken"}
        if requester.wire is not None:
            given = requester.wire.incoming(method, "params", given, to_json(given), requester.reader)
    return method.params.build(given) if given else None
