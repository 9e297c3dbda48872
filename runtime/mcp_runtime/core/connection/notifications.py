"""Notifications: received ones as an async iterator and for handlers, and the rate of those that are sent.

A limited number of handlers runs at once. A newer progress report makes an older one nearly worthless, and so it is
with log messages: those over the limit are replaced instead of queued, and the last one is always sent
(basic/utilities/progress and server/utilities/logging require a limit).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from math import isfinite
from typing import Any, Final, Generic, TypeGuard, TypeVar, get_args

from mcp_runtime.core.connection.base import BaseConnection
from mcp_runtime.core.connection.calls import CURRENT, ENDS, LIGHT, AnyMiddleware, Call, ReservedBytes
from mcp_runtime.core.connection.requester import Handler, Requester, ignore
from mcp_runtime.core.connection.results import params_of
from mcp_runtime.core.connection.timers import Gate
from mcp_runtime.core.connection.transport import ACCEPTED, MAX_UNREAD, Channel, Outcome, Verdict
from mcp_runtime.core.errors import ConnectionClosed, RemoteProtocolError, clipped
from mcp_runtime.core.method import AnyMethod, NotificationMethod, notification_of
from mcp_runtime.core.options import LogLevel
from mcp_runtime.core.protocol.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from mcp_runtime.core.protocol.names import NOTIFICATIONS_MESSAGE

P = TypeVar("P")


class NotificationStream(Generic[P]):
    """The params of one method's notifications, as they arrive; ends with the connection, or when it is closed.

    Attributes:
        dropped: how many were dropped, oldest first, because the reader was slower than the peer.
    """

    def __init__(self, limit: int, max_bytes: int, forget: "Callable[[NotificationStream[P]], None]") -> None:
        self.dropped = 0
        self._limit = limit
        self._max_bytes = max_bytes
        self._bytes = 0
        self._forget = forget
        self._items: deque[tuple[P | None, int]] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._is_closed = False

    def put(self, params: P | None, size: int) -> None:
        """Add the params of one notification.

        Args:
            params: the params; None if it has none.
            size: the length of its text in bytes.
        """
        while self._items and (len(self._items) >= self._limit or self._bytes + size > self._max_bytes):
            self._take()
            self.dropped += 1
        self._items.append((params, size))
        self._bytes += size
        self._wake()

    def _take(self) -> P | None:
        params, size = self._items.popleft()
        self._bytes -= size
        return params

    def close(self) -> None:
        """Stop receiving; what has arrived can still be read."""
        self._is_closed = True
        self._forget(self)
        self._wake()

    def __aiter__(self) -> "NotificationStream[P]":
        return self

    async def __anext__(self) -> P | None:
        while not self._items:
            if self._is_closed:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()

    async def next(self, timeout: float | None = None) -> P | None:
        """Wait for the next notification, and return its params.

        Args:
            timeout: seconds to wait; None to wait indefinitely.

        Raises:
            TimeoutError: none arrived in time.
            ConnectionClosed: no more will arrive.
        """
        try:
            async with asyncio.timeout(timeout):
                return await anext(self)
        except StopAsyncIteration:
            raise ConnectionClosed("the stream of notifications is closed") from None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Notifications:
    """Received notifications, and their handlers, which run in order.

    Args:
        connection: the connection they arrive on.
        middleware: wraps every notification.

    Attributes:
        reserved: the memory taken by the peer's messages, requests included.
        subscriptions: receives the notifications that belong to a request of this side; None before the first.
    """

    __slots__ = ("_connection", "_middleware", "_running", "_streams", "_waiting", "reserved", "subscriptions")

    def __init__(self, connection: BaseConnection, middleware: AnyMiddleware) -> None:
        self._connection, self._middleware = connection, middleware
        self.reserved = ReservedBytes(connection.limits.max_bytes)
        self.subscriptions: Any = None
        self._streams: dict[str, tuple[NotificationMethod[Any], list[NotificationStream[Any]]]] = {}
        self._running = 0
        self._waiting: dict[Call, tuple[Handler, Context]] = {}

    def stream(self, method: NotificationMethod[P], limit: int) -> NotificationStream[P]:
        """Iterate over the params of the notifications of one method that arrive from now on."""
        streams = self._streams.setdefault(method.name, (method, []))[1]
        stream: NotificationStream[P] = NotificationStream(limit, self._connection.limits.max_bytes, streams.remove)
        streams.append(stream)
        return stream

    def take_tagged(self, streams: Any) -> None:
        """Show all notifications to an object whose `take` dispatches those that belong to open requests."""
        self.subscriptions = streams

    def receive(self, call: Call) -> Outcome:
        """Pass a notification to its streams and its handler."""
        name, requester = call.name, call.requester
        if self.subscriptions is not None:
            self.subscriptions.take(call)
        found = requester.answers.handlers.get(name)
        streams = self._streams.get(name)
        method = found[0] if found else streams[0] if streams else self._watched(name, requester)
        if method is None or not requester.has(method):
            return ACCEPTED
        try:
            params = params_of(method, call)
        except RemoteProtocolError as error:
            self._connection.report(error)
            return Outcome(Verdict.REJECTED, INVALID_PARAMS, str(error))
        for stream in streams[1] if streams else ():
            stream.put(params, len(call.text))
        if found is None and not self._middleware:
            return ACCEPTED
        call.method, call.params = method, params
        if self._take(call, found[1] if found else ignore):
            return ACCEPTED
        dropped = self._connection.violation("too many notifications are waiting; this one was dropped", name)
        self._connection.report(dropped)
        return Outcome(Verdict.REJECTED, INTERNAL_ERROR, str(dropped))

    def _watched(self, name: str, requester: Requester) -> AnyMethod | None:
        """Return a method that only middleware wants to see."""
        binding = requester.binding
        return binding.methods.get(name) if binding and self._middleware else None

    def _take(self, call: Call, handler: Handler) -> bool:
        """Run a handler now or later; return whether there is room."""
        limits = self._connection.limits
        has_turn = self._running < limits.max_in_flight
        if not has_turn and len(self._waiting) >= limits.max_queued:
            return False
        if len(call.text) > LIGHT or not has_turn:
            call.held = self.reserved.reserve(call.text, call.parts, call.requester.peer)
            if call.held is None:
                return False
        call.text = b""
        if has_turn:
            self._begin(call, handler)
        else:
            # Run it in its own contextvars context, not in that of the handler that makes room for it.
            self._waiting[call] = handler, copy_context()
        return True

    def _begin(self, call: Call, handler: Handler) -> None:
        self._running += 1
        self._connection.background.spawn(self._run(call, handler))

    async def _run(self, call: Call, handler: Handler) -> None:
        CURRENT.set(call)
        try:
            await call.run(handler, self._middleware)
        except (*ENDS, asyncio.CancelledError):
            raise
        except BaseException as error:
            self._connection.log_limited(logging.ERROR, "the handler of %s failed", call.name, exc_info=error)
        finally:
            self._running -= 1
            call.release()
            while self._waiting and self._running < self._connection.limits.max_in_flight:
                following = next(iter(self._waiting))
                handler, context = self._waiting.pop(following)
                context.run(self._begin, following, handler)

    def end(self) -> None:
        """Drop the queued handlers, and close the streams."""
        self._waiting.clear()
        for _, streams in self._streams.values():
            for stream in tuple(streams):
                stream.close()


LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)
"""The levels of RFC 5424, from least to most severe."""


class Reports:
    """The progress reports and log messages of one connection.

    Progress reports are held per request, log messages per channel. Of the log messages held back, the most severe one
    is kept, and of these the last.
    """

    __slots__ = ("_connection",)

    def __init__(self, connection: BaseConnection) -> None:
        self._connection = connection

    def progress(self, call: Call, progress: float, total: float | None, message: str | None) -> Channel | None:
        """Report progress on an open request, now or a little later; does nothing if the peer did not ask.

        Progress that does not increase is a mistake of the handler: it is dropped and logged once per request, even if
        the peer did not ask.

        Returns the channel that the report is sent on; None if it is not sent.
        """
        connection, reply, gate = self._connection, call.reply, call.gate
        before = gate.waiting[0] if gate is not None and gate.waiting is not None else reply.progress
        wrong = no_progress(progress, total, before)
        if wrong is not None:
            if not call.has_wrong_progress:
                call.has_wrong_progress = True
                connection.log_limited(logging.WARNING, DROPPED, call.name, wrong)
            return None
        if reply.token is None:
            reply.progress = progress
            return None
        channel, rate = call.channel, connection.limits.progress_rate

        def send(report: tuple[float, float | None, str | None]) -> None:
            connection.channels.send(connection.session.progress(reply, *report), channel)

        if rate is None:
            send((progress, total, message))
            return channel
        gate = call.gate = gate or Gate(connection.loop, rate, send)
        gate.put((progress, total, message))
        return channel

    def log(self, message: bytes, params: Any, channel: Channel) -> None:
        """Send a log message over a channel, now or a little later."""
        connection = self._connection
        rate = connection.limits.log_rate
        if rate is None:
            self._send_log(message, channel)
            return
        if channel.logs is None:
            channel.logs = Gate(connection.loop, rate, lambda m: self._send_log(m, channel))
        level = getattr(params, "level", None)
        channel.logs.put(message, LEVELS.index(level) if level in LEVELS else 0)

    def _send_log(self, message: bytes, channel: Channel) -> None:
        """Send a log message, unless the peer has not read those before it: no task waits with them."""
        if channel.posted_bytes > MAX_UNREAD or self._connection.end.is_closed:
            return
        channel.posted_bytes += len(message)
        self._connection.channels.send(message, channel)
        if channel.posted_bytes > MAX_UNREAD:
            self._connection.background.spawn(self._connection.channels.drain(channel))

    def finish(self, call: Call) -> None:
        """Send what must precede the answer to an open request: its last report, and the pending log message."""
        if call.gate is not None:
            call.gate.flush()
            call.gate = None
        if call.channel.logs is not None:
            call.channel.logs.flush()

    def flush(self) -> None:
        """Send the pending log messages."""
        for channel in self._connection.channels:
            if channel.logs is not None:
                channel.logs.flush()


DROPPED: Final = "the handler of %s reported %s; such reports are dropped"
"""The log line for a request whose handler reports invalid progress."""


def no_progress(progress: object, total: object, before: float | None) -> str | None:
    """Return why a report must not be sent; None if it may.

    Args:
        progress: how much is done so far.
        total: how much there is to do; None if unknown.
        before: the previous report; None if there was none.
    """
    if not (isinstance(progress, int) or _is_finite(progress)) or not (total is None or _is_finite(total)):
        return f"{_shown(progress)} of {_shown(total)}, which are not JSON numbers"
    if before is not None and progress <= before:
        return f"progress that does not increase ({_shown(progress)} after {_shown(before)})"
    return None


def _shown(value: object) -> str:
    return clipped(repr(value), 60)


def _is_finite(value: object) -> TypeGuard[float]:
    return isinstance(value, int) or (isinstance(value, float) and isfinite(value))


def wants(requester: Requester, level: str) -> bool:
    """Whether a client wants log messages of a level.

    Until it sets a level, it wants all of them in the legacy era, and none in the modern era.

    Raises:
        ValueError: there is no such level.
    """
    if level not in LEVELS:
        raise ValueError(f"unknown log level {level!r}; the levels are {', '.join(LEVELS)}")
    if requester.log_level is None:
        return not requester.is_modern
    return LEVELS.index(level) >= LEVELS.index(requester.log_level)


def log_message(
    requester: Requester, level: str, data: Any, logger: str | None
) -> tuple[NotificationMethod[Any], Any] | None:
    """Build a log message; None if the client does not want it.

    Raises:
        ValueError: there is no such level.
    """
    if not wants(requester, level) or requester.binding is None:
        return None
    method = notification_of(requester.binding.methods, NOTIFICATIONS_MESSAGE)
    arguments: dict[str, Any] = {"level": level, "data": data}
    if logger is not None:
        arguments["logger"] = logger
    return method, method.build(arguments)
