"""A request of this side that waits for its answer."""

import asyncio
from typing import Any

from mcp_runtime.caller import CallOptions
from mcp_runtime.connection.line import Line
from mcp_runtime.method import RequestMethod, WireType


class Pending:
    """A request that waits for its answer.

    `latest` is when it expires regardless of progress, `call` the timeout of the whole call that it belongs to.
    """

    __slots__ = ("call", "future", "latest", "limit", "line", "method", "options", "type")

    def __init__(
        self,
        method: RequestMethod[Any, Any],
        type_: WireType[Any],
        future: "asyncio.Future[Any]",
        options: CallOptions,
        line: Line,
    ) -> None:
        self.call: asyncio.Timeout | None = None
        self.line = line
        self.method = method
        self.type = type_
        self.future = future
        self.options = options
        self.limit = 0.0
        self.latest: float | None = None
