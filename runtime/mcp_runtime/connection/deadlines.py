"""The timeouts of many requests on one timer: most are answered long before, and a timer each would cost more.

A call is more than a request where middleware asks, too, or where its answer is only the first of several.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, TypeAlias, TypeVar

from mcp_runtime.errors import RequestTimeout
from mcp_runtime.protocol.jsonrpc import Id

GRAIN: Final = 0.005
"""Seconds that a limit may be late, so that many limits which are close together need few looks at all of them."""
MAX_PAUSE: Final = 600.0
"""Seconds that timeouts are paused at most."""
_NEVER: Final = float("inf")
_PAUSED: Final = float("-inf")

_SLACK: Final = 2 * GRAIN
"""Seconds that a whole call has beyond its request, whose own timeout tells the peer."""

T = TypeVar("T")
Timed: TypeAlias = Id | asyncio.Timeout
"""A request by its id, or a whole call."""


class Deadlines:
    """The timeouts of requests, and of calls that consist of more than one.

    Args:
        loop: tells the time.
        expire: is called when the time of a request is over.
    """

    __slots__ = ("_expire", "_loop", "_paused_at", "_timer", "_until", "_wakes_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[Id], None]) -> None:
        self._loop = loop
        self._expire = expire
        self._until: dict[Timed, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = _NEVER
        self._paused_at = 0.0

    def set(self, id_: Timed, until: float) -> None:
        """Let a request expire at a time of the event loop's clock, and no longer when it was told before."""
        self._until[id_] = until
        if until < self._wakes_at:
            self._wake_at(until)

    def get(self, id_: Timed) -> float | None:
        """Return when a request expires, None if never."""
        return self._until.get(id_)

    def drop(self, id_: Timed) -> None:
        """Forget a request."""
        self._until.pop(id_, None)

    async def within(self, seconds: float | None, name: str, run: Callable[[asyncio.Timeout], Awaitable[T]]) -> T:
        """Run a whole call, which gets its own timeout as a handle for the methods below.

        Raises:
            RequestTimeout: it took longer; `name` says what did.
        """
        call = asyncio.timeout(None)
        if seconds is not None:
            self.set(call, self._loop.time() + seconds + _SLACK)
        try:
            async with call:
                return await run(call)
        except TimeoutError:
            if seconds is None or not call.expired():
                raise
            raise RequestTimeout(name, seconds) from None
        finally:
            self.drop(call)

    def within_call(self, call: asyncio.Timeout, timeout: float) -> float:
        """Return when a request of a call expires: with it, or after the timeout if the call has none."""
        until = self._until.get(call)
        return self._loop.time() + timeout if until is None else until - _SLACK

    def renew(self, call: asyncio.Timeout, until: float) -> None:
        """Let a call, if it has a timeout, go on for as long as its request."""
        if call in self._until:
            self.set(call, until + _SLACK)

    def suspend(self, call: asyncio.Timeout | None) -> Callable[[], None]:
        """Let a call not expire until what is returned is called; it has as much time left then as now."""
        until = self._until.pop(call, None) if call is not None else None
        left = 0.0 if until is None else until - self._loop.time()

        def go_on() -> None:
            if until is not None and call is not None and call not in self._until:
                self.set(call, self._loop.time() + left)

        return go_on

    def pause(self) -> None:
        """Let nothing expire until `resume`, for `MAX_PAUSE` seconds at most."""
        self._stop()
        self._wakes_at = _PAUSED
        self._paused_at = self._loop.time()
        self._timer = self._loop.call_later(MAX_PAUSE, self.resume, context=Context())

    def resume(self) -> None:
        """Go on: what was there has as much time left as when it was paused."""
        if self._wakes_at == _PAUSED:
            self._stop()
            shift = self._loop.time() - self._paused_at
            self._until = {id_: until + shift for id_, until in self._until.items()}
            if self._until:
                self._wake_at(min(self._until.values()))

    def clear(self) -> None:
        """Forget every request, and the timer with them."""
        self._until.clear()
        self._stop()

    def _stop(self) -> None:
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
            if not isinstance(id_, asyncio.Timeout):
                self._expire(id_)
            elif not id_.expired():
                id_.reschedule(now)
        if self._until and self._timer is None:
            self._wake_at(max(min(self._until.values()), now + GRAIN))
