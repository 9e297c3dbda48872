"""How many bytes of a peer's messages are held here: of those that are worked on, and of those that wait."""

from typing import Final

LIGHT: Final = 4096
"""A message of so many bytes is not counted while it is worked on, since the number of those is limited anyway."""
_VALUE: Final = 64
"""About how many bytes a JSON value takes besides its text."""


def weight(text: bytes) -> int:
    """Return about how many bytes a message takes, parsed: each value follows a bracket, a colon or a comma."""
    values = text.count(b",") + text.count(b":") + text.count(b"[") + text.count(b"{")
    return 2 * len(text) + _VALUE * values


class Held:
    """The part of a `Load` that one message has, until it is released."""

    __slots__ = ("_load", "_weight")

    def __init__(self, load: "Load", weight: int) -> None:
        self._load = load
        self._weight = weight

    def release(self) -> None:
        """Make room for others; harmless when called again."""
        self._load.size -= self._weight
        self._weight = 0


class Load:
    """What the messages of one peer take.

    Args:
        limit: how many bytes they may take; a message that is alone may take more.

    Attributes:
        size: how many bytes they take now, about.
    """

    __slots__ = ("_limit", "size")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.size = 0

    def hold(self, text: bytes, parts: int) -> Held | None:
        """Count a message, or one of so many parts of it; returns None if there is no room."""
        more = weight(text) // parts
        if self.size and self.size + more > self._limit:
            return None
        self.size += more
        return Held(self, more)
