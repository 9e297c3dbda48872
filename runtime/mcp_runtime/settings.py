"""What a connection is told when it is made: limits of time and size, how strictly it reads, who watches it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from mcp_runtime.context import Exchange

Proceed: TypeAlias = Callable[[], Awaitable[Any]]
"""Goes on with a message: to the next middleware, and at last to the handler or the peer."""
Middleware: TypeAlias = "Callable[[Exchange, Proceed], Awaitable[Any]]"
"""Stands around every request and notification: gets the message and returns its typed result, None for none."""
Trace: TypeAlias = Callable[[str, bytes], None]
"""Sees every message, before anything else does: ``received`` or ``sent``, and its bytes."""


def open_trace(trace: Trace | None) -> Trace | None:
    """Return the trace hook of one connection: one its own, if it tells them apart as `Tracer` does."""
    begin: Callable[[], Trace] | None = getattr(trace, "conversation", None)
    return begin() if begin is not None else trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a connection behaves.

    Attributes:
        timeout: seconds to wait for an answer, or for the next report of progress; None to wait for ever.
        max_time: seconds to wait in all, however much progress is reported; None for no limit.
        strict: whether null is refused where a member may only be absent; else it counts as absent.
        check_sent: whether what is sent is validated once more, as if a peer had sent it.
        check_capabilities: whether messages that need a capability which the peer did not declare are refused here.
        max_in_flight: how many requests of the peer are worked on at once.
        max_queued: how many more may wait for their turn.
        linger: seconds in which requests may still be answered when the peer has closed its end; 0 for none.
        ping_interval: seconds without a message after which the peer is pinged; None for never.
        ping_timeout: seconds in which it must answer, or the connection is closed.
        progress_rate: how many reports per second leave on one request, after a first burst of as many; of what is too
            much the last one leaves, before the result at the latest; None for no limit.
        log_rate: the same for log messages, of which the most severe one is kept.
        middleware: stands around every request and notification, the first outermost.
        trace: sees every message.
    """

    timeout: float | None = 60.0
    max_time: float | None = 600.0
    strict: bool = False
    check_sent: bool = False
    check_capabilities: bool = True
    max_in_flight: int = 256
    max_queued: int = 10_000
    linger: float = 1.0
    ping_interval: float | None = None
    ping_timeout: float = 10.0
    progress_rate: float | None = 20.0
    log_rate: float | None = 100.0
    middleware: tuple[Middleware, ...] = ()
    trace: Trace | None = None
