"""Progress reports and log messages: their rate is limited, and the last one is always sent.

A newer report makes an older one nearly worthless, so reports over the limit are replaced instead of queued
(basic/utilities/progress and server/utilities/logging require a limit).
"""

import logging
from math import isfinite
from typing import Any, Final, TypeGuard, get_args

from mcp_runtime.connection.calls import Call
from mcp_runtime.connection.link import Link
from mcp_runtime.connection.requester import Requester
from mcp_runtime.connection.timers import Gate
from mcp_runtime.connection.transport import MAX_UNREAD, Channel
from mcp_runtime.errors import clipped
from mcp_runtime.method import NotificationMethod
from mcp_runtime.options import LogLevel
from mcp_runtime.protocol.names import NOTIFICATIONS_MESSAGE

LEVELS: Final[tuple[LogLevel, ...]] = get_args(LogLevel)
"""The levels of RFC 5424, from least to most severe."""


class Reports:
    """The progress reports and log messages of one link.

    Progress reports are held per request, log messages per channel. Of the log messages held back, the most severe one
    is kept, and of these the last.
    """

    __slots__ = ("_link",)

    def __init__(self, link: Link) -> None:
        self._link = link

    def progress(self, call: Call, progress: float, total: float | None, message: str | None) -> Channel | None:
        """Report progress on an open request, now or a little later; does nothing if the peer did not ask.

        Progress that does not increase is a mistake of the handler: it is dropped and logged once per request, even if
        the peer did not ask.

        Returns the channel that the report is sent on; None if it is not sent.
        """
        link, gate = self._link, call.gate
        if call.book is None:
            return None
        before = gate.waiting[0] if gate is not None and gate.waiting is not None else call.progress
        wrong = no_progress(progress, total, before)
        if wrong is not None:
            if not call.is_stuck:
                call.is_stuck = True
                link.log_limited(logging.WARNING, DROPPED, call.name, wrong)
            return None
        if call.token is None:
            call.progress = progress
            return None
        channel, session = call.channel, link.session
        rate = link.limits.progress_rate
        if rate is None:
            link.send(session.progress(call, progress, total, message), channel)
            return channel
        if gate is None:
            gate = call.gate = Gate(link.loop, rate, lambda r: link.send(session.progress(call, *r), channel))
        gate.put((progress, total, message))
        return channel

    def log(self, message: bytes, params: Any, channel: Channel) -> None:
        """Send a log message over a channel, now or a little later."""
        link = self._link
        rate = link.limits.log_rate
        if rate is None:
            self._send_log(message, channel)
            return
        if channel.logs is None:
            channel.logs = Gate(link.loop, rate, lambda m: self._send_log(m, channel))
        level = getattr(params, "level", None)
        channel.logs.put(message, LEVELS.index(level) if level in LEVELS else 0)

    def _send_log(self, message: bytes, channel: Channel) -> None:
        """Send a log message, unless the peer has not read those before it: no task waits with them."""
        if channel.posted_bytes > MAX_UNREAD or self._link.closed_because is not None:
            return
        channel.posted_bytes += len(message)
        self._link.send(message, channel)
        if channel.posted_bytes > MAX_UNREAD:
            self._link.background.spawn(self._forget_posted(channel))

    async def _forget_posted(self, channel: Channel) -> None:
        await channel.drain()
        channel.posted_bytes = 0

    def finish(self, call: Call) -> None:
        """Send what must precede the answer to an open request: its last report, and the pending log message."""
        if call.gate is not None:
            call.gate.flush()
            call.gate = None
        if call.channel.logs is not None:
            call.channel.logs.flush()

    def flush(self) -> None:
        """Send the pending log messages."""
        for channel in self._link.channels:
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
    if not _is_finite(progress) or not (total is None or _is_finite(total)):
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
    method = requester.binding.methods[NOTIFICATIONS_MESSAGE]
    assert isinstance(method, NotificationMethod) and method.params is not None
    arguments: dict[str, Any] = {"level": level, "data": data}
    if logger is not None:
        arguments["logger"] = logger
    return method, method.params.build(arguments)
