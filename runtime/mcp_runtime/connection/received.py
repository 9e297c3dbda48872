"""A message as it arrived, and what makes more of it."""

from collections.abc import Awaitable
from typing import Any, Protocol

from mcp_runtime.connection.answers import Handler
from mcp_runtime.connection.line import Line
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.work import Work
from mcp_runtime.method import AnyMethod
from mcp_runtime.protocol.jsonrpc import Key, Notification, Request


class Received:
    """A request or notification as it arrived: who sent it, over which line, and what tells it apart.

    Its text may be that of a batch, which has so many `parts`.
    """

    __slots__ = ("key", "line", "message", "parts", "requester", "text")

    def __init__(
        self,
        message: Request | Notification,
        text: bytes,
        line: Line,
        requester: Requester,
        key: Key | None = None,
        *,
        parts: int = 1,
    ) -> None:
        self.message = message
        self.text = text
        self.line = line
        self.requester = requester
        self.key = key
        self.parts = parts


class TaggedStreams(Protocol):
    """Takes the notifications that say which request of this side's they belong to."""

    def take(self, received: Received) -> None:
        """Take a notification, if it does."""
        ...


class Handling(Protocol):
    """Makes what stands for a received message, and runs its handler."""

    @property
    def is_watched(self) -> bool:
        """Whether middleware wants to see every message."""
        ...

    def open(self, method: AnyMethod, params: Any, received: Received) -> Work:
        """Make what stands for a received message."""
        ...

    def run(self, work: Work, handler: Handler) -> Awaitable[Any]:
        """Hand a message to its handler, through the middleware."""
        ...
