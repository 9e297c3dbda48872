"""What both halves of a connection share: the session, the transport, what is known of the peer, and its end."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_runtime import jsonrpc
from mcp_runtime.binding import Binding
from mcp_runtime.capabilities import sendable
from mcp_runtime.context import Exchange, Way
from mcp_runtime.errors import ConnectionClosed, McpError, ProtocolViolation, RemoteProtocolError
from mcp_runtime.jsonrpc import Id
from mcp_runtime.lifecycle.legacy import Side
from mcp_runtime.session import Session
from mcp_runtime.settings import Middleware, Proceed, Settings, open_trace
from mcp_runtime.throttle import LogMessages, ProgressReports
from mcp_runtime.transports.base import Transport
from mcp_runtime.validation import Reader, clipped

if TYPE_CHECKING:
    from mcp_runtime.bridge.wire import Wire

ErrorHook: TypeAlias = Callable[[McpError], None]

MAX_UNREAD: Final = 1 << 20
"""How many bytes of answers leave at once before this side looks whether the peer reads them."""

log: Final = logging.getLogger("mcp_runtime")


class Link:
    """One conversation without what is said in it.

    Attributes:
        binding: the generated revision that is spoken, None until it is agreed upon; with a bridge, the one that this
            side is written against.
        wire: the bridge to the revision that is spoken, None if that is this side's own.
        declared: the capabilities of both sides, by wire names.
        may_send: the methods that this side may send, as far as capabilities go.
        may_receive: the methods that the peer may send.
        progress: the reports on what the peer asked for.
        logs: the log messages that leave.
        closed_because: why the connection ended; None while it lives.
        ending: why it is about to, once what the peer asked is answered: the peer has said its last.
    """

    def __init__(self, transport: Transport, side: Side, settings: Settings) -> None:
        self.transport = transport
        self.side = side
        self.settings = settings
        self.session = Session(side)
        self.loop: asyncio.AbstractEventLoop
        self.binding: Binding | None = None
        self.wire: Wire | None = None
        self.declared: dict[Side, Mapping[str, Any]] = {Side.CLIENT: {}, Side.SERVER: {}}
        self.may_send: frozenset[str] = frozenset()
        self.may_receive: frozenset[str] = frozenset()
        self.reader = Reader("MCP", lenient=not settings.strict, report=self.report)
        self.closed_because: str | None = None
        self.ending: str | None = None
        self.error_hooks: list[ErrorHook] = []
        self.spawn: Callable[[Coroutine[Any, Any, Any]], object]
        self._unread, self._is_deaf = 0, False
        self._trace = open_trace(settings.trace)
        self.progress = ProgressReports(self)
        self.logs = LogMessages(self)

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty until it is agreed upon."""
        return self.session.revision

    def bind(self, binding: Binding, wire: "Wire | None" = None) -> None:
        """Speak a revision from now on, or another one over a bridge."""
        self.binding, self.wire = binding, wire
        spoken = wire.binding if wire else binding
        self.session.revision = spoken.revision
        self.session.accepts_batches = spoken.has_batches
        self.session.ids_may_be_absent = spoken.has_answers_without_id
        self.reader = Reader(spoken.revision, lenient=not self.settings.strict, report=self.report)

    def declare(self, own: Mapping[str, Any], peers: Mapping[str, Any]) -> None:
        """Set what both sides can do, as they declared it."""
        self.declared = {self.side: own, self.side.other: peers}
        spoken = self.wire.binding if self.wire else self.binding
        if spoken is not None:
            self.may_send = sendable(spoken.methods, self.side, self.declared)
            self.may_receive = sendable(spoken.methods, self.side.other, self.declared)

    def has(self, method: str) -> bool:
        """Whether the revision that is spoken has a method of this side's."""
        return self.wire is None or self.wire.has(method)

    def send(self, message: bytes) -> None:
        """Send a message, unless it is empty or the connection has ended."""
        if message and self.closed_because is None:
            if self.settings.trace is not None:
                self.trace(Way.SENT, message)
            self.transport.send(message)

    def finish(self, id_: Id) -> None:
        """Let leave what must not come after the answer to a request: its last report, and log messages."""
        if self.progress.gates:
            self.progress.finish(id_)
        if self.logs.gate is not None:
            self.logs.flush()

    def close(self, reason: str) -> None:
        """End the conversation."""
        self.logs.flush()
        self.closed_because = reason
        self.session.close()

    def send_at_once(self, message: bytes) -> None:
        """Send an answer that no handler's task waits with, and listen no more if the peer does not read them.

        It asks for every one of them, so it is heard again as soon as it has read what it got.
        """
        self.send(message)
        self._unread += len(message)
        if self._unread > MAX_UNREAD and not self._is_deaf and self.closed_because is None:
            self._is_deaf = True
            self.transport.pause_reading()
            self.spawn(self._listen_when_drained())

    async def _listen_when_drained(self) -> None:
        await self.transport.drain()
        self._unread, self._is_deaf = 0, False
        self.transport.resume_reading()

    def refuse(self, id_: Id, code: int, message: str, data: Any = None) -> None:
        """Answer an open request with an error."""
        self.send_at_once(self.session.refuse(id_, code, message, data))

    def refuse_unread(self, reason: str) -> None:
        """Answer a message that nobody could read."""
        self.send_at_once(self.session.unread(jsonrpc.INVALID_REQUEST, reason))

    def check_open(self) -> None:
        """Go on if there is a conversation.

        Raises:
            ConnectionClosed: there is none any more.
        """
        if self.closed_because is not None:
            raise ConnectionClosed(self.closed_because)

    def trace(self, way: Way, message: bytes) -> None:
        """Show a message to the trace hook, whose failures are its own."""
        if self._trace is not None:
            try:
                self._trace(way.value, message)
            except Exception as error:
                log.error("the trace hook failed", exc_info=error)

    def report(self, error: McpError) -> None:
        """Tell the hooks, or the log if there are none, of something that does not end the conversation."""
        if not self.error_hooks:
            where = f" (see {error.link})" if isinstance(error, ProtocolViolation) else ""
            log.warning("%s%s", clipped(str(error)), where)
        for hook in tuple(self.error_hooks):
            try:
                hook(error)
            except Exception as failure:
                log.error("a hook for errors failed", exc_info=failure)

    def violation(self, reason: str, method: str | None = None) -> RemoteProtocolError:
        """Make the error for what the peer broke, in words that can be shown."""
        shown = clipped(method, 100) if method else None
        return RemoteProtocolError(revision=self.revision or "MCP", method=shown, pointer="", reason=clipped(reason))

    async def through(self, exchange: Exchange, last: Proceed) -> Any:
        """Take a message through the middleware, the first one outermost."""
        proceed = last
        for middleware in reversed(self.settings.middleware):
            proceed = _around(middleware, exchange, proceed)
        return await proceed()


def _around(middleware: Middleware, exchange: Exchange, proceed: Proceed) -> Proceed:
    def go_on() -> Awaitable[Any]:
        return middleware(exchange, proceed)

    return go_on
