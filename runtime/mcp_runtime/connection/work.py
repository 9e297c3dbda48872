"""One message on its connection, as far as the connection itself uses it."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar, cast

from mcp_runtime.connection.line import Line
from mcp_runtime.connection.load import Held
from mcp_runtime.connection.requester import Requester
from mcp_runtime.method import AnyMethod
from mcp_runtime.protocol.jsonrpc import Id, Key

T = TypeVar("T")


class Way(StrEnum):
    """The direction of a message."""

    RECEIVED = "received"
    SENT = "sent"


class Keeper(Protocol):
    """Keeps a request open after its handler has returned."""

    def hold(self, answer: bytes) -> None:
        """Receive the encoded answer, to be sent at the end."""
        ...

    def ended(self) -> None:
        """Learn that the request is no longer open, whatever the cause; called once."""
        ...


class Work:
    """A request or a notification; see `Exchange`, which handlers and middleware receive.

    Attributes:
        requester: its sender, or the peer that it is sent to.
        line: the line it came over; None for a message of this side.
        key: identifies the request among open ones; None unless it is a received request.
        held: its share of the limit on held messages; None if it has none.
        is_open: whether it is a request of the peer that is neither answered nor cancelled.
        resumed: done when a handler that asked its requester in a result can continue with another request; its result
            is what answers that one (`Inbound`), maybe on another connection. None if it never asked.
        keeper: keeps it open after its handler has returned; None for most.
    """

    __slots__ = (
        "_raw",
        "cancel_reason",
        "held",
        "id",
        "is_cancelled",
        "is_open",
        "keeper",
        "key",
        "line",
        "method",
        "params",
        "requester",
        "resumed",
        "way",
    )

    def __init__(
        self,
        method: AnyMethod,
        params: Any,
        *,
        way: Way,
        requester: Requester,
        line: Line | None = None,
        id_: Id | None = None,
        key: Key | None = None,
        raw: dict[str, Any] | None = None,
    ) -> None:
        self.requester = requester
        self.line = line
        self.key = key
        self.held: Held | None = None
        self.is_open = key is not None
        self.method = method
        self.params = params
        self.way = way
        self.id = id_
        self.is_cancelled = False
        self.cancel_reason: str | None = None
        self.resumed: asyncio.Future[Any] | None = None
        self.keeper: Keeper | None = None
        self._raw = raw

    def mark_closed(self) -> None:
        """Note that the request was answered or refused, or that its answer is no longer wanted."""
        self.is_open = False
        keeper, self.keeper = self.keeper, None
        if keeper is not None:
            keeper.ended()

    def mark_cancelled(self, reason: str | None) -> None:
        """Note that the answer is no longer wanted, and the `reason`; None if there is none."""
        self.is_cancelled, self.cancel_reason = True, reason
        self.mark_closed()

    @property
    def is_suspended(self) -> bool:
        """Whether its handler waits for another request to continue with."""
        return self.resumed is not None and not self.resumed.done()

    def suspend(self, resumed: "asyncio.Future[Any]") -> None:
        """Detach from the request, which was answered, until another one resumes it and completes `resumed`."""
        self.is_open, self.key, self.resumed = False, None, resumed

    def resume(
        self, key: Key, id_: Id, requester: Requester, line: Line, raw: dict[str, Any] | None, *, by: object
    ) -> None:
        """Continue with another request of the same requester, whose capabilities apply from now on.

        It is answered by `by`; see `resumed`.
        """
        self.requester, self.line, self.id, self.key, self._raw = requester, line, id_, key, raw
        self.is_open = True
        if self.resumed is not None and not self.resumed.done():
            self.resumed.set_result(by)

    def home(self, first: T) -> T:
        """Return what answers it: `first`, unless its handler continues with a request that something else answers."""
        resumed = self.resumed
        return first if resumed is None or not resumed.done() or resumed.cancelled() else cast("T", resumed.result())

    @property
    def raw_params(self) -> Mapping[str, Any]:
        """The params as received, keyed by wire names; empty if there were none."""
        return self._raw or {}

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the message, keyed by wire names; empty if it has none, or if it was not received."""
        meta = self._raw.get("_meta") if self._raw else None
        return cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}


CURRENT: Final[ContextVar[Work | None]] = ContextVar("mcp_exchange", default=None)
"""The message being handled; tasks and `asyncio.to_thread` inherit it."""
