"""Token buckets, and gates that let the last of many items through: what limits a rate."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Generic, TypeVar

T = TypeVar("T")


class TokenBucket:
    """Lets so many through per second, and so many at once.

    Args:
        rate: how many per second.
        burst: how many at once, after a pause.
        now: when it is made, in seconds of any clock.
    """

    __slots__ = ("_burst", "_filled_at", "_rate", "_tokens")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._filled_at = now

    def delay(self, now: float) -> float:
        """Return how many seconds remain until one more may pass, 0 if it may pass now."""
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # A rounding error must not keep one out that waited for exactly as long as it was told.
        return 0.0 if self._tokens > 1 - 1e-6 else (1 - self._tokens) / self._rate

    def is_full(self, now: float) -> bool:
        """Whether it is as good as new."""
        self.delay(now)
        return self._tokens >= self._burst

    def take(self) -> None:
        """Let one pass; one that will wait first may be taken ahead of its time."""
        self._tokens -= 1

    def give_back(self) -> None:
        """Take back that one passed."""
        self._tokens += 1


class Gate(Generic[T]):
    """Lets items through at a rate, after a burst of as many as pass in a second; of what must wait, one is kept.

    Args:
        loop: tells the time, and lets what waits leave.
        rate: how many items per second.
        send: takes what may leave.

    Attributes:
        waiting: the item that waits for its time, None if none does.
        replaced: how many items never left, since another one was kept in their place.
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
        """Let an item leave now, or keep it in the place of one that waits, unless that one's rank is higher."""
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
            # In a context of its own: that of the handler would be kept alive for as long.
            self._timer = self._loop.call_later(delay, self._release, context=Context())

    def flush(self) -> None:
        """Let what waits leave at once, because something leaves that it must not come after."""
        item = self.waiting
        self.drop()
        if item is not None:
            self._send(item)

    def drop(self) -> None:
        """Forget what waits."""
        self.waiting = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _release(self) -> None:
        self._bucket.delay(self._loop.time())
        self._bucket.take()
        self.flush()
