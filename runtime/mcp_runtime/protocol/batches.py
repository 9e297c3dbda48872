"""Batches (2025-03-26, basic): messages that are received in one array, and answers that are sent in one."""

from collections.abc import Callable
from typing import Any, Final

from mcp_runtime.protocol.events import Batch, Event, Violation
from mcp_runtime.protocol.jsonrpc import INVALID_REQUEST, MalformedMessage

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
