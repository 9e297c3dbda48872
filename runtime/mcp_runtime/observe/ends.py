"""The two ends of an observed conversation: sessions that learn what each side sent."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol.dispatch import NEVER, STEPS, Action, Batch, Booked, SentCall, Side, State, Step
from mcp_runtime.core.protocol.jsonrpc import Id, Message, Notification, Request, is_id, meta_of
from mcp_runtime.core.protocol.names import (
    CLIENT_CAPABILITIES,
    INITIALIZE,
    LOG_LEVEL,
    NOTIFICATIONS_CANCELLED,
    NOTIFICATIONS_INITIALIZED,
)
from mcp_runtime.core.protocol.rules import Broken
from mcp_runtime.core.protocol.session import Session
from mcp_runtime.observe.judge import Judge

MAX_OPEN: Final = 10_000
"""How many unanswered requests, and how many used ids, are remembered for each end."""
MAX_SUBJECT: Final = 1_000
"""The maximum length of a remembered tool name or cursor, in characters."""
_NOBODY: Final[frozenset[str]] = frozenset()


def progress_token(params: Mapping[str, Any] | None) -> Id | None:
    """Return the progress token of a request; None if it has no valid one."""
    token: Any = meta_of(params).get("progressToken")
    return token if token is None or is_id(token) else None


class Asked(SentCall):
    """An unanswered request of an end: what its answer is checked against, since params may be large.

    Attributes:
        judge: checks its answer; None if its revision is unknown.
        token: its progress token; None if it has none.
        wants_task: whether it may become a task.
        log_level: whether it sets a level of log messages (2026-07-28).
        may_be_asked: the methods that its answer may ask, given its sender's capabilities (2026-07-28).
        subject: what it names, such as a tool; None if it names nothing.
        cursor: the page that it requests; None for the first one.
        agreed: the changes that its subscription reports; None before it is acknowledged (2026-07-28).
    """

    __slots__ = ("agreed", "cursor", "judge", "log_level", "may_be_asked", "subject", "token", "wants_task")

    def __init__(self, request: Request, judge: Judge | None) -> None:
        super().__init__(request.method, None)
        params = request.params or {}
        self.judge = judge
        self.token = progress_token(params)
        self.wants_task = "task" in params
        named: Any = params.get("name")
        self.subject = named if isinstance(named, str) and len(named) <= MAX_SUBJECT else None
        cursor: Any = params.get("cursor")
        self.cursor = cursor if isinstance(cursor, str) and len(cursor) <= MAX_SUBJECT else None
        self.agreed: frozenset[str] | None = None
        meta: Any = params.get("_meta")
        self.log_level = is_object(meta) and LOG_LEVEL in meta
        declared: Any = meta.get(CLIENT_CAPABILITIES) if is_object(meta) else None
        self.may_be_asked = judge.may_be_asked(declared) if judge is not None and is_object(declared) else _NOBODY

    @property
    def record(self) -> RequestMethod[Any, Any] | None:
        """The record of its method; None if its revision has none."""
        return self.judge.request(self.name) if self.judge is not None else None


class Received(Booked):
    """A request that one end received, without its params, which may be large and which nothing checks later.

    Args:
        message: the request.
        channel: the channel that it came over.
        batch: the batch that it belongs to.
        book: the open requests among which its id is unique.
        action: what happens to it, which is for others to do.
    """

    def __init__(
        self, message: Request, channel: object, batch: Batch | None, *, book: dict[Id, Any], action: Action
    ) -> None:
        self.channel, self.batch, self.book = channel, batch, book
        self.name, self.id, self.token = message.method, message.id, progress_token(message.params)


class End(Session):
    """One end of a conversation: it receives what the other end sends, and learns what it sends itself.

    Args:
        side: which end of the conversation this is.

    Attributes:
        asked: its unanswered requests.
        has_forgotten: whether there were too many to remember all of them, so that less is checked.
    """

    def __init__(self, side: Side) -> None:
        super().__init__(side, Received)
        self.asked: dict[Id, Asked] = {}
        self.has_forgotten = False
        self._tokens: dict[Id, SentCall] = {}
        self._over: OrderedDict[Id, None] = OrderedDict()
        self._used: OrderedDict[Id, None] = OrderedDict()

    def sent(self, message: Message, judge: Judge | None, *, may_reuse: bool = False) -> Broken | None:
        """Record what this end has sent; return what is wrong with it, as far as that depends on the sender alone.

        Args:
            message: the message that it sent.
            judge: checks the answer to it.
            may_reuse: whether the id of a request that was answered may be used again.
        """
        if isinstance(message, Request):
            return self._asked(message, judge, may_reuse=may_reuse)
        if not isinstance(message, Notification):
            incoming = self.incoming.pop(message.id, None) if message.id is not None else None
            if incoming is not None and incoming.name == INITIALIZE:
                self._step(Step.ACCEPT if hasattr(message, "result") else Step.REFUSE)
        elif message.method == NOTIFICATIONS_INITIALIZED:
            self._step(Step.CONFIRM)
        elif message.method == NOTIFICATIONS_CANCELLED:
            return self._cancelled((message.params or {}).get("requestId"))
        return None

    def _asked(self, request: Request, judge: Judge | None, *, may_reuse: bool) -> Broken | None:
        id_, asked = request.id, Asked(request, judge)
        broken = None
        if id_ in self._used and not may_reuse:
            broken = Broken("/id", "the id was used before in this session")
        elif asked.token is not None and asked.token in self._tokens:
            broken = Broken("/params/_meta/progressToken", "the progress token belongs to a request that is still open")
        if request.method == INITIALIZE:
            self._step(Step.ASK)
        self.asked[id_] = self.outgoing[id_] = asked
        self._used[id_] = None
        if asked.token is not None:
            self._tokens[asked.token] = SentCall(request.method, NEVER)
            self._over.pop(asked.token, None)
        if len(self.outgoing) > MAX_OPEN:
            self.has_forgotten = True
            self.answered(next(iter(self.outgoing)))
        if len(self._used) > MAX_OPEN:
            self._used.popitem(last=False)
        return broken

    def _cancelled(self, id_: Any) -> Broken | None:
        if not is_id(id_):
            return None
        asked = self.asked.get(id_)
        if asked is None:
            is_known = id_ in self._used or len(self._used) >= MAX_OPEN
            return None if is_known else Broken("/params/requestId", "no request with this id was sent")
        if asked.name != INITIALIZE:
            self.cancel(id_)
            self.answered(id_, is_cancelled=True)
        return None

    def answered(self, id_: Id, *, is_cancelled: bool = False, goes_on: bool = False) -> None:
        """Record that a request of this end is over.

        Args:
            id_: its id.
            is_cancelled: whether this end cancelled it: progress reports may be on their way.
            goes_on: whether it became a task, on which more reports may follow.
        """
        asked = self.asked.pop(id_, None)
        self.outgoing.pop(id_, None)
        if asked is None or asked.token is None or goes_on:
            return
        self._tokens.pop(asked.token, None)
        if is_cancelled:
            self._over[asked.token] = None
            if len(self._over) > MAX_OPEN:
                self._over.popitem(last=False)

    def reported(self, token: Id) -> SentCall | None:
        """Return the request of this end that a progress token belongs to."""
        return self._tokens.get(token)

    def may_be_over(self, token: Id) -> bool:
        """Whether a token belongs to a request that this end cancelled."""
        return token in self._over or self.has_forgotten

    def begin_modern(self) -> None:
        """Begin without a handshake."""
        self.enter(State.READY)

    def _step(self, step: Step) -> None:
        """Advance as far as the lifecycle allows: its receiver has already reported violations."""
        self.enter(STEPS.get((self.state, step), self.state))
