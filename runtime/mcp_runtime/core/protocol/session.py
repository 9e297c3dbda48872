"""One end of an MCP conversation, without any I/O: bytes in, events out, bytes back.

A session tracks the open requests in both directions and the state of the conversation. It does not interpret params:
types and handlers belong to its user, which is a connection or an observer.

A message that arrives was parsed and classified by `jsonrpc`; `dispatch` has what happens to it, by its method and the
state. A request that is allowed gets a record (`dispatch.Booked`) and is entered in the book of open requests,
`incoming`, from which its answer, its refusal or its cancellation removes it. A result or an error completes the
request in `outgoing` that has its id. Everything else becomes an event, or a `Fault` with the error response that it
deserves. Only the sender of a request may cancel it: a cancellation names a request in the receiver's own book. (Over
HTTP, a client of the modern era cancels by disconnecting, which its connection learns as a lost channel.)

In the legacy era, the messages of the handshake take the state from new to ready, at both ends alike. In the modern
era it is ready from the beginning, and each request is entered in the book of the channel that it came over.

Messages of a batch are processed one by one; their answers wait for the last of them.

Sections named below are those of the specification's revision 2025-11-25.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final, NoReturn

from mcp_runtime.core.errors import LocalProtocolError, clipped
from mcp_runtime.core.json.values import is_number
from mcp_runtime.core.protocol import dispatch, jsonrpc, names
from mcp_runtime.core.protocol.dispatch import Action, Batch, Booked, Event, SentCall, Side, State, Step
from mcp_runtime.core.protocol.jsonrpc import INVALID_REQUEST, Failure, Fault, Id, Notification, Request, Result
from mcp_runtime.core.protocol.names import INITIALIZE, NOTIFICATIONS_CANCELLED, NOTIFICATIONS_PROGRESS, SERVER_DISCOVER

MAX_REMEMBERED: Final = 10_000
"""How many cancelled requests are remembered, so that late answers to them are not violations."""


class Session:
    """One end of a conversation.

    Args:
        side: which end of the conversation this is.
        new_reply: creates the record of a received request from the message, its channel, its batch, the book of open
            requests that it is entered in, and what happens to it.

    Attributes:
        state: the state of the conversation.
        revision: the agreed revision; empty before that.
        accepts_batches: whether several messages may arrive as one array (basic/index of 2025-03-26).
        ids_may_be_absent: whether the revision has answers without an id.
        incoming: the open requests of the peer, by id; those of the modern era are booked on their channels.
        outgoing: the open requests of this side, by id.
        next_id: the id of the next request of this side.
        lasting: what is reported under progress tokens of this side that outlive their requests, by token.
    """

    def __init__(self, side: Side, new_reply: Callable[..., Booked]) -> None:
        self.side = side
        self._new_reply = new_reply
        self.enter(State.NEW)
        self.revision = ""
        self.accepts_batches = False
        self.ids_may_be_absent = False
        self.outgoing: dict[Id, SentCall] = {}
        self.incoming: dict[Id, Booked] = {}
        self.lasting: dict[Id, SentCall] = {}
        self.next_id = 1
        self._given_up: OrderedDict[Id, None] = OrderedDict()

    def enter(self, state: State) -> None:
        """Enter a state, which determines what happens to the messages of the peer."""
        self.state, self._rules = state, dispatch.SESSION[self.side, state]

    def speak(self, revision: str, *, batches: bool, errors_without_id: bool) -> None:
        """Use a revision, which may have batches, and error responses without an id."""
        self.revision, self.accepts_batches, self.ids_may_be_absent = revision, batches, errors_without_id

    def restart(self, *, has_handshake: bool) -> None:
        """Begin in another era, with or without a handshake to wait for."""
        self.enter(State.NEW if has_handshake else State.READY)
        if not has_handshake:
            self._rules = dispatch.MODERN[self.side]

    def request(self, call: SentCall, params: bytes | None) -> bytes:
        """Begin a request, which gets its id; return the bytes to send.

        Raises:
            LocalProtocolError: the lifecycle does not allow it now.
        """
        if self.state is not State.READY:
            self._check_sending(call.name, dispatch.REQUEST)
        if call.name == INITIALIZE:
            self._step(Step.ASK)
        call.id = id_ = self.next_id
        self.next_id += 1
        self.outgoing[id_] = call
        return jsonrpc.write_request(id_, call.name, params)

    def notify(self, method: str, params: bytes | None) -> bytes:
        """Return the bytes of a notification.

        Raises:
            LocalProtocolError: the lifecycle does not allow it now.
        """
        if method == names.NOTIFICATIONS_INITIALIZED:
            self._step(Step.CONFIRM)
        elif self.state is not State.READY:
            self._check_sending(method, dispatch.NOTIFICATION)
        return jsonrpc.write_notification(method, params)

    def answer(self, reply: Booked, result: bytes) -> bytes:
        """Return the bytes of the result of an open request; empty while the rest of its batch is not answered.

        Raises:
            LocalProtocolError: it is not open.
        """
        self._close(reply, Step.ACCEPT)
        answer = jsonrpc.write_result(reply.id, result)
        return answer if reply.batch is None else self._answered(reply.batch, reply.id, answer)

    def refuse(self, reply: Booked, code: int, message: str, data: Any = None) -> bytes:
        """Return the bytes of an error response to an open request; empty while its batch is not answered.

        Raises:
            LocalProtocolError: it is not open.
        """
        self._close(reply, Step.REFUSE)
        answer = jsonrpc.write_error(reply.id, code, message, data)
        return answer if reply.batch is None else self._answered(reply.batch, reply.id, answer)

    def cancel(self, id_: Id, reason: str | None = None) -> bytes:
        """Cancel a request of ours; return the bytes that notify the peer, empty if it must not be notified.

        `initialize` must not be cancelled (basic/utilities/cancellation), and an answered request need not be. Neither
        is `server/discover`, which the server may not support.
        """
        outgoing = self.outgoing.pop(id_, None)
        if outgoing is None:
            return b""
        self._given_up[id_] = None
        if len(self._given_up) > MAX_REMEMBERED:
            self._given_up.popitem(last=False)
        if outgoing.name in (INITIALIZE, SERVER_DISCOVER) or self.state is State.CLOSED:
            return b""
        params: dict[str, Any] = {"requestId": id_}
        if reason is not None:
            params["reason"] = reason
        return jsonrpc.write_notification(NOTIFICATIONS_CANCELLED, jsonrpc.dump(params))

    def progress(self, reply: Booked, progress: float, total: float | None = None, message: str | None = None) -> bytes:
        """Return the bytes of a progress report on an open request; empty if the peer did not ask for reports.

        Raises:
            LocalProtocolError: the progress does not increase (basic/utilities/progress).
        """
        if reply.book is None or reply.token is None:
            return b""
        if reply.progress is not None and progress <= reply.progress:
            self._forbid(NOTIFICATIONS_PROGRESS, f"progress must increase: {progress:g} after {reply.progress:g}")
        reply.progress = progress
        params: dict[str, Any] = {"progressToken": reply.token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        return jsonrpc.write_notification(NOTIFICATIONS_PROGRESS, jsonrpc.dump(params))

    def close(self) -> None:
        """End the conversation: no request of the peer is open any more; those of this side get no answers."""
        self._step(Step.CLOSE)
        for reply in self.incoming.values():
            reply.book = None
        self.incoming.clear()

    def receive_batch(self, values: list[Any], channel: object) -> list[Event]:
        """Process several messages that arrived as one array, parsed.

        Raises:
            Fault: the array as a whole is refused.
        """
        dispatch.check_batch(values, self.revision, accepts=self.accepts_batches)
        batch = Batch()
        # Held open until all of it is read, so that nothing is sent before the last message is known.
        batch.open = 1

        def receive(value: Any) -> Event:
            try:
                return self.receive_message(jsonrpc.classify(value), channel, batch)
            except Fault as error:
                return self.malformed(error)

        events = dispatch.receive_all(values, batch, receive)
        if answer := self._release(batch):
            # Only refused messages are answered by now, and the first of them is reported for all.
            next(event for event in events if isinstance(event, Fault)).answer = answer
        return events

    def receive_message(self, message: jsonrpc.Message, channel: object, batch: Batch | None = None) -> Event:
        """Process one message."""
        if isinstance(message, Request):
            return self._receive_request(message, batch, channel)
        if isinstance(message, Result):
            return self._receive_answer(message, Step.ACCEPT)
        if isinstance(message, Notification):
            return self._receive_notification(message)
        return self._receive_failure(message)

    def _receive_request(self, request: Request, batch: Batch | None, channel: object) -> Event:
        id_, method = request.id, request.method
        if (held := self.incoming.get(id_)) is not None:
            return self.in_use(request, is_same=held.channel is channel)
        action = self._rules.get(method, self._rules[dispatch.REQUEST])
        if action is Action.REPORT:
            return _fault("a server must not send requests in this revision", method)
        if action is Action.REFUSE or (batch is not None and action is Action.BEGIN):
            reason = f"{method} is not allowed in state {self.state.value!r}: initialize first"
            if method == INITIALIZE:
                reason = "initialize must be the first message, sent once, and not in a batch"
            return _fault(reason, method, answer=jsonrpc.write_error(id_, INVALID_REQUEST, reason))
        if action is Action.BEGIN:
            self._step(Step.ASK)
        if batch is not None:
            batch.open += 1
        reply = self.incoming[id_] = self._new_reply(request, channel, batch, book=self.incoming, action=action)
        return reply

    def _receive_notification(self, notification: Notification) -> Event:
        method = notification.method
        action = self._rules.get(method, self._rules[dispatch.NOTIFICATION])
        if action is Action.CANCEL:
            return self._receive_cancelled(notification)
        if action is Action.PROGRESS:
            return self._receive_progress(notification)
        if action is Action.REFUSE:
            return _fault(f"{method} is not allowed in state {self.state.value!r}", method)
        if action is Action.CONFIRM:
            self._step(Step.CONFIRM)
        return notification

    def _receive_cancelled(self, notification: Notification) -> Event:
        id_: Any = (notification.params or {}).get("requestId")
        if not jsonrpc.is_id(id_):
            return _fault("requestId must be a string or an integer", NOTIFICATIONS_CANCELLED)
        if (reply := self.incoming.get(id_)) is not None and reply.name == INITIALIZE:
            return _fault("initialize must not be cancelled", NOTIFICATIONS_CANCELLED)
        # The answer may have crossed the cancellation, so this is not a violation (basic/utilities/cancellation).
        return dispatch.cancelled(notification.params, self.incoming) or notification

    def drop(self, reply: Booked) -> bytes:
        """Forget an open request that the peer cancelled; return what its batch still owes, if it was the last."""
        book, reply.book = reply.book, None
        if book is None:
            return b""
        del book[reply.id]
        return self._release(reply.batch) if reply.batch is not None else b""

    def _receive_progress(self, notification: Notification) -> Event:
        params: Any = notification.params or {}
        token, progress = params.get("progressToken"), params.get("progress")
        total, message = params.get("total"), params.get("message")
        if not is_number(progress) or not (total is None or is_number(total)):
            return _fault("progress and total must be numbers", NOTIFICATIONS_PROGRESS, "/params")
        outgoing = self.reported(token) if jsonrpc.is_id(token) else None
        if outgoing is None or outgoing.progress is None:
            if jsonrpc.is_id(token) and self.may_be_over(token):
                # The report may have crossed the end of the request.
                return notification
            reason = f"the progress token {token!r} does not belong to an open request"
            return _fault(reason, NOTIFICATIONS_PROGRESS, "/params/progressToken")
        if progress <= outgoing.progress:
            # Not formatted with `g`, which fails for an integer of 400 digits.
            before, now = clipped(repr(outgoing.progress), 60), clipped(repr(progress), 60)
            reason = f"progress must increase: {now} after {before}"
            return _fault(reason, NOTIFICATIONS_PROGRESS, "/params/progress")
        outgoing.progress = progress
        return dispatch.Progressed(outgoing, progress, total, message if isinstance(message, str) else None)

    def reported(self, token: Id) -> SentCall | None:
        """Return the request that a progress token of this side belongs to; None if none is open."""
        return self.outgoing.get(token) or self.lasting.get(token)

    def may_be_over(self, token: Id) -> bool:
        """Whether a token may belong to a request which ended while a report on it was on its way."""
        return type(token) is int and 0 < token < self.next_id

    def _receive_answer(self, answer: Result | Failure, step: Step) -> Event:
        assert answer.id is not None
        outgoing = self.outgoing.pop(answer.id, None)
        if outgoing is None:
            return self._unexpected(answer.id)
        if outgoing.name == INITIALIZE:
            self._step(step)
        answer.call = outgoing
        return answer

    def _receive_failure(self, failure: Failure) -> Event:
        if failure.id is None and [sent.name for sent in self.outgoing.values()] == [SERVER_DISCOVER]:
            # Servers that do not support the request may answer it without its id.
            failure.id = next(iter(self.outgoing))
        if failure.id is None:
            return _fault(f"the peer could not read a message: {failure.message} ({failure.code})")
        return self._receive_answer(failure, Step.REFUSE)

    def unread(self, code: int, reason: str, id_: Id | None = None) -> bytes:
        """Return the bytes of the answer to a message that could not be read, whose id may be unknown.

        JSON-RPC specifies null for such an id. MCP's schemas do not allow null, but from 2025-11-25 on the id may be
        absent, so it is omitted there.
        """
        return jsonrpc.write_error(id_, code, reason, null_id=not self.ids_may_be_absent)

    def malformed(self, fault: Fault) -> Fault:
        """Complete the fault of something that is not a message: its answer, or the request that it fails."""
        if not (fault.is_answer or (fault.is_unclear and fault.id in self.outgoing)):
            # With the id of an open request, it would be taken for the answer to that.
            fault.answer = self.unread(fault.code, fault.reason, None if fault.id in self.incoming else fault.id)
        elif fault.id is not None and (outgoing := self.outgoing.pop(fault.id, None)) is not None:
            fault.failed, fault.method = outgoing, outgoing.name
        return fault

    def in_use(self, request: Request, *, is_same: bool) -> Fault:
        """Refuse a request whose id belongs to an open one.

        Over the same channel, an answer with the id would be taken for that of the open request, so none is sent there.
        """
        shown = clipped(repr(request.id), 100)
        reason = f"the id {shown} belongs to a request that is still open"
        answer = self.unread(INVALID_REQUEST, reason, None if is_same else request.id)
        return _fault(reason, request.method, "/id", answer=answer)

    def _unexpected(self, id_: Id) -> Event:
        if id_ in self._given_up:
            del self._given_up[id_]
            return None
        return _fault(f"received an answer for {id_!r}, which is not an open request", None, "/id")

    def _close(self, reply: Booked, step: Step) -> None:
        book, reply.book = reply.book, None
        if book is None:
            self._forbid(None, f"no request {reply.id!r} is open")
        del book[reply.id]
        if reply.name == INITIALIZE and not reply.is_modern:
            self._step(step)

    def _answered(self, batch: Batch, id_: Id, answer: bytes) -> bytes:
        batch.add(id_, answer)
        return self._release(batch)

    @staticmethod
    def _release(batch: Batch) -> bytes:
        batch.open -= 1
        return b"[%b]" % b",".join(batch.answers) if not batch.open and batch.answers else b""

    def _check_sending(self, method: str, kind: str) -> None:
        rules = dispatch.SESSION[self.side.other, self.state]
        if rules.get(method, rules[kind]) is Action.REFUSE:
            self._forbid(method, f"not allowed in state {self.state.value!r}")

    def _step(self, step: Step) -> None:
        following = dispatch.STEPS.get((self.state, step))
        if following is None:
            self._forbid(None, f"{step.value} does not follow state {self.state.value!r}")
        self.enter(following)

    def _forbid(self, method: str | None, reason: str) -> NoReturn:
        raise LocalProtocolError(revision=self.revision or "MCP", method=method, pointer="", reason=reason)


def _fault(reason: str, method: str | None = None, pointer: str = "/method", *, answer: bytes = b"") -> Fault:
    """Return the fault of a message that is not allowed."""
    return Fault(INVALID_REQUEST, reason, method=method, pointer=pointer, is_message=True, answer=answer)
