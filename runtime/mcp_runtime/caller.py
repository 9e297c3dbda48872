"""How a call leaves: the options that each takes, and what sends it."""

from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeVar

from mcp_runtime.method import NotificationMethod, RequestMethod

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


class Progress(Protocol):
    """Is told how far a request has come: done so far, out of how much if known, and a message if there is one."""

    def __call__(self, progress: float, total: float | None, message: str | None, /) -> None:
        """Take one report."""


class CallOptions:
    """Options of one call that are not part of the message.

    Args:
        timeout: seconds to wait for the answer, or for the next report of progress; None for the caller's default.
        max_time: seconds to wait in all, however much progress is reported; None for the caller's default.
        progress: is told how far the request has come; the token for that takes the place of one in `_meta`.
        key: names what a server asks its client inside a result (2026-07-28, basic/patterns/mrtr), once per call; None
            for a key that is made of the question. It has no effect on other requests.

    Raises:
        TypeError: a time is not a number, nothing can be told, or the key is not a text.
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
            raise TypeError(f"progress is a function that takes three arguments, not {progress!r:.60}")
        self.key = key
        self.timeout = timeout
        self.max_time = max_time
        self.progress = progress


def _check_seconds(name: str, value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise TypeError(f"{name} is a number of seconds, not {value!r:.60}")


def _check_key(key: object) -> None:
    if key is not None and (not isinstance(key, str) or not key):
        raise TypeError(f"the key of a question is a text that is not empty, not {key!r:.60}")


_DEFAULTS: Final = CallOptions()


def call_options(options: object) -> CallOptions:
    """Return the options of a call as a program passed them; None are the defaults.

    Raises:
        TypeError: they are something else.
    """
    if options is None:
        return _DEFAULTS
    if not isinstance(options, CallOptions):
        raise TypeError(f"the options of a call are an object, CallOptions(timeout=5), not {options!r:.60}")
    return options


class Caller(Protocol):
    """Sends requests and notifications to the peer."""

    async def request(self, method: RequestMethod[P, R], params: P | None, options: CallOptions | None) -> R:
        """Send a request and wait for the result of its type."""
        ...

    async def request_as(
        self, method: RequestMethod[P, Any], params: P | None, result: type[T], options: CallOptions | None
    ) -> T:
        """Send a request and wait for a result of another type than the usual one."""
        ...

    async def notify(self, method: NotificationMethod[P], params: P | None) -> None:
        """Send a notification."""
        ...

    def request_meta(self) -> Mapping[str, Any]:
        """Return the `_meta` that every request must carry, by wire names; empty where none is required."""
        ...
