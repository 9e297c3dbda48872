"""The events of a session, its open requests, and batches (2025-03-26, basic)."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from mcp_runtime.protocol.calls import Batch, ReceivedCall, SentCall
from mcp_runtime.protocol.jsonrpc import INVALID_REQUEST, Failure, MalformedMessage, Notification, Result


class Cancelled:
    """The peer cancelled an open request."""

    __slots__ = ("call", "reason")

    def __init__(self, call: ReceivedCall, reason: str | None) -> None:
        self.call = call
        self.reason = reason


class Progressed:
    """The peer reported progress on a request of ours."""

    __slots__ = ("call", "message", "progress", "total")

    def __init__(self, call: SentCall, progress: float, total: float | None, message: str | None) -> None:
        self.call = call
        self.progress = progress
        self.total = total
        self.message = message


class Violation:
    """The peer violated the protocol.

    Args:
        reason: what is wrong, for people.
        answer: the response to send; empty if there is none.
        method: the method of the message; None if unknown.
        failed: our request whose answer it made unusable; None if there is none.
        code: the JSON-RPC error code for it.
        is_malformed: whether it is not a message at all.
        pointer: the location in the message, as a JSON pointer.
    """

    __slots__ = ("answer", "code", "failed", "is_malformed", "method", "pointer", "reason")

    def __init__(
        self,
        reason: str,
        answer: bytes = b"",
        *,
        method: str | None = None,
        failed: SentCall | None = None,
        code: int = INVALID_REQUEST,
        is_malformed: bool = False,
        pointer: str = "/method",
    ) -> None:
        self.reason = reason
        self.code = code
        self.is_malformed = is_malformed
        self.answer = answer
        self.method = method
        self.failed = failed
        self.pointer = pointer


Event: TypeAlias = ReceivedCall | Notification | Result | Failure | Cancelled | Progressed | Violation


MAX_BATCH: Final = 1_000
"""The maximum number of messages in a batch: an error for each costs its sender two bytes."""


def check_batch(values: list[Any], revision: str, *, accepts: bool) -> None:
    """Check that several messages may be received as one array.

    Args:
        values: the array.
        revision: the revision in use; empty before one is agreed on.
        accepts: whether it has batches.

    Raises:
        MalformedMessage: the array as a whole is refused.
    """
    if not accepts:
        reason = f"revision {revision} has no batches" if revision else "a message is an object"
        raise MalformedMessage(INVALID_REQUEST, reason)
    if not values:
        raise MalformedMessage(INVALID_REQUEST, "a batch must not be empty")
    if len(values) > MAX_BATCH:
        raise MalformedMessage(INVALID_REQUEST, f"a batch may have at most {MAX_BATCH:,} messages")


def receive_all(values: list[Any], batch: Batch, receive: Callable[[Any], Event]) -> list[Event]:
    """Process the messages of a batch; answers to refused ones are held until its end.

    Refused messages are reported as one, so that a batch costs one log line.
    """
    events: list[Event] = []
    refused: list[Violation] = []
    for value in values:
        event = receive(value)
        if isinstance(event, Violation):
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
