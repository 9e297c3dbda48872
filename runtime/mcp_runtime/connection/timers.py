"""Timeouts and rate limits: many share one timer, since most are over long before."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Final, Generic, TypeAlias, TypeVar

from mcp_runtime.errors import MAX_TEXT, RequestTimeout, clipped
from mcp_runtime.protocol.jsonrpc import Id

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
"""Seconds by which a timeout may be late, so that many close timeouts need few checks."""
MAX_PAUSE: Final = 600.0
"""The maximum time in seconds for which timeouts are paused."""
_NEVER: Final = float("inf")
_PAUSED: Final = float("-inf")

_SLACK: Final = 2 * GRAIN
"""Extra seconds of a whole call beyond its request, whose own timeout notifies the peer."""

Timed: TypeAlias = Id | asyncio.Timeout
"""A request by its id, or a whole call."""


class Deadlines:
    """The timeouts of requests, and of calls that consist of more than one.

    Args:
        loop: the event loop, used as the clock.
        expire: called when a request times out.
    """

    __slots__ = ("_expire", "_loop", "_paused_at", "_pauses", "_timer", "_until", "_wakes_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expire: Callable[[Id], None]) -> None:
        self._loop = loop
        self._expire = expire
        self._until: dict[Timed, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = _NEVER
        self._paused_at = 0.0
        self._pauses = 0

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

        def proceed() -> None:
            if until is not None and call is not None and call not in self._until:
                self.set(call, self._loop.time() + left)

        return proceed

    def pause(self) -> None:
        """Suspend all timeouts until `resume` was called as often, for at most `MAX_PAUSE` seconds."""
        self._pauses += 1
        if self._pauses == 1:
            self._stop()
            self._wakes_at = _PAUSED
            self._paused_at = self._loop.time()
            self._timer = self._loop.call_later(MAX_PAUSE, self._proceed, context=Context())

    def resume(self) -> None:
        """Resume all timeouts with the time that was left when they were paused."""
        self._pauses = max(self._pauses - 1, 0)
        if not self._pauses:
            self._proceed()

    def _proceed(self) -> None:
        self._pauses = 0
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


BURST: Final = 50
"""How many lines may be written at once about a connection."""
RATE: Final = 10.0
"""How many lines per second may be written about it after that."""
ENDPOINT_BURST: Final = 200
"""How many lines may be written at once about all connections of an endpoint."""
ENDPOINT_RATE: Final = 20.0
"""How many lines per second may be written about them after that."""


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

    __slots__ = ("_about", "_bucket", "_clock", "_endpoint", "_left_out")

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
        self._bucket.take()
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
    return Journal(time.monotonic, about="connections of this endpoint", burst=ENDPOINT_BURST, rate=ENDPOINT_RATE)


log: Final = logging.getLogger("mcp_runtime")

WAIT: Final = 0.2
"""Seconds in which more lines of a banner may follow."""


class Chatter:
    """What a peer printed, shown once when its next message arrives; later text is logged at debug level.

    Args:
        loop: used to wait for the rest of a banner that no message follows.
        show: called with the text to show.
    """

    __slots__ = ("_lines", "_room", "_show", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, show: Callable[[str], None]) -> None:
        self._show = show
        self._lines: list[str] | None = []
        self._room = MAX_TEXT
        self._timer = loop.call_later(WAIT, self.end)

    @staticmethod
    def is_text(message: bytes) -> bool:
        """Whether a line is text rather than a malformed message: many loggers write ``[info]``, or JSON."""
        return message[:1] not in (b"{", b"[") or (b'"jsonrpc"' not in message and b'"id"' not in message)

    def heard(self, text: bytes) -> None:
        """Add a line of text."""
        line = text[:MAX_TEXT].decode("utf-8", "replace")
        if self._lines is None:
            log.debug("the peer printed more text: %s", clipped(line))
        elif self._room >= 0:
            self._room -= len(line)
            self._lines.append(line)

    def end(self) -> None:
        """Show what was printed so far, unless it was shown before."""
        self._timer.cancel()
        lines, self._lines = self._lines, None
        if lines:
            self._show(f"the peer printed text that is not a message: {clipped(' | '.join(lines))}")
