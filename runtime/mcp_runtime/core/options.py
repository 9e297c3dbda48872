"""Options of calls and connections: timeouts, limits, caching; and the base class of what sends a call."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

from mcp_runtime.core.method import NotificationMethod, RequestMethod


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHint:
    """How long results of a method may be cached, and by which caches. Values set by the handler take precedence.

    Attributes:
        seconds: how long a result stays fresh.
        scope: ``public`` if the result is the same for every user, so that shared caches may store it.

    Raises:
        ValueError: `seconds` is negative, or `scope` is not a known scope.
    """

    seconds: float
    scope: Literal["private", "public"] = "private"

    def __post_init__(self) -> None:
        if self.seconds < 0:
            raise ValueError(f"seconds: must be 0 or more, not {self.seconds:g}")
        if self.scope not in ("private", "public"):
            raise ValueError(f"scope: must be 'private' or 'public', not {self.scope!r}")

    @property
    def milliseconds(self) -> int:
        """The duration in milliseconds, as sent on the wire."""
        return int(self.seconds * 1000)


LogLevel: TypeAlias = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
"""The severity of a log message (RFC 5424)."""

Trace: TypeAlias = Callable[[str, bytes], None]
"""Called with each message before anything else sees it: ``received`` or ``sent``, and its bytes."""


class Tracing:
    """A trace hook that distinguishes connections, as `mcp_runtime.Tracer` does."""

    def conversation(self) -> Trace:
        """Return the hook of one connection."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How a connection behaves.

    Attributes:
        timeout: seconds to wait for an answer or the next progress report; None to wait indefinitely.
        max_time: seconds to wait in total, regardless of progress; None for no limit.
        max_extension: how many times its timeout a call may take because the peer asks for something meanwhile, and
            the time of this side's answers does not count; None for no limit.
        strict: whether to reject null for a property that may only be absent; otherwise null counts as absent.
        unknown_content: whether to ``refuse`` messages with content blocks that the revision does not have, or to
            ``drop`` these blocks and log it once.
        check_sent: whether to validate outgoing messages as if a peer had sent them.
        check_capabilities: whether to refuse to send messages that need a capability the peer did not declare.
        max_in_flight: how many of the peer's requests are handled at once, and how many notifications.
        max_waiting: how many of the peer's requests may be open that only wait for changes or for the result of a task;
            they take no place of others.
        max_queued: how many more of each may be queued. Beyond that, requests are answered with an error and
            notifications are dropped.
        max_bytes: approximate limit in bytes for the peer's messages that are queued or being handled; a single message
            may exceed it.
        max_unread_bytes: how many bytes of answers, and of requests, may wait for the peer to read them; a result
            beyond that is replaced by an error, and a request fails.
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
    max_extension: float | None = 3.0
    strict: bool = False
    unknown_content: Literal["refuse", "drop"] = "refuse"
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
    trace: Trace | Tracing | None = None


P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""Receives progress reports: how much is done so far, how much there is to do (None if unknown), and a text to show."""


@dataclass(slots=True, kw_only=True, eq=False)
class CallOptions:
    """Options of one call. They are not part of the message.

    Args:
        timeout: seconds to wait for the answer or the next progress report; None for the caller's default.
        max_time: seconds to wait in total, regardless of progress; None for the caller's default.
        progress: called with each progress report. Its progress token replaces any in `_meta`.
        key: identifies an input request that a server embeds in a result (2026-07-28, basic/patterns/mrtr); unique
            within one call. None derives the key from the question. Ignored for other requests.

    Raises:
        TypeError: a timeout is not a number, `progress` is not callable, or `key` is not a non-empty string.
    """

    timeout: float | None = None
    max_time: float | None = None
    progress: Progress | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        _check_seconds("timeout", self.timeout)
        if self.key is not None and (not isinstance(cast(object, self.key), str) or not self.key):
            raise TypeError(f"key: must be a non-empty string, not {self.key!r:.60}")
        _check_seconds("max_time", self.max_time)
        if self.progress is not None and not callable(self.progress):
            raise TypeError(f"progress: must be a function of three arguments, not {self.progress!r:.60}")


def _check_seconds(name: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{name}: must be a number of seconds, not {value!r:.60}")


NO_OPTIONS: Final = CallOptions()


def call_options(options: object) -> CallOptions:
    """Return call options as given, or the defaults for None.

    Raises:
        TypeError: `options` is not a `CallOptions`.
    """
    if options is None:
        return NO_OPTIONS
    if not isinstance(options, CallOptions):
        raise TypeError(f"options: must be a CallOptions, such as CallOptions(timeout=5), not {options!r:.60}")
    return options


def times_of(options: CallOptions, limits: Limits) -> tuple[float | None, float | None]:
    """Return the timeout and the maximum time of a call, in seconds; None for no limit."""
    timeout = limits.timeout if options.timeout is None else options.timeout
    return timeout, limits.max_time if options.max_time is None else options.max_time


def first_timeout(options: CallOptions, limits: Limits) -> float | None:
    """Return the seconds that a call may take before the first progress report; None for no limit."""
    timeout, max_time = times_of(options, limits)
    return timeout if max_time is None or (timeout is not None and timeout < max_time) else max_time


class Caller(ABC):
    """Sends requests and notifications to the peer."""

    @abstractmethod
    def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> Awaitable[R]:
        """Send a request and wait for its result.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
            options: timeouts and progress; None for the defaults.
        """

    @abstractmethod
    def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> Awaitable[T]:
        """Send a request and wait for a result of a type other than the usual one.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
            result: the type of the result.
            options: timeouts and progress; None for the defaults.
        """

    @abstractmethod
    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
        """

    @abstractmethod
    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry, keyed by wire names; empty if none is required."""

    @property
    def connection(self) -> Any:
        """The connection that the messages are sent on.

        Raises:
            TypeError: there is none.
        """
        raise TypeError(f"this stub uses a {type(self).__name__}, not a connection")

    @property
    def recipient(self) -> Any:
        """What is known of the peer that receives the messages, as a `Requester`."""
        return self.connection.requester

    def plain_meta(self, type_: type[T]) -> T:
        """Return the `_meta` of a request that carries only what every request must; not to be changed.

        Args:
            type_: the generated type of it.
        """
        built: T = cast(Any, type_).model_validate(dict(self.request_meta()))
        return built
