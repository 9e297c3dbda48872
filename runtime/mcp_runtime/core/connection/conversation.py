"""The receiver of a transport: dispatches every incoming message, and handles the end of the connection."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from mcp_runtime.core.connection.background import Background
from mcp_runtime.core.connection.calls import LACKING, AnyMiddleware, Call, Way
from mcp_runtime.core.connection.inbound import Inbound
from mcp_runtime.core.connection.journal import PrintedText
from mcp_runtime.core.connection.link import Link
from mcp_runtime.core.connection.notifications import Reports
from mcp_runtime.core.connection.outbound import Outbound
from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.connection.transport import (
    ACCEPTED,
    ANSWER,
    ANSWERED,
    Channel,
    Outcome,
    Receiver,
    Sent,
    Transport,
    TransportError,
    Verdict,
    of_batch,
)
from mcp_runtime.core.errors import AuthorizationError, ConnectionClosed, McpError, PeerError
from mcp_runtime.core.options import Limits
from mcp_runtime.core.protocol import jsonrpc
from mcp_runtime.core.protocol.calls import Cancelled, Event, Progressed, ReceivedCall, cancelled
from mcp_runtime.core.protocol.dispatch import MODERN, NOTIFICATION, REQUEST, Action, Side, State
from mcp_runtime.core.protocol.jsonrpc import Failure, Fault, Id, Notification, Request, Result
from mcp_runtime.core.protocol.modern import VERSION
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_CANCELLED, PING

# Once, since Python 3.11 runs code to find a member of an enumeration.
_CLIENT, _NEW, _BEGIN, _CANCEL, _PONG = Side.CLIENT, State.NEW, Action.BEGIN, Action.CANCEL, Action.PONG
_MODERN: Final = MODERN[Side.SERVER]

CloseHook: TypeAlias = Callable[[str], None]
"""Called with the reason when a connection has ended."""


class Conversation(Receiver):
    """One conversation over one transport, whose `Receiver` it is; create it within a running event loop.

    There is no await between an incoming message and its handler or caller.

    Args:
        transport: carries the messages.
        side: which end of the conversation this is.
        limits: how the conversation behaves.
        new_call: creates the record of an incoming message from the message, its channel and its batch.
        middleware: wraps every request and notification; the first one is outermost.

    Attributes:
        middleware: wraps every request and notification.
        link: the session, the transport, and what is known of the peer.
        reports: the outgoing progress reports and log messages.
        outbound: the outgoing requests and notifications.
        inbound: the incoming requests and notifications.
        last_activity: when the last message arrived, by the event loop's clock in seconds.
    """

    def __init__(
        self, transport: Transport, side: Side, limits: Limits, new_call: Callable[..., Call], middleware: AnyMiddleware
    ) -> None:
        loop = asyncio.get_running_loop()
        self.middleware = tuple(middleware)
        self.link = Link(
            transport, side, limits, loop=loop, background=Background(loop, self._settle), new_call=new_call
        )
        self.reports = Reports(self.link)
        self.outbound = Outbound(self.link, self.reports)
        self.inbound = Inbound(self.link, self.outbound, self.reports, self.middleware, self._settle)
        self.last_activity = loop.time()
        self._on_initialize: Callable[[Request, Channel], Mapping[str, Any]] | None = None
        self._on_modern: Callable[[Request, Channel], Requester] | None = None
        self._before_close: Callable[[], None] | None = None
        self._new_call = new_call
        self._close_hooks: list[CloseHook] = []
        self._printed: PrintedText | None = None
        self._is_over = False
        self._over: asyncio.Event | None = None  # created on demand, since most connections are idle

    async def start(
        self,
        on_initialize: Callable[[Request, Channel], Mapping[str, Any]] | None = None,
        on_modern: Callable[[Request, Channel], Requester] | None = None,
    ) -> None:
        """Start receiving messages from the peer.

        Args:
            on_initialize: answers `initialize` with the result, keyed by wire names; None on the client side.
            on_modern: returns the sender of a modern-era request; None to refuse all of them.

        Raises:
            ConnectionClosed: the peer cannot be reached.
        """
        self._on_initialize, self._on_modern = on_initialize, on_modern
        try:
            await self.link.transport.start(self)
        except TransportError as error:
            self.connection_lost(error)
            raise ConnectionClosed(str(error)) from error

    def message_received(self, message: bytes, channel: Channel, value: Any = None) -> Outcome:
        """Process one whole message; see `Receiver.message_received`."""
        link = self.link
        if link.closed_because is not None:
            return Outcome(Verdict.REJECTED, jsonrpc.INTERNAL_ERROR, link.closed_because)
        self.last_activity = link.loop.time()
        if link.limits.trace is not None:
            link.trace(Way.RECEIVED, message)
        channel.link = link
        try:
            if value is None:
                value = jsonrpc.parse(message)
            if (
                self._on_modern is not None
                # In a session, messages without this word are of the legacy era, unless modern requests are open.
                and (b"protocolVersion" in message or link.session.state is _NEW or channel.calls)
                and (outcome := self._take_modern(value, message, channel)) is not None
            ):
                return outcome
            if value.__class__ is list:
                events = link.session.receive_batch(value, channel)
                return of_batch([self._take(event, message, channel, len(events)) for event in events])
            event = link.session.receive_message(value, channel)
        except Fault as error:
            if link.side is _CLIENT and PrintedText.is_text(message):
                return self._take_text(message, error)
            return self._take_malformed(error, channel)
        if self._printed is not None:
            self._printed.end()
        return self._take(event, message, channel)

    def message_refused(self, reason: str, channel: Channel, start: bytes = b"", end: bytes = b"") -> Outcome:
        """Handle a message that was too large to read; see `Receiver.message_refused`."""
        refused = jsonrpc.unreadable(jsonrpc.INVALID_REQUEST, reason, start, end)
        return self._take_malformed(refused, channel)

    def channel_lost(self, channel: Channel, reason: TransportError | None) -> None:
        """Handle the loss of one of several channels; see `Receiver.channel_lost`."""
        link = self.link
        if channel is link.main:
            self.connection_lost(reason)
        if channel is link.main or channel not in link.channels:
            return
        self.inbound.lose(channel, str(reason) if reason else "the peer closed the channel of the request")
        link.forget(channel)

    def request_lost(self, id_: Id, reason: TransportError | AuthorizationError) -> None:
        """Handle the loss of the answer to a request of this side; see `Receiver.request_lost`."""
        call = self.outbound.find(id_)
        self.link.session.cancel(id_)
        self.outbound.fail(call, reason if isinstance(reason, McpError) else ConnectionClosed(str(reason)))

    def pause_timeouts(self) -> None:
        """Suspend the timeouts of all requests."""
        self.outbound.deadlines.pause()

    def resume_timeouts(self) -> None:
        """Resume them."""
        self.outbound.deadlines.resume()

    def connection_lost(self, reason: TransportError | None) -> None:
        """Handle the end of the transport; see `Receiver.connection_lost`."""
        link = self.link
        if link.closed_because is not None:
            return
        because = str(reason) if reason else "the peer closed the connection"
        if reason is None and link.transport.can_still_send:
            # A peer that writes its requests and then closes its end still wants the answers.
            link.ending = because
            self.outbound.fail_all(because)
            link.loop.call_later(link.limits.linger, self._end, because)
            self._settle()
        else:
            self._end(because)

    def on_close(self, hook: CloseHook) -> None:
        """Register a hook that is called once when the connection has ended.

        Args:
            hook: called with the reason.
        """
        if self.link.closed_because is None:
            self._close_hooks.append(hook)
        else:
            hook(self.link.closed_because)

    def before_close(self, hook: Callable[[], None]) -> None:
        """Register a hook that is called once before the connection ends, while messages can still be sent.

        Args:
            hook: the function to call.
        """
        self._before_close = hook

    async def wait_closed(self) -> str:
        """Wait until the connection and everything it started have ended; return the reason."""
        if not self._is_over:
            self._over = self._over or asyncio.Event()
            await self._over.wait()
        return self.link.closed_because or ""

    async def aclose(self, reason: str = "closed by this side") -> None:
        """End the conversation: open requests fail, handlers are cancelled, the transport is closed gracefully.

        Waits until all of that has finished, unless called by a handler, which would wait for itself.

        Args:
            reason: the reason that open calls and hooks get.
        """
        self._end(reason)
        try:
            await self.link.transport.close()
        finally:
            task = asyncio.current_task()
            if task not in self.link.background and not self.inbound.runs(task):
                await self.wait_closed()

    def _end(self, reason: str) -> None:
        """Fail open requests, cancel running tasks, call the hooks."""
        link = self.link
        if link.closed_because is not None:
            return
        if self._before_close is not None:
            self._before_close()
        self.reports.flush()
        if self._printed is not None:
            self._printed.end()
        link.close(reason)
        self.outbound.fail_all(reason)
        current = asyncio.current_task(link.loop)  # which may have stopped
        self.inbound.end(reason, current)
        link.background.cancel(reason, but=current)
        for hook in self._close_hooks:
            try:
                hook(reason)
            except Exception as error:
                link.log_limited(logging.ERROR, "an on_close hook failed", exc_info=error)
        self._settle()

    def _take(self, event: Event, text: bytes, channel: Channel, parts: int = 1) -> Outcome:
        if isinstance(event, ReceivedCall):  # not by the match statement, which takes longer
            return self._take_request(event, text, parts)
        match event:
            case Result():
                return self._refused(event.call, channel) or self.outbound.take_result(event, text)
            case Notification():
                call = self._new_call(event, channel)
                call.requester, call.text, call.parts = self.link.requester, text, parts
                return self.inbound.take_notification(call)
            case Failure():
                if (refused := self._refused(event.call, channel)) is not None:
                    return refused
                self.outbound.take_failure(event)
                return ANSWER
            case Progressed():
                self.outbound.take_progress(event)
            case Cancelled():
                call = cast("Call", event.call)
                if channel.lacks(call.scopes, channel.principal):
                    return _lacking(tuple(sorted(call.scopes)))
                self.inbound.take_cancelled(event)
            case Fault():
                return self._take_fault(event, channel)
            case None:
                pass
        return ACCEPTED

    def _refused(self, sent: Any, channel: Channel) -> Outcome | None:
        """Keep a request open whose answer comes from a sender without the scopes of the call that asks."""
        if not (scopes := sent.refused(channel)):
            return None
        self.link.session.outgoing[sent.id] = sent
        return _lacking(scopes)

    def _take_request(self, call: Any, text: bytes, parts: int) -> Outcome:
        link = self.link
        if call.channel is not link.main:
            link.opened(call)
        requester = link.requester
        if call.is_modern:
            assert self._on_modern is not None
            try:
                requester = self._on_modern(call.message, call.channel)
            except PeerError as error:
                link.refuse(call, error.code, error.message, error.data)
                return Outcome(Verdict.REJECTED, error.code, error.message)
        action = call.action
        if action is _BEGIN:
            self._take_initialize(call)
        elif action is _PONG and PING not in requester.answers.handlers:
            # Promptly, regardless of other work (basic/utilities/ping).
            link.answer(call, b"{}", at_once=True)
        else:
            call.requester, call.text, call.parts = requester, text, parts
            self.inbound.take_request(call)
        return ANSWERED

    def _take_modern(self, value: Any, text: bytes, channel: Channel) -> Outcome | None:
        """Process a call of the modern era; return None for any other message."""
        if value.__class__ is not dict or "method" not in value:
            return None
        session, id_ = self.link.session, value.get("id")
        if id_.__class__ is int or id_.__class__ is str:
            # Requests of both eras may be open on one channel.
            held = session.incoming.get(id_)
            if id_ in channel.calls or (held is not None and held.channel is channel):
                return self._take_fault(session.in_use(Request(id_, str(value["method"]), None), is_same=True), channel)
        if VERSION not in jsonrpc.meta_of(value.get("params")) and not self._is_modern_anyway(value, channel):
            return None
        try:
            message: Any = jsonrpc.classify(value)
        except Fault as error:
            error.refuse()
            return self._take_fault(error, channel)
        if isinstance(message, Request):
            call = self._new_call(message, channel)
            call.is_modern = True
            session.book(call, channel.calls, _MODERN.get(message.method, _MODERN[REQUEST]))
            return self._take_request(call, text, 1)
        if _MODERN.get(message.method, _MODERN[NOTIFICATION]) is _CANCEL:
            return self._take(cancelled(message.params, channel.calls), text, channel)
        return ACCEPTED

    def _is_modern_anyway(self, value: dict[str, Any], channel: Channel) -> bool:
        """Whether a call is of the modern era without naming its revision: it cancels one, or there is no session."""
        method = value["method"]
        if "id" in value:
            opening = (INITIALIZE, PING) if self._on_initialize is not None else ()
            return self.link.session.state is _NEW and method not in opening
        found = cancelled(value.get("params"), channel.calls) if method == NOTIFICATIONS_CANCELLED else None
        return found is not None and found.call.is_modern

    def _take_initialize(self, call: Call) -> None:
        link = self.link
        if self._on_initialize is None:
            link.refuse(call, jsonrpc.METHOD_NOT_FOUND, f"{INITIALIZE} is not supported here")
            return
        try:
            result = self._on_initialize(cast("Request", call.message), call.channel)
        except PeerError as error:
            link.refuse(call, error.code, error.message, error.data)
        except Exception as error:
            link.log_limited(logging.ERROR, "%s failed", INITIALIZE, exc_info=error)
            link.refuse(call, jsonrpc.INTERNAL_ERROR, "internal error")
        else:
            link.answer(call, jsonrpc.dump(result))

    def _take_text(self, text: bytes, error: Fault) -> Outcome:
        """Process a line of text that a server printed. It gets no answer, since it was not a message."""
        if self._printed is None:
            self._printed = PrintedText(self.link.loop, lambda text: self.link.report(self.link.violation(text)))
        self._printed.add(text)
        return Outcome(Verdict.MALFORMED, error.code, error.reason)

    def _take_malformed(self, error: Fault, channel: Channel) -> Outcome:
        link = self.link
        if error.id is not None and error.id in channel.calls:
            error.id = None  # an answer with it would be taken for that of the open request
        return self._take_fault(link.session.malformed(error), channel)

    def _take_fault(self, fault: Fault, channel: Channel) -> Outcome:
        if fault.failed is not None and (refused := self._refused(fault.failed, channel)) is not None:
            return refused
        error = self.link.violation(fault.reason, fault.method)
        self.link.report(error)
        self.link.send_at_once(fault.answer, channel, Sent(code=fault.code))
        self.outbound.fail(fault.failed, error)
        verdict = Verdict.REJECTED if fault.is_message else Verdict.MALFORMED
        return Outcome(verdict, fault.code, fault.reason, is_answer=fault.failed is not None)

    def _settle(self) -> None:
        link = self.link
        if link.closed_because is None:
            if link.ending is not None and not link.has_open_calls:
                self._end(link.ending)
        elif self.inbound.is_idle and not link.background:
            self._is_over = True
            if self._over is not None:
                self._over.set()


def _lacking(scopes: tuple[str, ...]) -> Outcome:
    return Outcome(Verdict.REJECTED, jsonrpc.INVALID_REQUEST, LACKING.format(" ".join(scopes)), scopes=scopes)
