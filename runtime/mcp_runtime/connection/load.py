"""How many bytes of a peer's messages are held: those being handled, and those queued."""

from typing import Final

LIGHT: Final = 4096
"""Messages up to this size in bytes are not counted while they are handled, since their number is limited anyway."""
_VALUE: Final = 64
"""Approximate memory in bytes of a JSON value in addition to its text."""


def weight(text: bytes) -> int:
    """Return the approximate memory of a parsed message: each value follows a bracket, a colon or a comma."""
    values = text.count(b",") + text.count(b":") + text.count(b"[") + text.count(b"{")
    return 2 * len(text) + _VALUE * values


class Held:
    """The share of a `Load` that one message has, until it is released."""

    __slots__ = ("_load", "_weight")

    def __init__(self, load: "Load", weight: int) -> None:
        self._load = load
        self._weight = weight

    def release(self) -> None:
        """Make room for others; safe to call again."""
        self._load.size -= self._weight
        self._weight = 0


class Load:
    """The memory taken by the messages of one peer.

    Args:
        limit: the maximum in bytes; a single message may exceed it.

    Attributes:
        size: the current approximate size in bytes.
    """

    __slots__ = ("_limit", "size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.size = 0

    def hold(self, text: bytes, parts: int) -> Held | None:
        """Count a message, or one of `parts` in a batch; return None if there is no room."""
        more = weight(text) // parts
        if self.size and self.size + more > self._limit:
            return None
        self.size += more
        return Held(self, more)
