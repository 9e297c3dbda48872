"""`Tasks`, the extension."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Final

from mcp_runtime.core.changes.listeners import listeners_of
from mcp_runtime.core.connection.connection import Connection
from mcp_runtime.core.connection.requester import Handler
from mcp_runtime.core.method import typed_wire
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.names import TASKS_CANCEL, TASKS_GET, TOOLS_CALL
from mcp_runtime.extensions.extension import Around, Extension
from mcp_runtime.extensions.tasks.deferred import ID
from mcp_runtime.extensions.tasks.engine import Engine
from mcp_runtime.extensions.tasks.polling import PACKAGE, Watch
from mcp_runtime.extensions.tasks.receiver import ANSWERED, paths_of, receive
from mcp_runtime.extensions.tasks.starting import resume_call
from mcp_runtime.extensions.tasks.store import TaskStore
from mcp_runtime.extensions.tasks.task_server import TaskServer, undeclared
from mcp_runtime.extensions.tasks.watching import NOTIFICATIONS_TASKS

TASKS_UPDATE: Final = "tasks/update"
_ANY: Final = typed_wire(dict[str, Any])


class Tasks(Extension):
    """Runs requests as tasks; without arguments, for clients, which poll the tasks of servers.

    In 2025-11-25 the peer decides which of its requests become tasks, in 2026-07-28 the server's handlers do: by
    `defer`. In other revisions nothing happens.

    Args:
        store: stores the tasks that this side runs; None if it runs none.
        after: seconds after which a call that may become a task does so by itself (2026-07-28); None for never.
    """

    def __init__(self, store: TaskStore | None = None, *, after: float | None = None) -> None:
        extension = import_module(PACKAGE).EXTENSION
        update = copy(extension.methods[TASKS_UPDATE])
        update.params = _ANY  # answers are validated one by one
        self.binding = replace(extension, methods={**extension.methods, TASKS_UPDATE: update})
        self.store = store
        self._server = None if store is None else TaskServer(Engine(store), self.binding, after, self._check_declared)
        self.admit = None if self._server is None else self._server.admit
        self._tools: dict[str, str] = {}

    @property
    def revision(self) -> str:
        """Empty: in revisions without tasks, nothing happens."""
        return ""

    @property
    def methods(self) -> Sequence[str]:
        """The methods that it adds."""
        return tuple(dict.fromkeys((*ANSWERED, *self.binding.methods)))

    def declare_tool(self, name: str, support: str) -> None:
        """Let the calls of a tool become tasks in sessions of 2025-11-25, whose clients decide that.

        Args:
            name: the tool.
            support: ``optional`` or ``required``.
        """
        self._tools[name] = support

    def declares(self, connection: Connection, declared: Mapping[str, Any]) -> Iterable[str | Mapping[str, Any]]:
        """Declare the extension, or the tasks of 2025-11-25; see `Feature`."""
        if not self._is_extension(connection):
            return () if self.store is None else paths_of(connection)
        return super().declares(connection, declared) if self._server or connection.side is Side.CLIENT else ()

    def install(self, connection: Connection) -> None:
        """Register the handlers; see `Feature`."""
        if not self._is_extension(connection):
            if self._server is not None:
                connection.features[ID] = None
                receive(connection, self._server.engine, self._tools)
            return
        own = connection.handler(TOOLS_CALL)
        if connection.side is Side.CLIENT or self._server is not None:
            super().install(connection)
        if connection.side is Side.SERVER and self._server is not None:
            connection.features[ID] = own
            # A bridged client of a session has no listeners.
            for listeners in listeners_of(connection)[-1:]:
                listeners.filters.append(self._server.filter)
        if connection.side is Side.CLIENT and connection.binding is not None and connection.requester.result_tag:
            method: Any = (connection.requester.spoken or connection.binding).methods[TOOLS_CALL]
            connection.handle(self.binding.methods[NOTIFICATIONS_TASKS], partial(Watch.take_in, connection))
            for tag, type_ in self.binding.results[TOOLS_CALL].items():
                connection.results.accept(method, tag, type_, partial(resume_call, connection))

    def handlers(self) -> Mapping[str, Handler]:
        """Return what answers the methods of the extension, for requests that declare it."""
        if self._server is None:
            return {}
        own = {TASKS_GET: self._server.get, TASKS_UPDATE: self._server.update, TASKS_CANCEL: self._server.cancel}
        return {name: partial(self._declared, handler) for name, handler in own.items()}

    def around(self) -> Mapping[str, Around]:
        """Return what answers calls of tools with tasks."""
        return {} if self._server is None else {TOOLS_CALL: self._server.call}

    def _check_declared(self, ctx: Any) -> None:
        if self.peer_settings(ctx) is None:
            raise undeclared()

    async def _declared(self, handler: Handler, params: Any, ctx: Any) -> Any:
        self._check_declared(ctx)
        return await handler(params, ctx)

    def _is_extension(self, connection: Connection) -> bool:
        spoken = connection.requester.spoken
        return spoken is not None and spoken.revision == self.binding.revision
