"""What both halves of a connection share: the session, the transport, what is known of the peer, and its end."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mcp_runtime.binding import Binding
from mcp_runtime.connection.background import Background
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.transport import Transport
from mcp_runtime.connection.work import Way
from mcp_runtime.errors import ConnectionClosed, McpError, ProtocolViolation, RemoteProtocolError
from mcp_runtime.limits import Limits, Trace
from mcp_runtime.protocol import jsonrpc
from mcp_runtime.protocol.jsonrpc import Id
from mcp_runtime.protocol.legacy import Side
from mcp_runtime.protocol.session import Session
from mcp_runtime.protocol.validation import Reader, clipped

if TYPE_CHECKING:
    from mcp_runtime.bridge.wire import Wire

ErrorHook: TypeAlias = Callable[[McpError], None]

MAX_UNREAD: Final = 1 << 20
"""How many bytes of answers leave at once before this side checks whether the peer is reading them."""

log: Final = logging.getLogger("mcp_runtime")


class Link:
    """One conversation without what is said in it.

    Args:
        transport: carries the messages.
        side: which end this is.
        limits: how the conversation behaves.
        loop: runs it.
        background: runs what belongs to no message.

    Attributes:
        session: which requests are open, and how far the conversation has come.
        requester: what is known of the peer.
        closed_because: why the connection ended; None while it lives.
        ending: why it is about to, once what the peer asked is answered: the peer sends nothing more.
        error_hooks: are told of what goes wrong without ending the conversation.
    """

    def __init__(
        self, transport: Transport, side: Side, limits: Limits, loop: asyncio.AbstractEventLoop, background: Background
    ) -> None:
        self.transport = transport
        self.side = side
        self.limits = limits
        self.loop = loop
        self.background = background
        self.session = Session(side)
        self.requester = Requester(side=side, reader=self._reader("MCP"))
        self.closed_because: str | None = None
        self.ending: str | None = None
        self.error_hooks: list[ErrorHook] = []
        self._unread, self._is_deaf = 0, False
        self._trace = _open_trace(limits.trace)

    @property
    def revision(self) -> str:
        """The revision that is spoken, empty until it is agreed upon."""
        return self.session.revision

    def bind(self, binding: Binding, wire: "Wire | None" = None) -> None:
        """Speak a revision from now on, or another one over a bridge."""
        spoken = wire.binding if wire else binding
        self.session.revision = spoken.revision
        self.session.accepts_batches = spoken.has_batches
        self.session.ids_may_be_absent = spoken.has_answers_without_id
        self.requester = replace(self.requester, binding=binding, wire=wire, reader=self._reader(spoken.revision))

    def declare(self, own: Mapping[str, Any], peers: Mapping[str, Any]) -> None:
        """Set what both sides can do, as they declared it."""
        self.requester = self.requester.declaring(own, peers)

    def _reader(self, revision: str) -> Reader:
        return Reader(revision, lenient=not self.limits.strict, report=self.report)

    def send(self, message: bytes) -> None:
        """Send a message, unless it is empty or the connection has ended."""
        if message and self.closed_because is None:
            if self._trace is not None:
                self.trace(Way.SENT, message)
            self.transport.send(message)

    def close(self, reason: str) -> None:
        """End the conversation."""
        self.closed_because = reason
        self.session.close()

    def send_at_once(self, message: bytes) -> None:
        """Send an answer that no handler's task waits with; stop listening to a peer that does not read its answers.

        It is listened to again as soon as it has read what it got.
        """
        self.send(message)
        self._unread += len(message)
        if self._unread > MAX_UNREAD and not self._is_deaf and self.closed_because is None:
            self._is_deaf = True
            self.transport.pause_reading()
            self.background.spawn(self._listen_when_drained())

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


def _open_trace(trace: Trace | None) -> Trace | None:
    """Return the trace hook of one connection: one of its own, if the hook tells them apart as `Tracer` does."""
    begin: Callable[[], Trace] | None = getattr(trace, "conversation", None)
    return begin() if begin is not None else trace
