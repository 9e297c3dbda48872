"""The timeouts of many requests on one timer: most are answered long before, and a timer each would cost more.

A call is more than a request if middleware sends requests too, or if its answer is only the first of several.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, TypeAlias, TypeVar

from mcp_runtime.errors import RequestTimeout
from mcp_runtime.protocol.jsonrpc import Id

GRAIN: Final = 0.005
"""Seconds by which a timeout may be late, so that many close timeouts need few checks."""
MAX_PAUSE: Final = 600.0
"""The maximum time in seconds for which timeouts are paused."""
_NEVER: Final = float("inf")
_PAUSED: Final = float("-inf")

_SLACK: Final = 2 * GRAIN
"""Extra seconds of a whole call beyond its request, whose own timeout notifies the peer."""

T = TypeVar("T")
Timed: TypeAlias = Id | asyncio.Timeout
"""A request by its id, or a whole call."""


class Deadlines:
    """The timeouts of requests, and of calls that consist of more than one.

    Args:
        loop: the event loop, used as the clock.
        expire: called when a request times out.
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
        """Set when a request expires, by the event loop's clock; replaces an earlier time."""
        self._until[id_] = until
        if until < self._wakes_at:
            self._wake_at(until)

    def get(self, id_: Timed) -> float | None:
        """Return when a request expires; None for never."""
        return self._until.get(id_)

    def drop(self, id_: Timed) -> None:
        """Forget a request."""
        self._until.pop(id_, None)

    async def within(self, seconds: float | None, name: str, run: Callable[[asyncio.Timeout], Awaitable[T]]) -> T:
        """Run a whole call, which gets its own timeout as a handle for the methods below.

        Raises:
            RequestTimeout: it took longer; `name` is the method in the error.
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
        """Return when a request of a call expires: with the call, or after the timeout if the call has none."""
        until = self._until.get(call)
        return self._loop.time() + timeout if until is None else until - _SLACK

    def renew(self, call: asyncio.Timeout, until: float) -> None:
        """Extend the timeout of a call, if it has one, to that of its request."""
        if call in self._until:
            self.set(call, until + _SLACK)

    def suspend(self, call: asyncio.Timeout | None) -> Callable[[], None]:
        """Suspend the timeout of a call until the returned function is called; the remaining time stays the same."""
        until = self._until.pop(call, None) if call is not None else None
        left = 0.0 if until is None else until - self._loop.time()

        def go_on() -> None:
            if until is not None and call is not None and call not in self._until:
                self.set(call, self._loop.time() + left)

        return go_on

    def pause(self) -> None:
        """Suspend all timeouts until `resume`, for at most `MAX_PAUSE` seconds."""
        self._stop()
        self._wakes_at = _PAUSED
        self._paused_at = self._loop.time()
        self._timer = self._loop.call_later(MAX_PAUSE, self.resume, context=Context())

    def resume(self) -> None:
        """Resume all timeouts with the time that was left when they were paused."""
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
        # In its own context: otherwise the current handler's context would be kept alive as long.
        self._timer = self._loop.call_at(until, self._look, context=Context())

    def _look(self) -> None:
        # The loop may call a little early, by up to the resolution of its clock.
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
