"""Keep reports and log messages from flooding a peer: so many per second, the last one always leaves.

Both are worth little once a newer one is there, so what is too much is replaced instead of queued
(basic/utilities/progress and server/utilities/logging ask for a limit).
"""

import asyncio
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from mcp_runtime.errors import LocalProtocolError
from mcp_runtime.jsonrpc import Id
from mcp_runtime.session import PROGRESS

if TYPE_CHECKING:
    from mcp_runtime.link import Link

T = TypeVar("T")

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""The levels of RFC 5424, the least severe first."""


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


class ProgressReports:
    """The reports on the requests that a peer has open; `gates` are those of requests that were reported on."""

    __slots__ = ("_link", "gates")

    def __init__(self, link: "Link") -> None:
        self._link = link
        self.gates: dict[Id, Gate[tuple[float, float | None, str | None]]] = {}

    def report(self, id_: Id, progress: float, total: float | None, message: str | None) -> None:
        """Tell the peer how far an open request has come, now or a little later; nothing if it did not ask.

        Raises:
            LocalProtocolError: the progress is not more than what was reported before.
        """
        link = self._link
        incoming = link.session.incoming.get(id_)
        if incoming is None or incoming.token is None:
            return
        rate = link.settings.progress_rate
        if rate is None:
            link.send(link.session.progress(id_, progress, total, message))
            return
        gate = self.gates.get(id_)
        if gate is None:
            gate = self.gates[id_] = Gate(link.loop, rate, lambda r: link.send(link.session.progress(id_, *r)))
        before = gate.waiting[0] if gate.waiting is not None else incoming.progress
        if before is not None and progress <= before:
            reason = f"progress must grow: {progress:g} after {before:g}"
            raise LocalProtocolError(revision=link.revision, method=PROGRESS, pointer="/progress", reason=reason)
        gate.put((progress, total, message))

    def finish(self, id_: Id) -> None:
        """Let the last report on a request leave, since its answer is about to."""
        if (gate := self.gates.pop(id_, None)) is not None:
            gate.flush()

    def drop(self, id_: Id) -> None:
        """Forget the reports on a request that is no longer open."""
        if (gate := self.gates.pop(id_, None)) is not None:
            gate.drop()


class LogMessages:
    """The log messages that leave; of those that must wait, the most severe one is kept, and of these the last.

    Attributes:
        gate: what they go through, None before the first.
    """

    __slots__ = ("_link", "gate")

    def __init__(self, link: "Link") -> None:
        self._link = link
        self.gate: Gate[bytes] | None = None

    def send(self, message: bytes, params: Any) -> None:
        """Send a log message, now or a little later."""
        rate = self._link.settings.log_rate
        if rate is None:
            self._link.send(message)
            return
        if self.gate is None:
            self.gate = Gate(self._link.loop, rate, self._link.send)
        level = getattr(params, "level", None)
        self.gate.put(message, LEVELS.index(level) if level in LEVELS else 0)

    def flush(self) -> None:
        """Let what waits leave at once."""
        if self.gate is not None:
            self.gate.flush()
