"""Token buckets, and gates that let the last of many items through: rate limits."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import Generic, TypeVar

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
        waiting: the item held back; None if there is none.
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
