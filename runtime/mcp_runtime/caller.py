"""How calls are sent: the options of a call, and the protocol of what sends it."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeVar

from mcp_runtime.method import NotificationMethod, RequestMethod

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Progress(Protocol):
    """A callback for progress reports."""

    def __call__(self, progress: float, total: float | None, message: str | None, /) -> None:
        """Handle one progress report.

        Args:
            progress: how much is done so far.
            total: how much there is to do; None if unknown.
            message: a text to show; None if there is none.
        """


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

    __slots__ = ("key", "max_time", "progress", "timeout")

    def __init__(
        self,
        *,
        timeout: float | None = None,
        max_time: float | None = None,
        progress: Progress | None = None,
        key: str | None = None,
    ) -> None:
        _check_seconds("timeout", timeout)
        _check_key(key)
        _check_seconds("max_time", max_time)
        if progress is not None and not callable(progress):
            raise TypeError(f"progress: must be a function of three arguments, not {progress!r:.60}")
        self.key = key
        self.timeout = timeout
        self.max_time = max_time
        self.progress = progress


def _check_seconds(name: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{name}: must be a number of seconds, not {value!r:.60}")


def _check_key(key: object) -> None:
    if key is not None and (not isinstance(key, str) or not key):
        raise TypeError(f"key: must be a non-empty string, not {key!r:.60}")


_DEFAULTS: Final = CallOptions()


def call_options(options: object) -> CallOptions:
    """Return call options as given, or the defaults for None.

    Raises:
        TypeError: `options` is not a `CallOptions`.
    """
    if options is None:
        return _DEFAULTS
    if not isinstance(options, CallOptions):
        raise TypeError(f"options: must be a CallOptions, such as CallOptions(timeout=5), not {options!r:.60}")
    return options


class Caller(Protocol):
    """Sends requests and notifications to the peer."""

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request and wait for its result.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
            options: timeouts and progress; None for the defaults.
        """
        ...

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request and wait for a result of a type other than the usual one.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
            result: the type of the result.
            options: timeouts and progress; None for the defaults.
        """
        ...

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification.

        Args:
            method: the record of the method.
            params: its params; None if it has none.
        """
        ...

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry, keyed by wire names; empty if none is required."""
        ...
