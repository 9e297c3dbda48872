"""What a server has of one kind: found by key, listed page by page in the order in which it was added."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Final, Generic, TypeVar

from mcp_runtime.errors import PeerError

T = TypeVar("T")

_INVALID_PARAMS: Final = -32602
_MAX_DIGITS: Final = 18


class Registry(Generic[T]):
    """Entries by key, in the order in which they were added.

    A cursor says after which entry a page begins, so that what is added or removed between two pages shifts nothing.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, T]] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return iter([entry for _, entry in self._entries.values()])

    def get(self, key: str) -> T | None:
        """Return an entry, None if there is none of that key."""
        found = self._entries.get(key)
        return found[1] if found else None

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all entries."""
        return tuple(self._entries)

    def add(self, key: str, entry: T) -> None:
        """Add an entry, whose key is free."""
        self._entries[key] = (next(self._numbers), entry)

    def remove(self, key: str) -> bool:
        """Remove an entry; returns whether there was one."""
        return self._entries.pop(key, None) is not None

    def page(self, cursor: str | None, size: int) -> tuple[list[T], str | None]:
        """Return a page of entries, and the cursor of the next one, None after the last.

        Raises:
            PeerError: the cursor is not one of ours.
        """
        after = 0 if cursor is None else _number(cursor)
        rest = ((number, entry) for number, entry in self._entries.values() if number > after)
        taken = list(islice(rest, size + 1))
        page = taken[:size]
        return [entry for _, entry in page], str(page[-1][0]) if len(taken) > size else None


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _MAX_DIGITS):
        raise PeerError(_INVALID_PARAMS, "this cursor is not one of ours", {"pointer": "/cursor"})
    return int(cursor)
