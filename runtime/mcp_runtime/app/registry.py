"""The entries of one kind: looked up by key, listed page by page in the order in which they were added."""

from collections.abc import Iterator
from itertools import count, islice
from typing import Any, Final, Generic, TypeVar

from mcp_runtime.app.errors import DefinitionError, invalid

T = TypeVar("T")

_MAX_DIGITS: Final = 18


class Registry(Generic[T]):
    """Entries by key, in the order in which they were added.

    A cursor names the entry after which a page begins, so additions and removals between two pages shift nothing.
    """

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, T]] = {}
        self._numbers = count(1)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[T]:
        return iter([entry for _, entry in self._entries.values()])

    def get(self, key: str) -> T | None:
        """Return the entry with a key, or None."""
        found = self._entries.get(key)
        return found[1] if found else None

    def named(self, key: str | None) -> list[T]:
        """Return the entry with a key, or all of them if that is None."""
        return list(self) if key is None else [entry for entry in [self.get(key)] if entry is not None]

    def keys(self) -> tuple[str, ...]:
        """Return the keys of all entries."""
        return tuple(self._entries)

    def add(self, key: str, entry: T) -> None:
        """Add an entry under an unused key."""
        self._entries[key] = (next(self._numbers), entry)

    def define(self, key: str, entry: T, what: str) -> None:
        """Add an entry that a function of the author defines.

        Raises:
            DefinitionError: there is one with that key already.
        """
        if (taken := self.get(key)) is not None:
            raise DefinitionError(
                _where(entry), what, f"already defined ({_where(taken)}); give one of them another name"
            )
        self.add(key, entry)

    def remove(self, key: str) -> bool:
        """Remove an entry; return whether it existed."""
        return self._entries.pop(key, None) is not None

    def page(self, cursor: str | None, size: int) -> tuple[list[T], str | None]:
        """Return a page of entries and the cursor of the next page, None after the last.

        Raises:
            PeerError: the cursor was not issued by this registry.
        """
        after = 0 if cursor is None else _number(cursor)
        rest = ((number, entry) for number, entry in self._entries.values() if number > after)
        taken = list(islice(rest, size + 1))
        page = taken[:size]
        return [entry for _, entry in page], str(page[-1][0]) if len(taken) > size else None


def _where(entry: Any) -> str:
    return str(entry.where)


def _number(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _MAX_DIGITS):
        raise invalid("invalid cursor", "/cursor")
    return int(cursor)
