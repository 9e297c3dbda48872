"""What an endpoint keeps because clients have not read it yet, of all sessions together."""

from typing import Final

HIGH_WATER: Final = 64 << 10
"""How many bytes may be queued on one stream before handlers wait; so many may be on each, whatever there is in all."""


class Unread:
    """How many bytes wait for clients to read them.

    Args:
        limit: how many there may be.

    Attributes:
        size: how many there are.
    """

    __slots__ = ("limit", "size")

    def __init__(self, limit: int) -> None:
        self.limit: Final = limit
        self.size = 0

    @property
    def is_full(self) -> bool:
        """Whether there are too many."""
        return self.size > self.limit

    def has_room(self, more: int, queued: int = 0) -> bool:
        """Whether more bytes may wait on a stream or a response that has some queued already."""
        return queued + more <= HIGH_WATER or self.size + more <= self.limit
