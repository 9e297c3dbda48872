"""Reports of progress and log messages: so many per second leave, and the last one always does.

Both are worth little once a newer one is there, so what is too much is replaced instead of queued
(basic/utilities/progress and server/utilities/logging ask for a limit).
"""

from typing import Any, Final

from mcp_runtime.connection.link import Link
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.throttle import Gate
from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.method import NotificationMethod
from mcp_runtime.protocol.jsonrpc import Id
from mcp_runtime.protocol.names import NOTIFICATIONS_MESSAGE, NOTIFICATIONS_PROGRESS

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of RFC 5424, the least severe first."""


class Reports:
    """The reports and log messages of one link.

    Reports are kept back per request. Of log messages that must wait, the most severe one is kept, and of these the
    last.
    """

    __slots__ = ("_gates", "_link", "_logs")

    def __init__(self, link: Link) -> None:
        self._link = link
        self._gates: dict[Id, Gate[tuple[float, float | None, str | None]]] = {}
        self._logs: Gate[bytes] | None = None

    def progress(self, id_: Id, progress: float, total: float | None, message: str | None) -> None:
        """Tell the peer how far an open request has come, now or a little later; nothing if it did not ask.

        Raises:
            LocalProtocolError: the progress is not more than what was reported before.
        """
        link = self._link
        incoming = link.session.incoming.get(id_)
        if incoming is None or incoming.token is None:
            return
        rate = link.limits.progress_rate
        if rate is None:
            link.send(link.session.progress(id_, progress, total, message))
            return
        gate = self._gates.get(id_)
        if gate is None:
            gate = self._gates[id_] = Gate(link.loop, rate, lambda r: link.send(link.session.progress(id_, *r)))
        before = gate.waiting[0] if gate.waiting is not None else incoming.progress
        if before is not None and progress <= before:
            reason = f"progress must grow: {progress:g} after {before:g}"
            raise LocalProtocolError(
                revision=link.revision, method=NOTIFICATIONS_PROGRESS, pointer="/progress", reason=reason
            )
        gate.put((progress, total, message))

    def log(self, message: bytes, params: Any) -> None:
        """Send a log message, now or a little later."""
        rate = self._link.limits.log_rate
        if rate is None:
            self._link.send(message)
            return
        if self._logs is None:
            self._logs = Gate(self._link.loop, rate, self._link.send)
        level = getattr(params, "level", None)
        self._logs.put(message, LEVELS.index(level) if level in LEVELS else 0)

    def finish(self, id_: Id) -> None:
        """Send what must precede the answer to a request: its last report, and the log message that waits."""
        if self._gates and (gate := self._gates.pop(id_, None)) is not None:
            gate.flush()
        self.flush()

    def flush(self) -> None:
        """Send the log message that waits."""
        if self._logs is not None:
            self._logs.flush()

    def drop(self, id_: Id) -> None:
        """Forget the reports on a request that is no longer open."""
        if self._gates and (gate := self._gates.pop(id_, None)) is not None:
            gate.drop()


def wants(requester: Requester, level: str) -> bool:
    """Whether a client wants log messages of a level; until it says so it wants them all.

    Raises:
        ValueError: there is no such level.
    """
    if level not in LEVELS:
        raise ValueError(f"no level {level!r}; the levels are {', '.join(LEVELS)}")
    return requester.log_level is None or LEVELS.index(level) >= LEVELS.index(requester.log_level)


def log_message(
    requester: Requester, level: str, data: Any, logger: str | None
) -> tuple[NotificationMethod[Any], Any] | None:
    """Make a log message; None if the client does not want it.

    Raises:
        ValueError: there is no such level.
    """
    if not wants(requester, level) or requester.binding is None:
        return None
    method = requester.binding.methods[NOTIFICATIONS_MESSAGE]
    assert isinstance(method, NotificationMethod) and method.params is not None
    arguments: dict[str, Any] = {"level": level, "data": data}
    if logger is not None:
        arguments["logger"] = logger
    return method, method.params.build(arguments)
