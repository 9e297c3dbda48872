"""The timeouts of many requests on one timer: most are answered long before, and a timer each would cost more."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Final

from mcp_runtime.protocol.jsonrpc import Id

GRAIN: Final = 0.005
"""Seconds that a limit may be late, so that many limits which are close together need few looks at all of them."""
_NEVER: Final = float("inf")


class Deadlines:
    """The timeouts of requests.

    Args:
        loop: tells the time.
        expire: is called when the time of a request is over.
    """

    __slots__ = ("_expire", "_loop", "_timer", "_until", "_wakes_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[Id], None]) -> None:
        self._loop = loop
        self._expire = expire
        self._until: dict[Id, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = _NEVER

    def set(self, id_: Id, until: float) -> None:
        """Let a request expire at a time of the event loop's clock, and no longer when it was told before."""
        self._until[id_] = until
        if until < self._wakes_at:
            self._wake_at(until)

    def get(self, id_: Id) -> float | None:
        """Return when a request expires, None if never."""
        return self._until.get(id_)

    def drop(self, id_: Id) -> None:
        """Forget a request."""
        self._until.pop(id_, None)

    def clear(self) -> None:
        """Forget every request, and the timer with them."""
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wakes_at = None, _NEVER

    def _wake_at(self, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = until
        # In a context of its own: that of the handler which happens to ask now would be kept alive for as long.
        self._timer = self._loop.call_at(until, self._look, context=Context())

    def _look(self) -> None:
        # The loop may call a little early, by as much as its clock can tell apart.
        now = max(self._loop.time(), self._wakes_at)
        self._timer, self._wakes_at = None, _NEVER
        for id_ in [id_ for id_, until in self._until.items() if until <= now]:
            self.drop(id_)
            self._expire(id_)
        if self._until and self._timer is None:
            self._wake_at(max(min(self._until.values()), now + GRAIN))
