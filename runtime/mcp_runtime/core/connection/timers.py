"""Timeouts and rate limits, also of log lines: many share one timer, since most are over long before."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, Generic, TypeAlias, TypeVar

from mcp_runtime.core import sources
from mcp_runtime.core.errors import RequestTimeout
from mcp_runtime.core.protocol.jsonrpc import Id

T = TypeVar("T")


class TokenBucket:
    """A token bucket: a rate per second, and a burst.

    Args:
        rate: how many may pass per second.
        burst: how many may pass at once after a pause.
        now: the current time, in seconds of any clock.

    Attributes:
        tokens: how many may pass now; one that will wait first may take its token ahead of time.
        burst: how many there are after a pause.
    """

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self.burst = burst
        self.tokens = burst
        self._filled_at = now

    def delay(self, now: float) -> float:
        """Return the number of seconds until another may pass, 0 if it may pass now."""
        self.tokens = min(self.burst, self.tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # A rounding error must not block one that waited for exactly as long as it was told.
        return 0.0 if self.tokens > 1 - 1e-6 else (1 - self.tokens) / self._rate


class Gate(Generic[T]):
    """Lets items through at a rate, after a burst of one second's worth; of the items held back, one is kept.

    Args:
        loop: the event loop, which sends items that were held back.
        rate: how many items per second.
        send: sends an item.

    Attributes:
        waiting: the item held back, or None.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, rate: float, send: Callable[[T], None]) -> None:
        self._loop = loop
        self._bucket = TokenBucket(rate, max(1.0, rate), loop.time())
        self._send = send
        self._timer: asyncio.TimerHandle | None = None
        self._rank = 0
        self.waiting: T | None = None

    def put(self, item: T, rank: int = 0) -> None:
        """Send an item now, or hold it back in place of another, unless that one has a higher rank."""
        delay = self._bucket.delay(self._loop.time())
        if self.waiting is None and not delay:
            self._bucket.tokens -= 1
            self._send(item)
            return
        if self.waiting is not None and rank < self._rank:
            return
        self.waiting, self._rank = item, rank
        if self._timer is None:
            # In its own context: otherwise the handler's context would be kept alive as long.
            self._timer = self._loop.call_later(delay, self._release, context=Context())

    def flush(self) -> None:
        """Send the item held back at once, because something is sent that it must precede."""
        item = self.waiting
        self.drop()
        if item is not None:
            self._send(item)

    def drop(self) -> None:
        """Drop the item held back."""
        self.waiting = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _release(self) -> None:
        self._bucket.delay(self._loop.time())
        self._bucket.tokens -= 1
        self.flush()


BURST: Final = 50
"""How many lines may be written at once about a connection."""
RATE: Final = 10.0
"""How many lines per second may be written about it after that."""
ENDPOINT_BURST: Final = 200
"""How many lines may be written at once about all connections of an endpoint."""
ENDPOINT_RATE: Final = 20.0
"""How many lines per second may be written about them after that."""


log: Final = logging.getLogger("mcp_runtime")


class Journal:
    """Decides which log lines are written, so that a peer cannot fill the disk.

    Args:
        clock: returns the current time in seconds.
        endpoint: limits the lines about all connections of an endpoint, since a peer may open one after another; None
            if there is only one.
        about: what the lines are about.
        burst: how many lines may be written at once.
        rate: how many lines per second may be written after that.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        endpoint: "Journal | None" = None,
        *,
        about: str = "this connection",
        burst: int = BURST,
        rate: float = RATE,
    ) -> None:
        self._clock = clock
        self._endpoint = endpoint
        self._about = about
        self._bucket = TokenBucket(rate, burst, clock())
        self._left_out = 0

    def admits(self) -> bool:
        """Whether another line may be written now; otherwise it is counted."""
        if self._bucket.delay(self._clock()):
            self._left_out += 1
            return False
        if self._endpoint is not None and not self._endpoint.admits():
            return False
        self._bucket.tokens -= 1
        return True

    def left_out(self) -> str:
        """Return a line about the lines omitted since the last call; empty if there were none."""
        count, self._left_out = self._left_out, 0
        return f"{count:,} more messages about {self._about} were omitted" if count else ""

    def all_left_out(self) -> list[str]:
        """Return what `left_out` returns for this journal and that of the endpoint, unless it is empty."""
        journals = (self,) if self._endpoint is None else (self, self._endpoint)
        return [text for journal in journals if (text := journal.left_out())]


def endpoint_journal() -> Journal:
    """Return a journal for all connections of an endpoint."""
    return Journal(sources.now, about="connections of this endpoint", burst=ENDPOINT_BURST, rate=ENDPOINT_RATE)


GRAIN: Final = 0.005
"""Seconds by which a timeout may be late, so that many close timeouts need few checks."""
MAX_PAUSE: Final = 600.0
"""The maximum time in seconds for which timeouts are paused."""
_NEVER: Final = float("inf")

_SLACK: Final = 2 * GRAIN
"""Extra seconds of a whole call beyond its request, whose own timeout notifies the peer."""

Timed: TypeAlias = Id | asyncio.Timeout
"""A request by its id, or a whole call."""
Times: TypeAlias = tuple[float, float]
"""When a timeout ends, and until when the peer's requests may extend it, by the event loop's clock."""


class Deadlines:
    """The timeouts of requests, and of calls that consist of more than one.

    Time in which this side signs in does not count. Time in which it answers the peer's own requests does not count
    either, but only up to a limit for each timeout: otherwise a peer that keeps asking could hold a call open.

    Args:
        loop: the event loop, used as the clock.
        expire: called when a request times out.
        max_extension: how many times its value a timeout may take because of the peer's requests; None for no limit.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, expire: Callable[[Id], None], max_extension: float | None = None
    ) -> None:
        self._loop = loop
        self._expire = expire
        self._max_extension = max_extension
        self._until: dict[Timed, Times] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = _NEVER
        self._asked = False
        self._pauses = 0
        self._pause_ends = 0.0
        self._since = 0.0

    def set(self, id_: Timed, until: float, timeout: float) -> None:
        """Set when a request expires, by the event loop's clock, and its timeout; replaces an earlier time."""
        factor = self._max_extension
        self._set(id_, until, _NEVER if factor is None else until + timeout * (factor - 1))

    def _set(self, id_: Timed, until: float, latest: float) -> None:
        self._until[id_] = until, latest
        if until < self._wakes_at and not self._pauses:
            self._wake_at(until)

    def get(self, id_: Timed) -> float | None:
        """Return when a request expires; None for never."""
        found = self._until.get(id_)
        return None if found is None else found[0]

    def drop(self, id_: Timed) -> Times | None:
        """Forget a request; return the times that it had."""
        return self._until.pop(id_, None)

    async def within(
        self,
        seconds: float | None,
        name: str,
        run: Callable[[asyncio.Timeout], Awaitable[T]],
        times: Times | None = None,
    ) -> T:
        """Run a whole call, which gets its own timeout as a handle for the methods below.

        Args:
            seconds: the timeout; None for none.
            name: the method, for the error.
            run: the call.
            times: those of its first request, if the call began with it.

        Raises:
            RequestTimeout: it took longer.
        """
        call = asyncio.timeout(None)
        if times is not None:
            self._set(call, times[0] + _SLACK, times[1] + _SLACK)
        elif seconds is not None:
            self.set(call, self._loop.time() + seconds + _SLACK, seconds)
        try:
            async with call:
                return await run(call)
        except TimeoutError:
            if seconds is None or not call.expired():
                raise
            raise RequestTimeout(name, seconds) from None
        finally:
            self.drop(call)

    def start(self, id_: Id, timeout: float, call: asyncio.Timeout | None) -> None:
        """Set that a request expires after the timeout, or with the call that it belongs to."""
        whole = self._until.get(call) if call is not None else None
        if whole is None:
            self.set(id_, self._loop.time() + timeout, timeout)
        else:
            self._set(id_, whole[0] - _SLACK, whole[1] - _SLACK)

    def renew(self, call: asyncio.Timeout, until: float, timeout: float) -> None:
        """Extend the timeout of a call, if it has one, to that of its request."""
        if call in self._until:
            self.set(call, until + _SLACK, timeout)

    def suspend(self, call: asyncio.Timeout | None, *, limited: bool) -> Callable[[], None]:
        """Suspend the timeout of a call until the returned function is called, if limited as long as may be."""
        times = self._until.get(call) if call is not None else None
        if call is None or times is None:
            return lambda: None
        left: float | None = times[0] - self._loop.time()
        self._until[call] = (times[1] if limited else _NEVER), times[1]

        def proceed() -> None:
            nonlocal left
            if left is not None and call in self._until:
                until, latest = self._loop.time() + left, self._until[call][1]
                self._set(call, min(until, latest) if limited else until, latest)
            left = None

        return proceed

    def asked(self, is_asked: bool) -> None:
        """Note whether this side handles requests of the peer: such time extends all timeouts up to their limits."""
        self._settle()
        self._asked = is_asked
        self._wake()

    def pause(self) -> None:
        """Suspend all timeouts until `resume` was called as often, for at most `MAX_PAUSE` seconds."""
        self._settle()
        self._pauses += 1
        if self._pauses == 1:
            self._pause_ends = self._since + MAX_PAUSE
            self._wake()

    def resume(self) -> None:
        """Resume all timeouts with the time that was left when they were paused."""
        self._settle()
        self._pauses = max(self._pauses - 1, 0)
        self._wake()

    def clear(self) -> None:
        """Forget every request, and the timer with them."""
        self._until.clear()
        self._stop()

    def _settle(self) -> None:
        """Move the timeouts by the time since this was last called, if it did not count."""
        now = self._loop.time()
        shift, self._since = now - self._since, now
        if self._pauses:
            self._until = {id_: (until + shift, latest + shift) for id_, (until, latest) in self._until.items()}
        elif self._asked:
            self._until = {id_: (min(until + shift, latest), latest) for id_, (until, latest) in self._until.items()}

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wakes_at = None, _NEVER

    def _wake(self, earliest: float = 0.0) -> None:
        """Set the timer for what comes next."""
        if self._pauses:
            self._wake_at(self._pause_ends)
        elif self._until:
            # While this side is asked, a timeout ends no earlier than its extension does.
            self._wake_at(max(min(times[self._asked] for times in self._until.values()), earliest))

    def _wake_at(self, until: float) -> None:
        self._stop()
        if until < _NEVER:
            self._wakes_at = until
            # In its own context: otherwise the current handler's context would be kept alive as long.
            self._timer = self._loop.call_at(until, self._look, context=Context())

    def _look(self) -> None:
        # The loop may call a little early, by up to the resolution of its clock.
        now = max(self._loop.time(), self._wakes_at)
        self._timer, self._wakes_at = None, _NEVER
        self._settle()
        self._pauses = 0  # since the timer waits for nothing else while timeouts are paused
        for id_ in [id_ for id_, (until, _) in self._until.items() if until <= now]:
            self.drop(id_)
            if not isinstance(id_, asyncio.Timeout):
                self._expire(id_)
            elif not id_.expired():
                id_.reschedule(now)
        if self._timer is None:
            self._wake(now + GRAIN)
