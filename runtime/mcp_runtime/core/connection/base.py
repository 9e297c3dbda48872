"""What both halves of a connection use: the session, the channels, what is known of the peer, and its end.

A message comes over a channel and is answered on it. A transport with a single stream is its own only channel; over
HTTP every POST has one, which is kept here while something is open or unread on it. What belongs to no open request
is sent on the main channel.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, TypeAlias, cast

from mcp_runtime.core.binding import Binding, Wire
from mcp_runtime.core.connection.background import Background
from mcp_runtime.core.connection.calls import CURRENT, Call, Way
from mcp_runtime.core.connection.journal import Journal, log
from mcp_runtime.core.connection.requester import Answers, Requester
from mcp_runtime.core.connection.transport import ANSWER_SENT, MAX_UNREAD, Channel, Sent, Transport
from mcp_runtime.core.errors import ConnectionClosed, McpError, ProtocolViolation, RemoteProtocolError, clipped
from mcp_runtime.core.options import Limits, Trace
from mcp_runtime.core.protocol.calls import Batch
from mcp_runtime.core.protocol.dispatch import Side
from mcp_runtime.core.protocol.jsonrpc import Request
from mcp_runtime.core.protocol.session import Session
from mcp_runtime.core.protocol.validation import Reader

ErrorHook: TypeAlias = Callable[[McpError], None]

MAX_IDLE: Final = 1000
"""How many lines without open requests are kept before they are checked."""


class End(NamedTuple):
    """How far a connection is from its end.

    Attributes:
        reason: why it ends; empty while it is open.
        is_closed: whether it has ended; otherwise it ends once the peer's requests are answered, if there is a reason.
    """

    reason: str = ""
    is_closed: bool = False


OPEN: Final = End()


class BaseConnection(ABC):
    """A connection as its halves see it; see `Connection`.

    Attributes:
        transport: carries the messages.
        side: which end of the conversation this is.
        limits: how it behaves.
        loop: the event loop.
        background: runs tasks that belong to no message.
        session: the open requests, and the state of the conversation.
        requester: what is known of the peer.
        main: the channel of messages that belong to no open request.
        end: how far it is from its end.
    """

    def __init__(
        self, transport: Transport, side: Side, limits: Limits, new_call: Callable[[Request, Any, Batch | None], Call]
    ) -> None:
        self.transport = transport
        self.side = side
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.background = Background(self.loop, self.settle)
        self.session = Session(side, new_call)
        self.requester = Requester(side=side, reader=self.reader("MCP"), answers=Answers())
        self.end = OPEN
        self.main: Channel = transport
        transport.connection = self
        self._error_hooks: list[ErrorHook] = []
        self.channels: dict[Channel, None] = {transport: None}
        self._trace = _open_trace(limits.trace)
        self._journal: Journal | None = None  # created for the first line, since most peers give no reason for one

    @abstractmethod
    def settle(self) -> None:
        """End, or report that everything has ended, if nothing is left to wait for."""

    @abstractmethod
    def finish(self, reason: str) -> None:
        """End the conversation now: fail open requests, cancel running tasks, call the hooks."""

    @property
    def revision(self) -> str:
        """The revision in use; empty until it is agreed on."""
        return self.session.revision

    @property
    def closed_because(self) -> str | None:
        """Why the connection ended; None while it is open."""
        return self.end.reason if self.end.is_closed else None

    def reader(self, revision: str) -> Reader:
        """Return a reader for messages of a revision, as strict as the limits say.

        Args:
            revision: the revision.
        """
        limits = self.limits
        return Reader(revision, lenient=not limits.strict, report=self.report, drops=limits.unknown_content == "drop")

    def opened(self, call: Call) -> None:
        """Keep the channel of a request, which is not the main one, since that is open on it."""
        call.channel.calls[call.id] = call
        self._keep(call.channel)

    @property
    def has_open_calls(self) -> bool:
        """Whether a request of the peer is open that ends by itself: one that listens does not."""
        incoming = cast("Iterable[Call]", self.session.incoming.values())
        return any(call.keeper is None for call in (*incoming, *self.calls()))

    def calls(self) -> Iterator[Call]:
        """Iterate over the open requests that are booked on their channels."""
        for channel in self.channels:
            yield from channel.calls.values()

    def _keep(self, channel: Channel) -> None:
        """Keep a channel until nothing is open or unread on it, or its channel is lost."""
        self.channels[channel] = None
        if len(self.channels) % MAX_IDLE == 0:
            # A transport that does not report lost channels must not fill the memory.
            for idle in [kept for kept in self.channels if not kept.calls and not kept.is_reading_paused]:
                self.forget(idle)

    def channel_for(self, exchange: Call | None = None) -> Channel:
        """Return the channel for what belongs to a message: its own while it is open.

        Args:
            exchange: the message; by default the one being handled.
        """
        exchange = exchange or CURRENT.get()
        if exchange is None or not exchange.is_open:
            return self.main
        return self.living(exchange.channel)

    def requester_for(self, exchange: Call | None = None) -> Requester:
        """Return the recipient of what belongs to a message.

        Args:
            exchange: the message; by default the one being handled.
        """
        exchange = exchange or CURRENT.get()
        if exchange is None or exchange.channel.connection is not self or not exchange.requester.is_modern:
            return self.requester
        return exchange.requester

    def living(self, channel: Channel) -> Channel:
        """Return a channel if it belongs to this conversation and is still open, otherwise the main one."""
        return channel if channel in self.channels else self.main

    def forget(self, channel: Channel) -> None:
        """Handle that a channel is gone, or that nothing is open on it any more."""
        if channel is not self.main:
            self.channels.pop(channel, None)

    def send(self, message: bytes, channel: Channel, about: Sent = ANSWER_SENT) -> None:
        """Send a message, unless it is empty or the connection has ended."""
        if message and not self.end.is_closed:
            if self._trace is not None:
                self.trace(Way.SENT, message)
            channel.send(message, about)

    def send_at_once(self, message: bytes, channel: Channel, about: Sent = ANSWER_SENT) -> None:
        """Send an answer that no handler's task waits with; pause reading from a peer that does not read its answers.

        Reading resumes as soon as the peer has read its answers. Other channels are not slowed down.
        """
        self.send(message, channel, about)
        channel.unread_bytes += len(message)
        if channel is not self.main:
            self._keep(channel)
        if channel.unread_bytes > MAX_UNREAD and not channel.is_reading_paused and not self.end.is_closed:
            channel.is_reading_paused = True
            channel.pause_reading()
            self.background.spawn(self._listen_when_drained(channel))

    async def _listen_when_drained(self, channel: Channel) -> None:
        await channel.drain()
        channel.unread_bytes, channel.is_reading_paused = 0, False
        if not channel.calls:
            self.forget(channel)
        channel.resume_reading()

    def answer(self, call: Call, result: bytes, *, at_once: bool = False) -> Channel:
        """Answer an open request with its result, over its own channel, and return the channel; see `send_at_once`."""
        channel = call.channel
        (self.send_at_once if at_once else self.send)(self.session.answer(call, result), channel)
        if channel is not self.main:
            self._closed(call, channel)
        return channel

    def refuse(self, call: Call, code: int, message: str, data: Any = None) -> None:
        """Answer an open request with an error, over its own channel."""
        self.send_at_once(self.session.refuse(call, code, message, data), call.channel, Sent(code=code))
        self._closed(call, call.channel)

    def drop(self, call: Call) -> None:
        """Forget a request whose answer the peer no longer wants."""
        if call.book is not None:
            self.send(self.session.drop(call), call.channel)
            self._closed(call, call.channel)

    def _closed(self, call: Call, channel: Channel) -> None:
        if channel is not self.main:
            channel.calls.pop(call.id, None)
            if not channel.calls:
                if not channel.unread_bytes:
                    self.channels.pop(channel, None)
                channel.finish()

    def _close(self, reason: str) -> None:
        """Handle that no request is open any more."""
        if self._journal is not None and (text := self._journal.left_out()):
            self._pass_to_hooks(McpError(text))
        self.end = End(reason, is_closed=True)
        self.session.close()
        for channel in self.channels:
            for call in channel.calls.values():
                call.book = None
            channel.calls.clear()

    def check_open(self, exchange: Call | None = None) -> None:
        """Check that the conversation is open.

        Args:
            exchange: what is about to be sent belongs to it; a suspended request's handler may outlive its connection.

        Raises:
            ConnectionClosed: it has ended.
        """
        if self.end.is_closed and not (exchange is not None and exchange.is_suspended):
            raise ConnectionClosed(self.end.reason)

    def trace(self, way: Way, message: bytes) -> None:
        """Pass a message to the trace hook; its exceptions are logged."""
        if self._trace is not None:
            try:
                self._trace(way.value, message)
            except Exception as error:
                self.log_limited(logging.ERROR, "the trace hook failed", exc_info=error)

    def log_limited(self, level: int, text: str, *args: object, exc_info: BaseException | None = None) -> None:
        """Write a line to the log, unless there were too many about this connection.

        Args:
            level: a level of Python's `logging`.
            text: the text, with ``%`` placeholders.
            args: the values of the placeholders.
            exc_info: an exception to log with its traceback.
        """
        if log.isEnabledFor(level) and self._may_log():
            log.log(level, text, *args, exc_info=exc_info, stacklevel=2)

    def report(self, error: McpError) -> None:
        """Pass an error that does not end the conversation to the hooks, or to the log if there are none.

        Args:
            error: the error.
        """
        if (self._error_hooks or log.isEnabledFor(logging.WARNING)) and self._may_log():
            self._pass_to_hooks(error)

    def _may_log(self) -> bool:
        if self._journal is None:
            self._journal = Journal(self.loop.time, self.transport.log_limit)
        if not self._journal.admits():
            return False
        for text in self._journal.all_left_out():
            self._pass_to_hooks(McpError(text))
        return True

    def _pass_to_hooks(self, error: McpError) -> None:
        if not self._error_hooks:
            where = f" (see {error.link})" if isinstance(error, ProtocolViolation) else ""
            log.warning("%s%s", clipped(str(error)), where)
        for hook in tuple(self._error_hooks):
            try:
                hook(error)
            except Exception as failure:
                log.error("an on_error hook failed", exc_info=failure)

    def violation(self, reason: str, method: str | None = None) -> RemoteProtocolError:
        """Return the error for a violation by the peer, with text that is safe to show."""
        shown = clipped(method, 100) if method else None
        return RemoteProtocolError(revision=self.revision or "MCP", method=shown, pointer="", reason=clipped(reason))

    @property
    def current(self) -> Requester:
        """The requester of the message being handled: in the modern era each request has one."""
        return self.requester_for()

    @property
    def binding(self) -> Binding | None:
        """The generated revision that this side is written against; None until it is agreed on."""
        return self.requester.binding

    @property
    def declared(self) -> Mapping[Side, Mapping[str, Any]]:
        """The capabilities of both sides, keyed by wire names."""
        return self.requester.declared

    @property
    def peer_info(self) -> Mapping[str, Any]:
        """The peer's name and version, keyed by wire names (``name``, ``version``, ...); empty until received."""
        return self.requester.info

    @property
    def instructions(self) -> str | None:
        """The server's instructions for use; None if it has none."""
        return self.requester.instructions

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry: none in the legacy era."""
        return self.requester.meta

    def bind(self, binding: Binding, stub: Any, context: Callable[..., Any], wire: Wire | None = None) -> None:
        """Use a revision, or another one over a bridge.

        Args:
            binding: the revision that this side is written against; handlers of any other are removed.
            stub: the peer, as handlers see it.
            context: builds the second argument of handlers from the stub, the id of a request, and its `Exchange`.
            wire: the bridge to the revision in use, or None.
        """
        if self.binding is not None and self.binding is not binding:
            for name in self.binding.methods:
                self.requester.answers.handlers.pop(name, None)
        spoken = wire.binding if wire else binding
        self.session.speak(spoken.revision, batches=spoken.has_batches, errors_without_id=spoken.has_errors_without_id)
        if spoken.era == "modern" or self.requester.is_modern:
            self.session.restart(has_handshake=spoken.era != "modern")
        self.requester = self.requester.speaking(binding, wire, self.reader(spoken.revision))
        answers = self.requester.answers
        answers.stub, answers.context = stub, context

    def learn(self, own: Mapping[str, Any], peers: Mapping[str, Any], **known: Any) -> None:
        """Set the declared capabilities of both sides, and what else is known of the peer.

        Args:
            own: the capabilities of this side, keyed by wire names.
            peers: the capabilities of the peer.
            known: fields of its `Requester`.
        """
        self.requester = self.requester.declaring(own, peers, **known)

    def set_log_level(self, level: str) -> None:
        """Send only log messages of at least this level.

        Args:
            level: the RFC 5424 name of the level.
        """
        self.requester = self.requester._replace(log_level=level)

    @contextmanager
    def set_up_for(self, requester: Requester) -> Generator[None]:
        """Set up handlers and features for a requester other than that of the handshake, within this context.

        Args:
            requester: the requester.
        """
        kept, self.requester = self.requester, requester
        try:
            yield
        finally:
            self.requester = kept

    def on_error(self, hook: ErrorHook) -> None:
        """Register a hook for errors that do not end the conversation: violations, and values that were repaired.

        Args:
            hook: called with each error.
        """
        self._error_hooks.append(hook)


def _open_trace(trace: Trace | None) -> Trace | None:
    """Return the trace hook of one connection: a separate one if the hook distinguishes them, as `Tracer` does."""
    begin: Callable[[], Trace] | None = getattr(trace, "conversation", None)
    return begin() if begin is not None else trace
