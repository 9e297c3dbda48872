"""Timeouts and rate limits."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextvars import Context
from typing import Final, Generic, TypeAlias, TypeVar

from mcp_runtime.errors import RequestTimeout
from mcp_runtime.protocol.jsonrpc import Id

K = TypeVar("K")
T = TypeVar("T")


class TokenBucket:
    """A token bucket: a rate per second, and a burst.

    Args:
        rate: how many may pass per second.
        burst: how many may pass at once after a pause.
        now: the current time, in seconds of any clock.
    """

    __slots__ = ("_burst", "_filled_at", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled_at = now

    def delay(self, now: float) -> float:
        """Return the number of seconds until another may pass, 0 if it may pass now."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # A rounding error must not block one that waited for exactly as long as it was told.
        return 0.0 if self._tokens > 1 - 1e-6 else (1 - self._tokens) / self._rate

    def is_full(self, now: float) -> bool:
        """Whether it is full, as after a long pause."""
        self.delay(now)
        return self._tokens >= self._burst

    def take(self) -> None:
        """Take a token; one that will wait first may be taken ahead of time."""
        self._tokens -= 1

    def give_back(self) -> None:
        """Return a token."""
        self._tokens += 1


class Gate(Generic[T]):
    """Lets items through at a rate, after a burst of one second's worth; of the items held back, one is kept.

    Args:
        loop: the event loop, which sends items that were held back.
        rate: how many items per second.
        send: sends an item.

    Attributes:
        waiting: the item held back, or None.
        replaced: how many items were never sent because another one replaced them.
    """

    __slots__ = ("_bucket", "_loop", "_rank", "_send", "_timer", "replaced", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop, rate: float, send: Callable[[T], None]) -> None:
        self._loop = loop
        self._bucket = TokenBucket(rate, max(1.0, rate), loop.time())
        self._send = send
        self._timer: asyncio.TimerHandle | None = None
        self._rank = 0
        self.waiting: T | None = None
        self.replaced = 0

    def put(self, item: T, rank: int = 0) -> None:
        """Send an item now, or hold it back in place of another, unless that one has a higher rank."""
        delay = self._bucket.delay(self._loop.time())
        if self.waiting is None and not delay:
            self._bucket.take()
            self._send(item)
            return
        if self.waiting is not None:
            self.replaced += 1
            if rank < self._rank:
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
        self._bucket.take()
        self.flush()


GRAIN: Final = 0.005
"""Seconds by which a wait may end late, so that many close ends need few checks."""
MAX_PAUSE: Final = 600.0
"""The maximum time in seconds for which timeouts are paused."""
NEVER: Final = float("inf")


class TimerWheel(Generic[K]):
    """Waits that share one timer of the event loop, since most are over long before they end by themselves.

    Its clock can be halted, for time that counts towards no wait.

    Args:
        expire: called with each wait that takes too long, which is then forgotten.
        seconds: how long a wait may take, unless it says otherwise.
    """

    __slots__ = ("_expire", "_halted_at", "_halts", "_lag", "_loop", "_timer", "_until", "_wakes_at", "seconds")

    def __init__(self, expire: Callable[[K], object], seconds: float = NEVER) -> None:
        self.seconds: Final = seconds
        self._expire = expire
        self._until: dict[K, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = NEVER
        self._lag = self._halted_at = 0.0
        self._halts = 0

    def __iter__(self) -> Iterator[K]:
        """Return the waits that are running, the oldest first."""
        return iter(self._until)

    def time(self) -> float:
        """Return the time by the wheel's clock, in seconds."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # An application may outlive the loop in which it was first called.
            self.clear()
            self._loop = loop
        return self._halted_at if self._halts else loop.time() - self._lag

    def begin(self, wait: K, seconds: float | None = None) -> None:
        """Begin a wait, or begin it again."""
        self.set(wait, self.time() + (self.seconds if seconds is None else seconds))

    def set(self, wait: K, until: float) -> None:
        """Set when a wait ends by the wheel's clock."""
        self._until[wait] = until
        if until < self._wakes_at and not self._halts:
            self._wake_at(until)

    def get(self, wait: K) -> float | None:
        """Return when a wait ends by the wheel's clock; None if it is over."""
        return self._until.get(wait)

    def end(self, wait: K) -> float | None:
        """End a wait; return when it would have ended by itself, or None if it was over."""
        return self._until.pop(wait, None)

    def moment(self, until: float) -> float:
        """Return a time of the wheel's clock by that of the event loop, if it is not halted again before."""
        return until + self._lag

    def clear(self) -> None:
        """Forget all waits, and stop the timer."""
        self._until.clear()
        self._stop()

    def halt(self) -> None:
        """Halt the clock until `go` was called as often."""
        if not self._halts:
            self._halted_at = self.time()
            self._stop()
        self._halts += 1

    def go(self) -> None:
        """Let the clock go on."""
        self._halts -= 1
        if not self._halts:
            self._lag += self.time() - self._halted_at
            self._wake_at(min(self._until.values(), default=NEVER))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wakes_at = None, NEVER

    def _wake_at(self, until: float) -> None:
        self._stop()
        if until < NEVER and self._loop is not None:
            self._wakes_at = until
            # In its own context: otherwise the current handler's context would be kept alive as long.
            self._timer = self._loop.call_at(until + self._lag, self._look, context=Context())

    def _look(self) -> None:
        # The loop may call a little early, by up to the resolution of its clock.
        now = max(self.time(), self._wakes_at)
        self._timer, self._wakes_at = None, NEVER
        for wait in [wait for wait, until in self._until.items() if until <= now]:
            if self.end(wait) is not None:
                self._expire(wait)
        # The timer is not moved when a wait ends, so it may have belonged to one that is over.
        if self._until and not self._halts:
            self._wake_at(max(min(self._until.values()), now + GRAIN))


_SLACK: Final = 2 * GRAIN
"""Extra seconds of a whole call beyond its request, whose own timeout notifies the peer."""

Timed: TypeAlias = Id | asyncio.Timeout
"""A request by its id, or a whole call."""
Times: TypeAlias = tuple[float, float]
"""When a timeout ends, and until when the peer's requests may extend it, by the clocks of `Deadlines`."""


class Deadlines:
    """The timeouts of requests, and of calls that consist of more than one.

    Time in which this side signs in does not count. Time in which it answers the peer's own requests does not count
    either, but only up to a limit for each timeout: otherwise a peer that keeps asking could hold a call open.

    Args:
        expire: called when a request times out.
        max_extension: how many times its value a timeout may take because of the peer's requests; None for no limit.
    """

    __slots__ = ("_expire", "_latest", "_max_extension", "_pause_timer", "_pauses", "_until")

    def __init__(self, expire: Callable[[Id], None], max_extension: float | None = None) -> None:
        self._expire = expire
        self._max_extension = max_extension
        self._until: TimerWheel[Timed] = TimerWheel(self._end)
        self._latest: TimerWheel[Timed] = TimerWheel(self._end)
        self._pauses = 0
        self._pause_timer: asyncio.TimerHandle | None = None

    def set(self, id_: Timed, seconds: float, timeout: float) -> None:
        """Set in how many seconds a request expires, and its timeout; replaces an earlier time."""
        factor = self._max_extension
        latest = NEVER if factor is None else self._latest.time() + seconds + timeout * (factor - 1)
        self._set(id_, (self._until.time() + seconds, latest))

    def _set(self, id_: Timed, times: Times, more: float = 0.0) -> None:
        self._until.set(id_, times[0] + more)
        self._latest.set(id_, times[1] + more)

    def get(self, id_: Timed) -> Times | None:
        """Return the times of a request; None if it has no timeout."""
        until, latest = self._until.get(id_), self._latest.get(id_)
        return None if until is None or latest is None else (until, latest)

    def drop(self, id_: Timed) -> Times | None:
        """Forget a request; return the times that it had."""
        until, latest = self._until.end(id_), self._latest.end(id_)
        return None if until is None or latest is None else (until, latest)

    def ends(self, times: Times | None) -> float | None:
        """Return when a timeout ends by the event loop's clock, if nothing extends it from now on."""
        return times and min(self._until.moment(times[0]), self._latest.moment(times[1]))

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
            self._set(call, times, _SLACK)
        elif seconds is not None:
            self.set(call, seconds + _SLACK, seconds)
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
        whole = self.get(call) if call is not None else None
        if whole is None:
            self.set(id_, timeout, timeout)
        else:
            self._set(id_, whole, -_SLACK)

    def renew(self, call: asyncio.Timeout, seconds: float, timeout: float) -> None:
        """Extend the timeout of a call, if it has one, to that of its request."""
        if self.get(call) is not None:
            self.set(call, seconds + _SLACK, timeout)

    def suspend(self, call: asyncio.Timeout | None, *, limited: bool) -> Callable[[], None]:
        """Suspend the timeout of a call until the returned function is called, if limited as long as may be."""
        times = self.get(call) if call is not None else None
        if call is None or times is None:
            return _nothing
        left: float | None = times[0] - self._until.time()
        self._set(call, (NEVER, times[1] if limited else NEVER))

        def proceed() -> None:
            nonlocal left
            if left is not None and self.get(call) is not None:
                self._set(call, (self._until.time() + left, times[1]))
            left = None

        return proceed

    def asked(self, is_asked: bool) -> None:
        """Note whether this side handles requests of the peer: such time extends all timeouts up to their limits."""
        if is_asked:
            self._until.halt()
        else:
            self._until.go()

    def pause(self) -> None:
        """Suspend all timeouts until `resume` was called as often, for at most `MAX_PAUSE` seconds."""
        self._pauses += 1
        if self._pauses == 1:
            self._until.halt()
            self._latest.halt()
            self._pause_timer = asyncio.get_running_loop().call_later(MAX_PAUSE, self._proceed, context=Context())

    def resume(self) -> None:
        """Resume all timeouts with the time that was left when they were paused."""
        if self._pauses > 1:
            self._pauses -= 1
        else:
            self._proceed()

    def clear(self) -> None:
        """Forget every request, and the timers with them."""
        self._until.clear()
        self._latest.clear()
        self._proceed()

    def _proceed(self) -> None:
        if self._pause_timer is not None:
            self._pause_timer.cancel()
            self._pauses, self._pause_timer = 0, None
            self._until.go()
            self._latest.go()

    def _end(self, id_: Timed) -> None:
        self.drop(id_)
        if not isinstance(id_, asyncio.Timeout):
            self._expire(id_)
        elif not id_.expired():
            id_.reschedule(asyncio.get_running_loop().time())


def _nothing() -> None: ...
