"""Open requests, one record each from the parse to the answer, and the other events of a session."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from mcp_runtime.core.json.values import is_object
from mcp_runtime.core.protocol.dispatch import Action
from mcp_runtime.core.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Failure,
    Fault,
    Id,
    Notification,
    Request,
    Result,
    is_id,
    write_error,
)

MAX_BATCH_BYTES: Final = 64 << 20
"""The maximum size in bytes of the answers to a batch, which are held until the last one is ready."""
NEVER: Final = float("-inf")
"""The progress of a request without a report yet."""


class Batch:
    """A received batch, whose answers are sent together."""

    __slots__ = ("answers", "open", "size")

    def __init__(self) -> None:
        self.open = 0
        self.size = 0
        self.answers: list[bytes] = []

    def add(self, id_: Id, answer: bytes) -> None:
        """Add an answer; it is replaced by an error if the batch is too large already."""
        if self.size + len(answer) > MAX_BATCH_BYTES:
            reason = "the answers to this batch are too large together; send this request alone"
            answer = write_error(id_, INTERNAL_ERROR, reason)
        self.size += len(answer)
        self.answers.append(answer)


class ReceivedCall:
    """A message of the peer; a request is booked until it is answered, refused or dropped.

    Attributes:
        action: what happens to a request.
        message: the message as received.
        name: its method.
        id: the id of the request; None for a notification.
        channel: the channel that it came over.
        book: the open requests among which its id is unique; None unless it is open.
        is_modern: whether it is independent of any session.
        token: its progress token; None if it wants no reports.
        progress: the progress of the last report; None before the first.
        batch: the batch that it belongs to; None for most.
    """

    __slots__ = ("action", "batch", "book", "channel", "id", "is_modern", "message", "name", "progress", "token")

    action: Action
    batch: Batch | None
    book: dict[Id, Any] | None
    channel: Any
    id: Any
    is_modern: bool
    message: Request | Notification
    name: str
    progress: float | None
    token: Id | None


class SentCall:
    """A request of this side that is not answered yet.

    Args:
        name: its method.
        progress: the progress of the last report; None if no reports are expected.

    Attributes:
        id: its id, which is its progress token as well; 0 before it is sent.
    """

    __slots__ = ("id", "name", "progress")

    def __init__(self, name: str, progress: float | None = None) -> None:
        self.id: Id = 0
        self.name = name
        self.progress = progress


class Cancelled(NamedTuple):
    """The peer cancelled an open request."""

    call: ReceivedCall
    reason: str | None


def cancelled(params: Any, calls: Mapping[Id, Any]) -> Cancelled | None:
    """Return which of these open requests the params of `notifications/cancelled` name, or None."""
    given: Mapping[str, Any] = params if is_object(params) else {}
    id_: Any = given.get("requestId")
    call, reason = calls.get(id_) if is_id(id_) else None, given.get("reason")
    return None if call is None else Cancelled(call, reason if isinstance(reason, str) else None)


class Progressed(NamedTuple):
    """The peer reported progress on a request of ours."""

    call: SentCall
    progress: float
    total: float | None
    message: str | None


Event: TypeAlias = ReceivedCall | Notification | Result | Failure | Cancelled | Progressed | Fault | None
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
