"""A connection's methods for long-lived requests: answered before their handler ends, or long after it."""

import asyncio
from abc import ABC
from collections.abc import Callable
from typing import Any, TypeVar

from mcp_runtime.connection.conversation import Conversation
from mcp_runtime.connection.inbound import Inbound
from mcp_runtime.connection.outbound import Outbound
from mcp_runtime.connection.received import Received, TaggedStreams
from mcp_runtime.connection.work import Work
from mcp_runtime.method import RequestMethod
from mcp_runtime.protocol.jsonrpc import Id

P = TypeVar("P")
R = TypeVar("R")


class LastingRequests(ABC):
    """Lets features answer a request at a time other than when its handler returns."""

    _conversation: Conversation
    _inbound: Inbound
    _outbound: Outbound

    def suspend(self, exchange: Work, result: bytes, *, keep: bool = True) -> "asyncio.Task[None]":
        """Answer an open request now, with a result that asks for more, while its handler waits; return its task.

        Args:
            exchange: the request.
            result: the result as JSON.
            keep: whether the task ends with the connection; otherwise the caller has to end it.
        """
        task = self._inbound.suspend(exchange, result)
        if keep:
            self._conversation.link.background.adopt(task)
        return task

    def resume(self, exchange: Work, task: "asyncio.Task[None]", received: Received) -> None:
        """Let a suspended handler continue with another request, using its capabilities and channel from then on.

        It may have been suspended by another connection of the same event loop.

        Args:
            exchange: the suspended request.
            task: the task of its handler.
            received: the request to continue with.
        """
        self._conversation.link.background.release(task)
        self._inbound.resume(exchange, task, received)

    def conclude(self, exchange: Work, result: bytes, reason: str) -> None:
        """Answer a request that was kept open; on a stream shared with other requests it is cancelled as well.

        The specification requires one or the other, in two places (2026-07-28, basic/patterns): clients use the first.

        Args:
            exchange: the request.
            result: the result as JSON.
            reason: the reason for the cancellation.
        """
        self._inbound.conclude(exchange, result, reason)

    def before_close(self, hook: Callable[[], None]) -> None:
        """Register a hook that is called once before the connection ends, while messages can still be sent.

        Args:
            hook: the function to call.
        """
        self._conversation.before_close = hook

    def open_request(self, method: RequestMethod[P, R], params: P) -> "tuple[Id, asyncio.Future[R | None]]":
        """Send a request without a timeout, bypassing the middleware.

        Args:
            method: a record of the `methods` module of the revision's package.
            params: its params.

        Returns:
            Its id, and a future of its result: None if the peer ends it without an answer.
        """
        return self._outbound.open(method, params)

    def give_up(self, id_: Id, reason: str | None = None) -> None:
        """Cancel a request of this side; does nothing if it was answered.

        Args:
            id_: the id of the request.
            reason: the reason for the peer; None for none.
        """
        self._outbound.give_up(id_, reason)

    def end_request(self, id_: Id) -> None:
        """Handle that the peer ended a request of this side without an answer.

        Args:
            id_: the id of the request.
        """
        self._outbound.end(id_)

    def take_tagged(self, streams: TaggedStreams) -> None:
        """Show all notifications to an object that dispatches those that belong to open requests.

        Args:
            streams: the object.
        """
        self._inbound.subscriptions = streams

    @property
    def tagged(self) -> Any:
        """The object that notifications are shown to; None before `take_tagged`."""
        return self._inbound.subscriptions
