"""A received message, and the interfaces that process it."""

from collections.abc import Awaitable
from typing import Any, Protocol

from mcp_runtime.connection.answers import Handler
from mcp_runtime.connection.line import Line
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.work import Work
from mcp_runtime.method import AnyMethod
from mcp_runtime.protocol.jsonrpc import Key, Notification, Request


class Received:
    """A received request or notification, with its sender, its line and its key.

    Its text may be that of a batch with `parts` messages.
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
    """Receives the notifications that name the request of this side to which they belong."""

    def take(self, received: Received) -> None:
        """Process a notification, if it belongs to such a request."""
        ...


class Handling(Protocol):
    """Creates the exchange of a received message, and runs its handler."""

    @property
    def is_watched(self) -> bool:
        """Whether middleware wants to see every message."""
        ...

    def open(self, method: AnyMethod, params: Any, received: Received) -> Work:
        """Return the exchange of a received message."""
        ...

    def run(self, work: Work, handler: Handler) -> Awaitable[Any]:
        """Pass a message to its handler, through the middleware."""
        ...
