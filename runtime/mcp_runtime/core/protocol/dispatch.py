"""What happens to each message that arrives: the tables of both eras, and the records and events of a session.

The session belongs to the legacy era (2024-11-05 to 2025-11-25, basic/lifecycle): handshake, session, end. The modern
era (2026-07-28) has none: each request stands alone.

A result or an error is in no table. In every state it completes the request of this side that has its id. An open
request of the peer has one record (`Booked`), from the parse to the answer.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol import jsonrpc, names
from mcp_runtime.core.protocol.jsonrpc import INVALID_REQUEST, Failure, Fault, Id, Notification, Result


class Side(StrEnum):
    """Which end of the conversation this is."""

    CLIENT = "client"
    SERVER = "server"

    @property
    def other(self) -> "Side":
        """The other end."""
        return _OTHERS[self]


_OTHERS: Final = {Side.CLIENT: Side.SERVER, Side.SERVER: Side.CLIENT}


class State(StrEnum):
    """The state of a conversation."""

    NEW = "new"
    INITIALIZING = "initializing"
    INITIALIZED = "initialized"
    READY = "ready"
    CLOSED = "closed"


class Step(StrEnum):
    """What advances a conversation; both ends take the same steps, one by sending, the other by receiving."""

    ASK = "the request initialize"
    ACCEPT = "the result of initialize"
    REFUSE = "an error in answer to initialize"
    CONFIRM = "the notification initialized"
    CLOSE = "the end of the connection"


STEPS: Final[Mapping[tuple[State, Step], State]] = {
    (State.NEW, Step.ASK): State.INITIALIZING,
    (State.INITIALIZING, Step.ACCEPT): State.INITIALIZED,
    # A client whose revision was refused may try another one.
    (State.INITIALIZING, Step.REFUSE): State.NEW,
    (State.INITIALIZED, Step.CONFIRM): State.READY,
    **{(state, Step.CLOSE): State.CLOSED for state in State},
}
"""Maps state and step to the next state. A missing step is a violation."""


class Action(StrEnum):
    """What happens to a request or a notification.

    A method is known if its revision has it, the declared capabilities include it, and this side has a handler for it.
    """

    HANDLE = "handle"
    """A request: its handler answers it. An unknown one is answered with -32601."""
    PONG = "pong"
    """A ping: it is answered at once, unless the program has a handler for it."""
    BEGIN = "begin"
    """`initialize`: it is answered with the revision and the capabilities."""
    DELIVER = "deliver"
    """A notification: it is delivered to its handler, and to middleware. An unknown one is ignored silently."""
    CONFIRM = "confirm"
    """`notifications/initialized`: the session is ready; then as `DELIVER`."""
    CANCEL = "cancel"
    """The request that it names is stopped, and gets no answer.

    Only the sender of a request may cancel it: in a session any except `initialize`, in the modern era only over the
    channel that the request came over. If it is not open any more, this is like `DELIVER` at a client and in a session,
    and like `IGNORE` otherwise.
    """
    PROGRESS = "progress"
    """The report is passed to the caller whose request it names. If that is not open, it is a violation."""
    IGNORE = "ignore"
    """Nothing: it belongs to a request that is over, or that came over another channel."""
    REFUSE = "refuse"
    """A violation: it is reported. A request is answered with -32600."""
    REPORT = "report"
    """A violation: it is reported. A request is not answered, since a client of the modern era sends no answers."""


REQUEST: Final = "any other request"
NOTIFICATION: Final = "any other notification"

A = Action
# fmt: off
DISPATCH: Final[Mapping[Side, Mapping[str, tuple[Action, Action, Action, Action, Action]]]] = {
    Side.SERVER: {
        # the method                      new           initializing  initialized   ready         modern era
        names.INITIALIZE:                (A.BEGIN,      A.REFUSE,     A.REFUSE,     A.REFUSE,     A.HANDLE),
        names.PING:                      (A.PONG,       A.PONG,       A.PONG,       A.PONG,       A.HANDLE),
        names.SERVER_DISCOVER:           (A.HANDLE,     A.REFUSE,     A.HANDLE,     A.HANDLE,     A.HANDLE),
        REQUEST:                         (A.REFUSE,     A.REFUSE,     A.HANDLE,     A.HANDLE,     A.HANDLE),
        names.NOTIFICATIONS_INITIALIZED: (A.REFUSE,     A.REFUSE,     A.CONFIRM,    A.REFUSE,     A.IGNORE),
        names.NOTIFICATIONS_CANCELLED:   (A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL),
        names.NOTIFICATIONS_PROGRESS:    (A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.IGNORE),
        NOTIFICATION:                    (A.REFUSE,     A.REFUSE,     A.DELIVER,    A.DELIVER,    A.IGNORE),
    },
    Side.CLIENT: {
        # the method                      new           initializing  initialized   ready         modern era
        names.INITIALIZE:                (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REPORT),
        names.PING:                      (A.PONG,       A.PONG,       A.PONG,       A.PONG,       A.REPORT),
        REQUEST:                         (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.HANDLE,     A.REPORT),
        names.NOTIFICATIONS_INITIALIZED: (A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE,     A.REFUSE),
        names.NOTIFICATIONS_CANCELLED:   (A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL,     A.CANCEL),
        names.NOTIFICATIONS_PROGRESS:    (A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS,   A.PROGRESS),
        names.NOTIFICATIONS_MESSAGE:     (A.DELIVER,    A.DELIVER,    A.DELIVER,    A.DELIVER,    A.DELIVER),
        NOTIFICATION:                    (A.REFUSE,     A.REFUSE,     A.DELIVER,    A.DELIVER,    A.DELIVER),
    },
}
# fmt: on
"""Maps the receiver and the method to what happens in each state of a session, and in the modern era.

What a side must not send in a state of the session is what the other one refuses.
"""


Rules: TypeAlias = Mapping[str, Action]
"""One column of the table at one receiver."""

_OPEN: Final = (State.NEW, State.INITIALIZING, State.INITIALIZED, State.READY)
SESSION: Final[Mapping[tuple[Side, State], Rules]] = {
    **{
        (side, state): {method: actions[column] for method, actions in DISPATCH[side].items()}
        for side in Side
        for column, state in enumerate(_OPEN)
    },
    **{(side, State.CLOSED): {REQUEST: A.REFUSE, NOTIFICATION: A.REFUSE} for side in Side},
}
"""The rules of each state of a session; once it has ended, everything is refused."""
MODERN: Final[Mapping[Side, Rules]] = {
    side: {method: actions[-1] for method, actions in DISPATCH[side].items()} for side in Side
}
"""The rules of the modern era."""


MAX_BATCH_BYTES: Final = 64 << 20
"""The maximum size in bytes of the answers to a batch, which are held until the last one is ready."""
NEVER: Final = float("-inf")
"""The progress of a request without a report yet."""


class Batch:
    """A received batch, whose answers are sent together."""

    def __init__(self) -> None:
        self.open = 0
        self.size = 0
        self.answers: list[bytes] = []

    def add(self, id_: Id, answer: bytes) -> None:
        """Add an answer; it is replaced by an error if the batch is too large already."""
        if self.size + len(answer) > MAX_BATCH_BYTES:
            reason = "the answers to this batch are too large together; send this request alone"
            answer = jsonrpc.write_error(id_, jsonrpc.INTERNAL_ERROR, reason)
        self.size += len(answer)
        self.answers.append(answer)


class Booked:
    """A message of the peer as a session sees it; a request is open until it is answered, refused or dropped.

    Attributes:
        name: its method.
        id: the id of the request; None for a notification.
        channel: the channel that it came over.
        batch: the batch that it belongs to; None for most.
        book: the open requests among which its id is unique; None unless it is open.
        token: its progress token; None if it wants no reports.
        progress: the progress of the last report; None before the first.
        is_modern: whether it is independent of any session.
    """

    batch: Batch | None
    book: dict[Id, Any] | None
    channel: Any
    id: Any
    is_modern: bool = False
    name: str
    progress: float | None = None
    token: Id | None


class SentCall:
    """A request of this side that is not answered yet.

    Args:
        name: its method.
        progress: the progress of the last report; None if no reports are expected.

    Attributes:
        id: its id, which is its progress token as well; 0 before it is sent.
    """

    id: Id = 0

    def __init__(self, name: str, progress: float | None = None) -> None:
        self.name, self.progress = name, progress


class Cancelled(NamedTuple):
    """The peer cancelled an open request."""

    reply: Booked
    reason: str | None


def cancelled(params: Any, replies: Mapping[Id, Any]) -> Cancelled | None:
    """Return which of these open requests the params of `notifications/cancelled` name, or None."""
    given: Mapping[str, Any] = params if is_object(params) else {}
    id_: Any = given.get("requestId")
    reply, reason = replies.get(id_) if jsonrpc.is_id(id_) else None, given.get("reason")
    return None if reply is None else Cancelled(reply, reason if isinstance(reason, str) else None)


class Progressed(NamedTuple):
    """The peer reported progress on a request of ours."""

    call: SentCall
    progress: float
    total: float | None
    message: str | None


Event: TypeAlias = Booked | Notification | Result | Failure | Cancelled | Progressed | Fault | None
"""What a message of the peer turned out to be; None if it changes nothing."""


MAX_BATCH: Final = 1_000
"""The maximum number of messages in a batch: an error for each costs its sender two bytes."""


def check_batch(values: list[Any], revision: str, *, accepts: bool) -> None:
    """Check that several messages may be received as one array.

    Args:
        values: the array.
        revision: the revision in use; empty before one is agreed on.
        accepts: whether it has batches.

    Raises:
        Fault: the array as a whole is refused.
    """
    if not accepts:
        reason = f"revision {revision} has no batches" if revision else "a message is an object"
        raise Fault(INVALID_REQUEST, reason)
    if not values:
        raise Fault(INVALID_REQUEST, "a batch must not be empty")
    if len(values) > MAX_BATCH:
        raise Fault(INVALID_REQUEST, f"a batch may have at most {MAX_BATCH:,} messages")


def receive_all(values: list[Any], batch: Batch, receive: Callable[[Any], Event]) -> list[Event]:
    """Process the messages of a batch; answers to refused ones are held until its end.

    Refused messages are reported as one, so that a batch costs one log line.
    """
    events: list[Event] = []
    refused: list[Fault] = []
    for value in values:
        event = receive(value)
        if isinstance(event, Fault):
            if event.answer:
                batch.answers.append(event.answer)
                event.answer = b""
            refused.append(event)
            if len(refused) > 1 and event.failed is None:
                continue
        events.append(event)
    if len(refused) > 1:
        refused[0].reason += f"; {len(refused) - 1:,} more messages of the batch were refused"
    return events
