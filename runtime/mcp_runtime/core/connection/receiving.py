"""The receiver of a transport: dispatches every incoming message, and handles what is lost."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from mcp_runtime.core.connection import transport
from mcp_runtime.core.connection.base import BaseConnection, End
from mcp_runtime.core.connection.calls import LACKING, Call, Reply, Way
from mcp_runtime.core.connection.inbound import Inbound
from mcp_runtime.core.connection.outbound import Outbound
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.timers import log
from mcp_runtime.core.connection.transport import ACCEPTED, ANSWER, Channel, Outcome, Sent, TransportError, Verdict
from mcp_runtime.core.errors import MAX_TEXT, AuthorizationError, ConnectionClosed, McpError, PeerError, clipped
from mcp_runtime.core.protocol import dispatch, jsonrpc
from mcp_runtime.core.protocol.dispatch import MODERN, Action, Booked, Event, Side, State, cancelled
from mcp_runtime.core.protocol.jsonrpc import Failure, Fault, Id, Notification, Request, Result
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_CANCELLED, PING, VERSION

_MODERN: Final = MODERN[Side.SERVER]

OnInitialize: TypeAlias = Callable[[Request, Channel], Mapping[str, Any]]
Identify: TypeAlias = Callable[[Request, Mapping[str, Any], Channel], Requester]
"""Returns the sender of a modern-era request, given its `_meta`; raises PeerError to refuse it."""


class Receiving(transport.Receiver):
    """What a connection receives; there is no await between an incoming message and its handler or caller.

    Args:
        connection: the connection.
        inbound: takes the peer's requests and notifications.
        outbound: takes the answers to this side's requests.

    Attributes:
        last_activity: when the last message arrived, by the event loop's clock in seconds.
        on_initialize: answers `initialize` with the result, keyed by wire names; None on the client side.
        identify: returns the sender of a modern-era request; None to refuse all of them.
    """

    __slots__ = (
        "_connection",
        "_inbound",
        "_outbound",
        "_printed",
        "identify",
        "last_activity",
        "on_initialize",
    )

    def __init__(self, connection: BaseConnection, inbound: Inbound, outbound: Outbound) -> None:
        self._connection, self._inbound, self._outbound = connection, inbound, outbound
        self.last_activity = connection.loop.time()
        self.on_initialize: OnInitialize | None = None
        self.identify: Identify | None = None
        self._printed: PrintedText | None = None

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        """Process one whole message; see `Receiver.message_received`."""
        connection = self._connection
        if (refused := self._arrive(message, channel)) is not None:
            return refused
        try:
            if value is None:
                value = jsonrpc.parse(message)
            if (
                self.identify is not None
                # In a session, messages without this word are of the legacy era, unless modern requests are open.
                and (b"protocolVersion" in message or connection.session.state is State.NEW or channel.calls)
                and (outcome := self._take_modern(value, message, channel)) is not None
            ):
                return outcome
            if value.__class__ is list:
                events = connection.session.receive_batch(value, channel)
                return transport.of_batch([self._take(event, message, channel, len(events)) for event in events])
            event = connection.session.receive_message(jsonrpc.classify(value), channel)
        except Fault as error:
            if connection.side is Side.CLIENT and PrintedText.is_text(message):
                return self._take_text(message, error)
            return self._take_malformed(error, channel)
        if self._printed is not None:
            self._printed.end()
        return self._take(event, message, channel)

    def take(self, request: Request, requester: Requester, channel: Channel, text: bytes) -> Outcome:
        """Process a modern-era request whose sender is known already.

        Args:
            request: the request.
            requester: its sender.
            channel: the channel that it came over, which carries nothing else.
            text: the message.
        """
        if (refused := self._arrive(text, channel)) is not None:
            return refused
        return self._take_request(self._booked(request, channel), requester, text)

    def _arrive(self, message: bytes, channel: Channel) -> Outcome | None:
        """Note that a message arrived; return the outcome if the connection has ended."""
        connection = self._connection
        if connection.end.is_closed:
            return Outcome(Verdict.REJECTED, jsonrpc.INTERNAL_ERROR, connection.end.reason)
        self.last_activity = connection.loop.time()
        if connection.limits.trace is not None:
            connection.trace(Way.RECEIVED, message)
        if channel.connection is not connection:
            channel.connection, channel.calls = connection, {}
        return None

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        """Handle a message that was too large to read; see `Receiver.message_refused`."""
        refused = jsonrpc.unreadable(jsonrpc.INVALID_REQUEST, reason, start, end)
        return self._take_malformed(refused, channel)

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        """Handle the loss of one of several channels; see `Receiver.channel_lost`."""
        connection = self._connection
        if channel is connection.channels.main:
            self.connection_lost(reason)
        if channel is connection.channels.main or channel not in connection.channels:
            return
        self._inbound.lose(channel, str(reason) if reason else "the peer closed the channel of the request")
        connection.channels.forget(channel)

    def request_lost(self, id_: Id, reason: TransportError | AuthorizationError) -> None:
        """Handle the loss of the answer to a request of this side; see `Receiver.request_lost`."""
        call = self._outbound.find(id_)
        self._connection.session.cancel(id_)
        self._outbound.fail(call, reason if isinstance(reason, McpError) else ConnectionClosed(str(reason)))

    def pause_timeouts(self) -> None:
        """Suspend the timeouts of all requests."""
        self._outbound.deadlines.pause()

    def resume_timeouts(self) -> None:
        """Resume them."""
        self._outbound.deadlines.resume()

    def connection_lost(self, reason: TransportError | None) -> None:
        """Handle the end of the transport; see `Receiver.connection_lost`."""
        connection = self._connection
        if connection.end.is_closed:
            return
        because = str(reason) if reason else "the peer closed the connection"
        if reason is None and connection.transport.can_still_send:
            # A peer that writes its requests and then closes its end still wants the answers.
            connection.end = End(because)
            self._outbound.fail_all(because)
            connection.loop.call_later(connection.limits.linger, connection.finish, because)
            connection.settle()
        else:
            connection.finish(because)

    def _take(self, event: Event, text: bytes, channel: Channel, parts: int = 1) -> Outcome:
        if isinstance(event, Booked):
            return self._take_request(cast("Reply", event), self._connection.requester, text, parts)
        match event:
            case Result():
                return self._refused(event.call, channel) or self._outbound.take_result(event, text)
            case Notification():
                call = self._connection.call_type(self._connection, Reply(None, event, channel))
                call.requester, call.text, call.parts = self._connection.requester, text, parts
                return self._inbound.notifications.receive(call)
            case Failure():
                if (refused := self._refused(event.call, channel)) is not None:
                    return refused
                self._outbound.take_failure(event)
                return ANSWER
            case dispatch.Progressed():
                self._outbound.take_progress(event)
            case dispatch.Cancelled():
                call = cast("Call", cast("Reply", event.reply).call)
                scopes = call.scopes | call.requester.answers.needed(call.name, call.raw_params)
                if channel.lacks(scopes, channel.principal):
                    return _lacking(tuple(sorted(scopes)))
                self._inbound.stop(call, event.reason)
            case Fault():
                return self._take_fault(event, channel)
            case None:
                pass
        return ACCEPTED

    def _refused(self, sent: Any, channel: Channel) -> Outcome | None:
        """Keep a request open whose answer comes from a sender without the scopes of the call that asks."""
        if not (scopes := sent.refused(channel)):
            return None
        self._connection.session.outgoing[sent.id] = sent
        return _lacking(scopes)

    def _take_request(self, reply: Reply, requester: Requester, text: bytes, parts: int = 1) -> Outcome:
        action, channels = reply.action, self._connection.channels
        if reply.channel is not channels.main:
            channels.opened(reply)
        if action is Action.BEGIN:
            self._take_initialize(reply)
        elif action is Action.PONG and PING not in requester.answers.handlers:
            # Promptly, regardless of other work (basic/utilities/ping).
            channels.answer(reply, b"{}", at_once=True)
        else:
            call = cast("Call", reply.call)
            call.requester, call.text, call.parts = requester, text, parts
            self._inbound.take_request(call)
        return transport.ANSWERED

    def _take_modern(self, value: Any, text: bytes, channel: Channel) -> Outcome | None:
        """Process a call of the modern era; return None for any other message."""
        if value.__class__ is not dict or "method" not in value:
            return None
        session, id_ = self._connection.session, value.get("id")
        if id_.__class__ is int or id_.__class__ is str:
            # Requests of both eras may be open on one channel.
            held = session.incoming.get(id_)
            if id_ in channel.calls or (held is not None and held.channel is channel):
                return self._take_fault(session.in_use(Request(id_, str(value["method"]), None), is_same=True), channel)
        meta = jsonrpc.meta_of(value.get("params"))
        if VERSION not in meta and not self._is_modern_anyway(value, channel):
            return None
        try:
            message: Any = jsonrpc.classify(value)
        except Fault as error:
            error.refuse()
            return self._take_fault(error, channel)
        if isinstance(message, Request):
            assert self.identify is not None
            reply = self._booked(message, channel)
            try:
                return self._take_request(reply, self.identify(message, meta, channel), text)
            except PeerError as error:
                self._connection.channels.refuse(reply, error.code, error.message, error.data)
                return Outcome(Verdict.REJECTED, error.code, error.message)
        if _MODERN.get(message.method, _MODERN[dispatch.NOTIFICATION]) is Action.CANCEL:
            return self._take(cancelled(message.params, channel.calls), text, channel)
        return ACCEPTED

    def _booked(self, request: Request, channel: Channel) -> Reply:
        """Return the record of a modern-era request, which is open on its channel from now on."""
        action = _MODERN.get(request.method, _MODERN[dispatch.REQUEST])
        reply = channel.calls[request.id] = Reply(self._connection, request, channel, book=channel.calls, action=action)
        reply.is_modern = True
        return reply

    def _is_modern_anyway(self, value: dict[str, Any], channel: Channel) -> bool:
        """Whether a call is of the modern era without naming its revision: it cancels one, or there is no session."""
        method = value["method"]
        if "id" in value:
            opening = (INITIALIZE, PING) if self.on_initialize is not None else ()
            return self._connection.session.state is State.NEW and method not in opening
        found = cancelled(value.get("params"), channel.calls) if method == NOTIFICATIONS_CANCELLED else None
        return found is not None and found.reply.is_modern

    def _take_initialize(self, reply: Reply) -> None:
        connection = self._connection
        if self.on_initialize is None:
            connection.channels.refuse(reply, jsonrpc.METHOD_NOT_FOUND, f"{INITIALIZE} is not supported here")
            return
        try:
            result = self.on_initialize(cast("Request", reply.message), reply.channel)
        except PeerError as error:
            connection.channels.refuse(reply, error.code, error.message, error.data)
        except Exception as error:
            connection.log_limited(logging.ERROR, "%s failed", INITIALIZE, exc_info=error)
            connection.channels.refuse(reply, jsonrpc.INTERNAL_ERROR, "internal error")
        else:
            connection.channels.answer(reply, jsonrpc.dump(result))

    def _take_text(self, text: bytes, error: Fault) -> Outcome:
        """Process a line of text that a server printed. It gets no answer, since it was not a message."""
        if self._printed is None:
            self._printed = PrintedText(
                self._connection.loop, lambda text: self._connection.report(self._connection.violation(text))
            )
        self._printed.add(text)
        return Outcome(Verdict.MALFORMED, error.code, error.reason)

    def _take_malformed(self, error: Fault, channel: Channel) -> Outcome:
        connection = self._connection
        if error.id is not None and error.id in channel.calls:
            error.id = None  # an answer with it would be taken for that of the open request
        return self._take_fault(connection.session.malformed(error), channel)

    def _take_fault(self, fault: Fault, channel: Channel) -> Outcome:
        if fault.failed is not None and (refused := self._refused(fault.failed, channel)) is not None:
            return refused
        error = self._connection.violation(fault.reason, fault.method)
        self._connection.report(error)
        self._connection.channels.send_at_once(fault.answer, channel, Sent(code=fault.code))
        self._outbound.fail(fault.failed, error)
        verdict = Verdict.REJECTED if fault.is_message else Verdict.MALFORMED
        return Outcome(verdict, fault.code, fault.reason, is_answer=fault.failed is not None)

    def end(self) -> None:
        """Show what a server printed before the end."""
        if self._printed is not None:
            self._printed.end()


WAIT: Final = 0.2
"""Seconds in which more lines of a banner may follow."""


class PrintedText:
    """What a peer printed, shown once when its next message arrives; later text is logged at debug level.

    Args:
        loop: used to wait for the rest of a banner that no message follows.
        show: called with the text to show.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, show: Callable[[str], None]) -> None:
        self._show = show
        self._lines: list[str] | None = []
        self._room = MAX_TEXT
        self._timer = loop.call_later(WAIT, self.end)

    @staticmethod
    def is_text(message: bytes) -> bool:
        """Whether a line is text rather than a malformed message: many loggers write ``[info]``, or JSON."""
        return message[:1] not in (b"{", b"[") or (b'"jsonrpc"' not in message and b'"id"' not in message)

    def add(self, text: bytes) -> None:
        """Add a line of text."""
        line = text[:MAX_TEXT].decode("utf-8", "replace")
        if self._lines is None:
            log.debug("the peer printed more text: %s", clipped(line))
        elif self._room >= 0:
            self._room -= len(line)
            self._lines.append(line)

    def end(self) -> None:
        """Show what was printed so far, unless it was shown before."""
        self._timer.cancel()
        lines, self._lines = self._lines, None
        if lines:
            self._show(f"the peer printed text that is not a message; print to stderr: {clipped(' | '.join(lines))}")


def _lacking(scopes: tuple[str, ...]) -> Outcome:
    return Outcome(Verdict.REJECTED, jsonrpc.INVALID_REQUEST, LACKING.format(" ".join(scopes)), scopes=scopes)
