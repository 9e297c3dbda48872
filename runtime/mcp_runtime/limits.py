"""How a connection behaves: timeouts, size limits, strictness, and message tracing."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Limits", "Trace"]

Trace: TypeAlias = Callable[[str, bytes], None]
"""Called with each message before anything else sees it: ``received`` or ``sent``, and its bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a connection behaves.

    Attributes:
        timeout: seconds to wait for an answer or the next progress report; None to wait indefinitely.
        max_time: seconds to wait in total, regardless of progress; None for no limit.
        strict: whether to reject null for a property that may only be absent; otherwise null counts as absent.
        check_sent: whether to validate outgoing messages as if a peer had sent them.
        check_capabilities: whether to refuse to send messages that need a capability the peer did not declare.
        max_in_flight: how many of the peer's requests are handled at once, and how many notifications.
        max_waiting: how many of the peer's requests may be open that only wait for changes or for the result of a task;
            they take no place of others.
        max_queued: how many more of each may be queued. Beyond that, requests are answered with an error and
            notifications are dropped.
        max_bytes: approximate limit in bytes for the peer's messages that are queued or being handled; a single message
            may exceed it.
        max_unread_bytes: how many bytes of answers may wait for the peer to read them; a result beyond that is replaced
            by an error.
        linger: seconds in which requests may still be answered after the peer has closed its end; 0 for none.
        ping_interval: seconds without a message after which the peer is pinged; None for never.
        ping_timeout: seconds within which the peer must answer a ping before the connection is closed.
        progress_rate: how many progress reports per second are sent for one request, after an initial burst of the same
            size. The last report is always sent, at the latest before the result. None for no limit.
        log_rate: the same for log messages; of those held back, the most severe one is kept.
        trace: called with each message.
    """

    timeout: float | None = 60.0
    max_time: float | None = 600.0
    strict: bool = False
    check_sent: bool = False
    check_capabilities: bool = True
    max_in_flight: int = 256
    max_waiting: int = 1_000
    max_queued: int = 10_000
    max_bytes: int = 256 << 20
    max_unread_bytes: int = 256 << 20
    linger: float = 1.0
    ping_interval: float | None = None
    ping_timeout: float = 10.0
    progress_rate: float | None = 20.0
    log_rate: float | None = 100.0
    trace: Trace | None = None
