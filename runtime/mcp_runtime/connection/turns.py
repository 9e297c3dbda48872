"""The handlers of notifications: a limited number runs at once, more are queued, and the rest is dropped.

They are limited separately, since a request may be waiting for a notification.
"""

from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from typing import Any, TypeAlias

from mcp_runtime.connection.link import Link
from mcp_runtime.connection.load import LIGHT, Held, Load

Run: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class Turns:
    """Runs the handlers of notifications, in order.

    Args:
        link: its limits and background tasks.
        load: the memory taken by the peer's messages.
    """

    __slots__ = ("_link", "_load", "_running", "_waiting")

    def __init__(self, link: Link, load: Load) -> None:
        self._link = link
        self._load = load
        self._running = 0
        self._waiting: deque[tuple[Run, Held | None, Context]] = deque()

    def take(self, text: bytes, parts: int, run: Run) -> bool:
        """Run a handler now or later; return whether there is room.

        Args:
            text: the message, or the batch that contains it.
            parts: how many messages the text contains.
            run: runs the handler.
        """
        limits = self._link.limits
        has_turn = self._running < limits.max_in_flight
        if not has_turn and len(self._waiting) >= limits.max_queued:
            return False
        held = None
        if (len(text) > LIGHT or not has_turn) and (held := self._load.hold(text, parts)) is None:
            return False
        if has_turn:
            self._begin(run, held)
        else:
            # Run it in its own contextvars context, not in that of the handler that makes room for it.
            self._waiting.append((run, held, copy_context()))
        return True

    def clear(self) -> None:
        """Drop the queued handlers."""
        self._waiting.clear()

    def _begin(self, run: Run, held: Held | None) -> None:
        self._running += 1
        self._link.background.spawn(self._take_turn(run, held))

    async def _take_turn(self, run: Run, held: Held | None) -> None:
        try:
            await run()
        finally:
            self._running -= 1
            if held is not None:
                held.release()
            while self._waiting and self._running < self._link.limits.max_in_flight:
                following, its, context = self._waiting.popleft()
                context.run(self._begin, following, its)
