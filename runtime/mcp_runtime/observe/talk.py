"""An observed conversation of one era: what each message means to both ends, and what is wrong with it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcp_runtime.core.connection.requester import Requester
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_object, spell_pointer
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.dispatch import Batch, Side, State
from mcp_runtime.core.protocol.jsonrpc import Failure, Fault, Message, Notification, Request, Result
from mcp_runtime.core.protocol.names import (
    AREAS,
    ELICITATION_CREATE,
    INITIALIZE,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_MESSAGE,
    NOTIFICATIONS_PROGRESS,
    NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED,
    PING,
    SERVER_DISCOVER,
    SUBSCRIPTIONS_LISTEN,
    UNRELATED,
    list_changed,
)
from mcp_runtime.core.protocol.rules import Broken
from mcp_runtime.observe.ends import MAX_OPEN, Asked, End
from mcp_runtime.observe.judge import Judge, mode_of, undeclared
from mcp_runtime.observe.known import Known

_NOTHING: Final[Mapping[str, Any]] = {}
_CHANGES: Final = frozenset((*(f"{area}ListChanged" for area in AREAS), "resourceSubscriptions"))
"""The changes that a client can listen for, as named in a subscription."""


@dataclass(slots=True, kw_only=True)
class Checked:
    """What was found out about a message.

    Attributes:
        method: its method; for an answer, that of the request; None if unknown.
        judge: the checks of its revision; None if the revision is unknown.
        broken: what is wrong with it.
        warnings: what the specification advises against.
    """

    method: str | None
    judge: Judge | None
    broken: list[Broken] = field(default_factory=list[Broken])
    warnings: list[Broken] = field(default_factory=list[Broken])


class Talk(ABC):
    """A conversation of one era.

    Args:
        judges: the revisions of the era, by name.

    Attributes:
        ends: the sessions of both sides.
        known: what earlier messages contained.
        revision: the revision in use; empty before one is agreed on.
    """

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        self.judges = judges
        self.ends = {side: End(side) for side in Side}
        self.known = Known()
        self.revision = ""

    @property
    def is_unknown(self) -> bool:
        """Whether the conversation uses a revision that is unknown here."""
        return bool(self.revision) and self.revision not in self.judges

    def take(self, sender: Side, value: dict[str, Any], message: Message, *, in_batch: bool) -> Checked:
        """Check a message that passes.

        Args:
            sender: the side that sent it.
            value: the message as received.
            message: the same message, classified.
            in_batch: whether it was part of a batch.
        """
        asked = self._asked(sender, message)
        checked = Checked(method=self._method(message, asked), judge=self._judge(message, asked))
        receiver = self.ends[sender.other]
        event = receiver.receive_message(message, None, Batch() if in_batch else None)
        if isinstance(event, Fault) and self._is_early(sender, message):
            # 2025-11-25, basic/lifecycle, "Initialization": SHOULD NOT
            reason = "before notifications/initialized, a server should send only pings and log messages"
            checked.warnings.append(Broken("/method", reason))
            checked.broken += self._judged(sender, value, message, asked, checked.judge)
        elif isinstance(event, Fault):
            if not (isinstance(message, Failure) and message.id is None):
                checked.broken.append(Broken(event.pointer, event.reason))
        else:
            checked.broken += self._judged(sender, value, message, asked, checked.judge)
        broken = self._sent(sender, message, checked.judge)
        if broken is not None and not checked.broken:
            checked.broken.append(broken)
        if asked is not None and isinstance(message, Result | Failure) and message.id is not None:
            goes_on = isinstance(message, Result) and "task" in message.result
            receiver.answered(message.id, goes_on=goes_on)
        self._dropped(sender, message)
        if len(receiver.incoming) > MAX_OPEN:
            receiver.incoming.pop(next(iter(receiver.incoming)))
        self._learn(sender, message, asked)
        return checked

    def _is_early(self, sender: Side, message: Message) -> bool:
        """Whether a server sends a request before its client has sent notifications/initialized."""
        is_between = self.ends[Side.CLIENT].state is State.INITIALIZED
        return is_between and sender is Side.SERVER and isinstance(message, Request)

    def _sent(self, sender: Side, message: Message, judge: Judge | None) -> Broken | None:
        """Record what an end has sent; return what is wrong with it."""
        return self.ends[sender].sent(message, judge)

    def _judged(
        self, sender: Side, value: dict[str, Any], message: Message, asked: Asked | None, judge: Judge | None
    ) -> Iterator[Broken]:
        if judge is None:
            return
        if isinstance(message, Request | Notification):
            found = judge.call(value, sender)
            yield from found
            if not found or found[0].pointer != "/method":
                yield from self._judged_call(sender, value, message, judge)
            if not found and isinstance(message, Request):
                yield from self.known.request(sender, message)
            elif not found:
                yield from self.known.notification(sender, message.method, message.params or {})
        elif isinstance(message, Failure):
            yield from judge.failure(message)
        elif asked is not None and asked.record is not None:
            found = judge.result(asked.record, message.result, wants_task=asked.wants_task)
            yield from found
            if not found:
                yield from self._judged_result(message, asked, judge)
                yield from self.known.result(sender, asked, message, has_outputs=judge.has_outputs)

    @abstractmethod
    def _judge(self, message: Message, asked: Asked | None) -> Judge | None:
        """Return the checks for a message; None if its revision is unknown."""

    @abstractmethod
    def _judged_call(
        self, sender: Side, value: dict[str, Any], message: Request | Notification, judge: Judge
    ) -> Iterator[Broken]:
        """Check a call against what was declared and asked before."""

    def _judged_result(self, message: Result, asked: Asked, judge: Judge) -> Iterator[Broken]:
        """Check a result against its request."""
        yield from ()

    @abstractmethod
    def _learn(self, sender: Side, message: Message, asked: Asked | None) -> None:
        """Learn what a message reveals about the conversation."""

    def _asked(self, sender: Side, message: Message) -> Asked | None:
        """Return the request that a message answers."""
        if isinstance(message, Result | Failure) and message.id is not None:
            return self.ends[sender.other].asked.get(message.id)
        return None

    @staticmethod
    def _method(message: Message, asked: Asked | None) -> str | None:
        if isinstance(message, Request | Notification):
            return message.method
        return asked.name if asked is not None else None

    def _dropped(self, sender: Side, message: Message) -> None:
        """Forget a request at the end that received it, when its sender cancels it."""
        if isinstance(message, Notification) and message.method == NOTIFICATIONS_CANCELLED:
            id_: Any = (message.params or {}).get("requestId")
            receiver = self.ends[sender.other]
            if type(id_) in (int, str) and id_ in receiver.incoming and receiver.incoming[id_].name != INITIALIZE:
                receiver.drop(receiver.incoming[id_])


class LegacyTalk(Talk):
    """A session: a handshake, and what follows it."""

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        super().__init__(judges)
        self._wanted: Judge | None = None
        self._capabilities = _NOTHING
        self._requesters: Mapping[Side, Requester] = {}
        self._is_late = False

    def _judge(self, message: Message, asked: Asked | None) -> Judge | None:
        if isinstance(message, Request) and message.method == INITIALIZE:
            wanted: Any = (message.params or {}).get("protocolVersion")
            return self.judges.get(wanted if isinstance(wanted, str) else "") or self.judges[max(self.judges)]
        if asked is not None and asked.name == INITIALIZE and isinstance(message, Result):
            chosen: Any = message.result.get("protocolVersion")
            return self.judges.get(chosen) if isinstance(chosen, str) else asked.judge
        return self.judges.get(self.revision) if self.revision else self._wanted

    def _judged_call(
        self, sender: Side, value: dict[str, Any], message: Request | Notification, judge: Judge
    ) -> Iterator[Broken]:
        method = judge.method(message.method)
        if method is not None and (requester := self._requesters.get(sender.other)) is not None:
            broken = undeclared(method, value, requester)
            if broken is not None:
                yield broken
        is_early = sender is Side.CLIENT and self.ends[Side.CLIENT].state is State.INITIALIZED
        if is_early and isinstance(message, Request) and message.method != PING and not self._is_late:
            self._is_late = True  # reported once
            yield Broken("/method", "the client did not send notifications/initialized before")

    def _learn(self, sender: Side, message: Message, asked: Asked | None) -> None:
        if isinstance(message, Request) and message.method == INITIALIZE:
            self._wanted = self._wanted or self._judge(message, None)
            self._capabilities = _object((message.params or {}).get("capabilities"))
        if asked is None or asked.name != INITIALIZE or not isinstance(message, Result) or self.revision:
            return
        revision: Any = message.result.get("protocolVersion")
        if not isinstance(revision, str):
            return
        self.revision = revision
        judge = self.judges.get(revision)
        for end in self.ends.values():
            end.revision = revision
            end.accepts_batches = judge is not None and judge.binding.has_batches
        if judge is not None:
            declared = {
                Side.CLIENT: self._capabilities,
                Side.SERVER: _object(message.result.get("capabilities")),
            }
            self._requesters = {side: judge.requester(side, declared) for side in Side}


class ModernTalk(Talk):
    """Stateless requests.

    Attributes:
        is_spoken: whether the server has answered one with a result.
    """

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        super().__init__(judges)
        self.is_spoken = False
        self._server: Mapping[str, Any] | None = None
        for end in self.ends.values():
            end.begin_modern()

    def knows(self, sender: Side, value: Mapping[str, Any]) -> bool:
        """Whether a notification belongs to a request of this conversation."""
        params = _object(value.get("params"))
        asks = self.ends[sender].asked, self.ends[sender.other].asked
        id_: Any = params.get("requestId")
        token: Any = params.get("progressToken")
        if value.get("method") == NOTIFICATIONS_CANCELLED:
            return type(id_) in (int, str) and any(id_ in asked for asked in asks)
        if value.get("method") == NOTIFICATIONS_PROGRESS:
            return type(token) in (int, str) and self.ends[sender.other].reported(token) is not None
        return names.SUBSCRIPTION_ID in _object(params.get("_meta"))

    def _judge(self, message: Message, asked: Asked | None) -> Judge | None:
        if asked is not None:
            return asked.judge
        if isinstance(message, Request):
            revision: Any = _meta(message.params).get(names.VERSION)
            return self.judges.get(revision) if isinstance(revision, str) else self.judges[max(self.judges)]
        return self.judges.get(self.revision)

    def _judged_call(
        self, sender: Side, value: dict[str, Any], message: Request | Notification, judge: Judge
    ) -> Iterator[Broken]:
        method, open_ = judge.method(message.method), self.ends[Side.CLIENT].asked
        if method is not None and self._server is not None:
            own = _object(_meta(message.params).get(names.CLIENT_CAPABILITIES))
            declared = {Side.CLIENT: own, Side.SERVER: self._server}
            if (broken := undeclared(method, value, judge.requester(sender.other, declared))) is not None:
                yield broken
                return
        if sender is Side.CLIENT:
            return
        if isinstance(message, Request):
            yield Broken("/method", "a server must not send requests in this revision")
        elif message.method == NOTIFICATIONS_MESSAGE and not any(asked.log_level for asked in open_.values()):
            yield Broken("/method", "no open request sets a log level")
        elif message.method in UNRELATED or message.method == NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED:
            yield from self._judged_change(message)

    def _judged_change(self, message: Message) -> Iterator[Broken]:
        """Check what a server sends to listeners (2026-07-28, basic/patterns/subscriptions)."""
        assert isinstance(message, Request | Notification)
        id_: Any = _meta(message.params).get(names.SUBSCRIPTION_ID)
        asked = self.ends[Side.CLIENT].asked.get(id_) if type(id_) in (int, str) else None
        if asked is None or asked.name != SUBSCRIPTIONS_LISTEN:
            yield Broken("/params/_meta", "it does not name an open subscription")
        elif message.method == NOTIFICATIONS_SUBSCRIPTIONS_ACKNOWLEDGED:
            agreed = _object((message.params or _NOTHING).get("notifications"))
            asked.agreed = frozenset(name for name, value in agreed.items() if value) & _CHANGES
        elif asked.agreed is None:
            yield Broken("/method", "the subscription was not acknowledged before")
        elif _flag(message.method) not in asked.agreed:
            yield Broken("/method", f"the subscription does not cover it: {_flag(message.method)} was not acknowledged")

    def _sent(self, sender: Side, message: Message, judge: Judge | None) -> Broken | None:
        if sender is Side.CLIENT or not isinstance(message, Notification) or message.method != NOTIFICATIONS_CANCELLED:
            return self.ends[sender].sent(message, judge, may_reuse=True)
        # A server may only cancel the request with which its client listens.
        id_: Any = (message.params or {}).get("requestId")
        client = self.ends[Side.CLIENT]
        asked = client.asked.get(id_) if type(id_) in (int, str) else None
        if asked is not None and asked.name != SUBSCRIPTIONS_LISTEN:
            return Broken("/params/requestId", "a server may only cancel subscriptions")
        if asked is not None:
            client.cancel(id_)
            client.answered(id_, is_cancelled=True)
        return None

    def _judged_result(self, message: Result, asked: Asked, judge: Judge) -> Iterator[Broken]:
        requests: Any = message.result.get("inputRequests")
        for key, request in requests.items() if is_object(requests) else ():
            name: Any = request.get("method") if is_object(request) else None
            method = judge.method(name) if isinstance(name, str) else None
            if method is None:
                continue
            mode = mode_of(_object(request.get("params"))) if method.name == ELICITATION_CREATE else ""
            if method.name not in asked.may_be_asked or (mode and mode not in asked.may_be_asked):
                place = spell_pointer(("result", "inputRequests", clipped(key, 64), "method"))
                needed = mode if method.name in asked.may_be_asked else method.capability
                yield Broken(place, f"needs the capability {needed}, which the request did not declare")

    def _learn(self, sender: Side, message: Message, asked: Asked | None) -> None:
        self.is_spoken = self.is_spoken or (asked is not None and isinstance(message, Result))
        if isinstance(message, Request) and sender is Side.CLIENT:
            revision: Any = _meta(message.params).get(names.VERSION)
            if isinstance(revision, str):
                self.revision = revision
        elif asked is not None and asked.name == SERVER_DISCOVER and isinstance(message, Result):
            self._server = _object(message.result.get("capabilities"))


def _flag(method: str) -> str:
    """Return the name of a change in subscriptions."""
    areas = [area for area in AREAS if method == list_changed(area)]
    return f"{areas[0]}ListChanged" if areas else "resourceSubscriptions"


def _object(value: Any) -> Mapping[str, Any]:
    return value if is_object(value) else _NOTHING


def _meta(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return _object((params or _NOTHING).get("_meta"))
