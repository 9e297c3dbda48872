"""Delays of the same length on one timer: nearly all of them end early, and a timer each would cost more."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, Final, Generic, TypeVar

from mcp_runtime.transports.http.limits import HttpLimits

K = TypeVar("K")
T = TypeVar("T")


class Delay(Generic[K]):
    """Reports when a wait takes too long.

    Args:
        seconds: the maximum duration in seconds.
        expire: called with a wait that took too long, which is then forgotten.
    """

    __slots__ = ("_expire", "_loop", "_timer", "_until", "seconds")

    def __init__(self, seconds: float, expire: Callable[[K], object]) -> None:
        self.seconds: Final = seconds
        self._expire = expire
        # In the order of their ends, since all have the same length.
        self._until: dict[K, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, wait: K) -> None:
        """Begin a wait that is not running yet."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            # An application may outlive the loop in which it was first called.
            self._until.clear()
            self._loop, self._timer = loop, None
        self._until[wait] = until = loop.time() + self.seconds
        if self._timer is None:
            self._wake_at(loop, until)

    def end(self, wait: K) -> bool:
        """End a wait; return whether it was in time."""
        return self._until.pop(wait, None) is not None

    def clear(self) -> None:
        """Forget all waits, and stop the timer."""
        self._until.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake_at(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        # In its own context: otherwise the current request's context would be kept alive as long.
        self._timer = loop.call_at(until, self._look, loop, until, context=Context())

    def _look(self, loop: asyncio.AbstractEventLoop, now: float) -> None:
        # The timer is not moved when a wait ends, so it may belong to one that is over.
        self._timer = None
        now = max(now, loop.time())
        while self._until:
            wait, until = next(iter(self._until.items()))
            if until > now:
                self._wake_at(loop, until)
                return
            del self._until[wait]
            self._expire(wait)


class TimeLimit(Delay["asyncio.Task[Any]"]):
    """Limits how long a task waits for something.

    Args:
        seconds: the maximum duration in seconds.
    """

    __slots__ = ()

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, _cancel)

    async def within(self, work: Awaitable[T]) -> T:
        """Wait for an awaitable.

        Raises:
            TimeoutError: it took too long.
        """
        task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        self.begin(task)
        try:
            return await work
        except asyncio.CancelledError:
            # Cancelled by the timeout, unless something else cancelled it too.
            if self.end(task) or task.uncancel() > cancelling:
                raise
            raise TimeoutError from None
        finally:
            self._until.pop(task, None)


class Delays:
    """The timeouts of an endpoint.

    Args:
        limits: the duration of each.

    Attributes:
        body: for receiving the body of a request.
        first: for the first message of an answer, by the future that it resolves.
        quiet: for the next event of a stream, by the future that it resolves.
        write: for a client to read what is sent to it.
    """

    __slots__ = ("body", "first", "quiet", "write")

    def __init__(self, limits: HttpLimits) -> None:
        self.body = TimeLimit(limits.body_timeout)
        self.first: Delay[asyncio.Future[None]] = Delay(limits.stream_after, resolve)
        self.quiet: Delay[asyncio.Future[None]] = Delay(limits.keepalive, resolve)
        self.write = TimeLimit(limits.write_timeout)

    def clear(self) -> None:
        """Forget all waits."""
        for delay in (self.body, self.first, self.quiet, self.write):
            delay.clear()


def _cancel(task: "asyncio.Task[Any]") -> None:
    task.cancel()


def resolve(future: "asyncio.Future[None]") -> None:
    """Wake up the waiters of a future."""
    if not future.done():
        future.set_result(None)
