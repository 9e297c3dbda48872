"""What an endpoint keeps because clients have not read it yet, for all sessions together."""

from typing import Final

HIGH_WATER: Final = 64 << 10
"""How many bytes may be queued on each stream, whatever the total, before handlers wait."""


class Unread:
    """How many bytes wait for clients to read them.

    Args:
        limit: the maximum.

    Attributes:
        size: the current number.
    """

    __slots__ = ("limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self.size = 0

    @property
    def is_full(self) -> bool:
        """Whether the maximum is reached."""
        return self.size > self.limit

    def has_room(self, more: int, queued: int = 0) -> bool:
        """Whether more bytes may be queued on a stream or response that has some already."""
        return queued + more <= HIGH_WATER or self.size + more <= self.limit
