"""What a session tells and keeps: the events that messages mean, and the requests that are open."""

from typing import Any, Final, TypeAlias

from mcp_runtime.protocol.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Failure,
    Id,
    Key,
    Notification,
    Request,
    Result,
    write_error,
)

MAX_BATCH_BYTES: Final = 64 << 20
"""How many bytes the answers to a batch have, which are kept until the last one is there."""


class Cancelled:
    """The peer no longer wants the answer to the request with a key."""

    __slots__ = ("key", "reason")

    def __init__(self, key: Key, reason: str | None) -> None:
        self.key = key
        self.reason = reason


class Progressed:
    """The peer reports how far it has come with a request of ours."""

    __slots__ = ("id", "message", "progress", "total")

    def __init__(self, id_: Id, progress: float, total: float | None, message: str | None) -> None:
        self.id = id_
        self.progress = progress
        self.total = total
        self.message = message


class Violation:
    """The peer broke the protocol.

    Args:
        reason: what is wrong, for people.
        answer: what it should be sent, empty if nothing.
        method: the method of the message, None if it is not known.
        failed: the id of the request of ours that it spoiled the answer to, None if it did not.
        code: the JSON-RPC error code that it deserves.
        is_malformed: whether it sent something that is not a message.
        pointer: where in the message, as a JSON pointer.
    """

    __slots__ = ("answer", "code", "failed", "is_malformed", "method", "pointer", "reason")

    def __init__(
        self,
        reason: str,
        answer: bytes = b"",
        *,
        method: str | None = None,
        failed: Id | None = None,
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


Event: TypeAlias = Request | Notification | Result | Failure | Cancelled | Progressed | Violation


class Batch:
    """A batch that was received, whose answers leave together."""

    __slots__ = ("answers", "open", "size")

    def __init__(self) -> None:
        self.open = 0
        self.size = 0
        self.answers: list[bytes] = []

    def add(self, id_: Id, answer: bytes) -> None:
        """Keep an answer; it is replaced by an error if there is too much already."""
        if self.size + len(answer) > MAX_BATCH_BYTES:
            reason = "the answers to this batch are too large together; send this request alone"
            answer = write_error(id_, INTERNAL_ERROR, reason)
        self.size += len(answer)
        self.answers.append(answer)


class Outgoing:
    """A request that we sent and that is not answered yet."""

    __slots__ = ("method", "progress")

    def __init__(self, method: str, progress: float | None) -> None:
        self.method = method
        self.progress = progress


class Incoming:
    """A request that we received and have not answered yet; `line` is what it came over."""

    __slots__ = ("batch", "id", "line", "method", "progress", "token")

    def __init__(self, id_: Id, method: str, token: Id | None, batch: Batch | None, line: Any) -> None:
        self.id = id_
        self.method = method
        self.line = line
        self.token = token
        self.progress: float | None = None
        self.batch = batch
