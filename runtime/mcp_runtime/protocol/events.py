"""What a session tells and keeps: the events that messages mean, and the requests that are open."""

from typing import TypeAlias

from mcp_runtime.protocol.jsonrpc import Failure, Id, Notification, Request, Result


class Cancelled:
    """The peer no longer wants the answer to its request."""

    __slots__ = ("id", "reason")

    def __init__(self, id_: Id, reason: str | None) -> None:
        self.id = id_
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

    `answer` is what it should be sent, empty if nothing; `failed` is the id of the request of ours that it spoiled the
    answer to, None if it did not.
    """

    __slots__ = ("answer", "failed", "method", "reason")

    def __init__(
        self, reason: str, answer: bytes = b"", *, method: str | None = None, failed: Id | None = None
    ) -> None:
        self.reason = reason
        self.answer = answer
        self.method = method
        self.failed = failed


Event: TypeAlias = Request | Notification | Result | Failure | Cancelled | Progressed | Violation


class Batch:
    """A batch that was received, whose answers leave together."""

    __slots__ = ("answers", "open")

    def __init__(self) -> None:
        self.open = 0
        self.answers: list[bytes] = []


class Outgoing:
    """A request that we sent and that is not answered yet."""

    __slots__ = ("method", "progress")

    def __init__(self, method: str, progress: float | None) -> None:
        self.method = method
        self.progress = progress


class Incoming:
    """A request that we received and have not answered yet."""

    __slots__ = ("batch", "method", "progress", "token")

    def __init__(self, method: str, token: Id | None, batch: Batch | None) -> None:
        self.method = method
        self.token = token
        self.progress: float | None = None
        self.batch = batch
