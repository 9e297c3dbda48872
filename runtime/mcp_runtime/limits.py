"""How a connection behaves: limits of time and size, how strictly messages are read, what sees them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Limits", "Trace"]

Trace: TypeAlias = Callable[[str, bytes], None]
"""Sees every message before anything else does: ``received`` or ``sent``, and its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a connection behaves.

    Attributes:
        timeout: seconds to wait for an answer, or for the next report of progress; None to wait for ever.
        max_time: seconds to wait in all, however much progress is reported; None for no limit.
        strict: whether null is refused where a property may only be absent; otherwise it counts as absent.
        check_sent: whether what is sent is validated once more, as if a peer had sent it.
        check_capabilities: whether messages that need a capability which the peer did not declare are refused here.
        max_in_flight: how many requests of the peer are worked on at once, and how many notifications.
        max_queued: how many more of each may wait for their turn; a request beyond that is answered with an error, a
            notification is dropped.
        max_bytes: about how many bytes the messages of the peer may take that are worked on or wait; one that is alone
            may take more.
        max_unread_bytes: how many bytes of answers may wait for the peer to read them; a result beyond that is replaced
            by an error.
        linger: seconds in which requests may still be answered when the peer has closed its end; 0 for none.
        ping_interval: seconds without a message after which the peer is pinged; None for never.
        ping_timeout: seconds in which it must answer, or the connection is closed.
        progress_rate: how many reports per second leave on one request, after a first burst of as many; the last
            report always leaves, before the result at the latest; None for no limit.
        log_rate: the same for log messages, of which the most severe one is kept.
        trace: sees every message.
    """

    timeout: float | None = 60.0
    max_time: float | None = 600.0
    strict: bool = False
    check_sent: bool = False
    check_capabilities: bool = True
    max_in_flight: int = 256
    max_queued: int = 10_000
    max_bytes: int = 256 << 20
    max_unread_bytes: int = 256 << 20
    linger: float = 1.0
    ping_interval: float | None = None
    ping_timeout: float = 10.0
    progress_rate: float | None = 20.0
    log_rate: float | None = 100.0
    trace: Trace | None = None
