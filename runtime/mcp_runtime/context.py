"""One message on its connection, as handlers and middleware see it."""

from collections.abc import Mapping
from contextvars import ContextVar
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from mcp_runtime.jsonrpc import Id
from mcp_runtime.method import AnyMethod

if TYPE_CHECKING:
    from mcp_runtime.connection import Connection


class Way(StrEnum):
    """Which way a message goes."""

    RECEIVED = "received"
    SENT = "sent"


class Exchange:
    """A request or a notification, and what becomes of it.

    Attributes:
        connection: the connection that it came or goes by.
        way: which way it goes.
        method: its record in the method table.
        id: the id of the request; None for a notification, and for a request that has not left yet.
        params: its typed params, None if it has none; middleware may replace them.
        meta: its `_meta`, by wire names; empty if it has none, or if it was not received.
        is_cancelled: whether the answer is no longer wanted.
        cancel_reason: why, in the peer's own words.
    """

    __slots__ = ("_raw", "cancel_reason", "connection", "id", "is_cancelled", "method", "params", "way")

    def __init__(
        self,
        connection: "Connection",
        method: AnyMethod,
        params: Any,
        *,
        way: Way,
        id_: Id | None = None,
        raw: dict[str, Any] | None = None,
    ) -> None:
        self.connection = connection
        self.method = method
        self.params = params
        self.way = way
        self.id = id_
        self.is_cancelled = False
        self.cancel_reason: str | None = None
        self._raw = raw

    @property
    def meta(self) -> Mapping[str, Any]:
        """The `_meta` of the message, by wire names; empty if it has none, or if it was not received."""
        meta = self._raw.get("_meta") if self._raw else None
        return cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}

    async def report_progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Tell the peer how far the request has come; does nothing if it did not ask.

        Raises:
            LocalProtocolError: the progress is not more than what was reported before.
        """
        if self.id is not None:
            await self.connection.report_progress(self.id, progress, total, message)

    async def log(self, level: str, data: Any, logger: str | None = None) -> None:
        """Send a log message to the peer, if it wants messages of that level."""
        await self.connection.log(level, data, logger)


CURRENT: Final[ContextVar[Exchange | None]] = ContextVar("mcp_exchange", default=None)
"""The message that is being handled; tasks and `asyncio.to_thread` inherit it."""
