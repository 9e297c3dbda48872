"""What is known of the tools or prompts of one connection's server: learned from lists that pass by, or asked for."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from mcp_runtime.connection.connection import Connection
from mcp_runtime.method import RequestMethod, WireType
from mcp_runtime.protocol import names
from mcp_runtime.protocol.legacy import Side

T = TypeVar("T")

MAX_PAGES: Final = 1_000
MAX_ITEMS: Final = 10_000
"""How many items are remembered, the last ones that were listed: a list has no other end than its sender wants."""
MAX_BYTES: Final = 64 << 20
"""How many bytes of JSON they were, together with the last page."""


class Catalogue(Generic[T]):
    """The items of one list, by name.

    A server is asked for its own list by calling its handler, a peer by a request. A list that changes is asked for
    again: once it was said to have changed, and on a server's side also for a name that is not known, so that a tool
    is never called unchecked because nobody told of it.

    Args:
        area: ``tools`` or ``prompts``.
        read: makes what is remembered of an item.
    """

    def __init__(self, area: str, read: Callable[[Any], T]) -> None:
        self.list_method = names.listing(area)
        self.changed_method = names.list_changed(area)
        self._area = area
        self._read = read
        self._items: dict[str, tuple[T, int]] = {}  # with the item's share of the bytes of its page
        self._size = 0
        self._is_complete = False
        self._lock = asyncio.Lock()

    def learn(self, result: Any) -> None:
        """Take a page of the list."""
        items = getattr(result, self._area, ())
        size = len(result.model_dump_json()) // len(items) if items else 0
        for item in items:
            self._drop(item.name)
            self._items[item.name] = (self._read(item), size)
            self._size += size
        while len(self._items) > MAX_ITEMS or (self._size > MAX_BYTES and len(self._items) > len(items)):
            self._drop(next(iter(self._items)))

    def _drop(self, name: str) -> None:
        found = self._items.pop(name, None)
        if found is not None:
            self._size -= found[1]

    def forget(self) -> None:
        """Learn that the list has changed."""
        self._items.clear()
        self._size = 0
        self._is_complete = False

    def get(self, name: str) -> T | None:
        """Return what is known of an item, without asking."""
        found = self._items.get(name)
        return found[0] if found is not None else None

    async def find(self, connection: Connection, name: str) -> T | None:
        """Return what is known of an item, None if there is none of that name; raises what asking raises."""
        if name not in self._items and not self._is_known_to_be_absent(connection):
            async with self._lock:
                if name not in self._items and not self._is_known_to_be_absent(connection):
                    await self._ask(connection)
        return self.get(name)

    def _is_known_to_be_absent(self, connection: Connection) -> bool:
        # A server's list may change without a word, and costs a call; that of a peer costs it a request each time.
        return self._is_complete and connection.side is Side.CLIENT

    async def _ask(self, connection: Connection) -> None:
        method = connection.binding.methods.get(self.list_method) if connection.binding else None
        if not isinstance(method, RequestMethod) or method.params is None:
            return
        self._is_complete = True
        try:
            await self._ask_for_pages(connection, method, method.params)
        except BaseException:
            # What was not listed is unknown, not absent.
            self._is_complete = False
            raise

    async def _ask_for_pages(
        self, connection: Connection, method: RequestMethod[Any, Any], type_: WireType[Any]
    ) -> None:
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = type_.build({"cursor": cursor}) if cursor is not None else None
            if connection.side is Side.CLIENT:
                result: Any = await connection.request(method, params, None)
            else:
                result = await connection.ask_self(method, params)
            if result is None:
                return
            self.learn(result)
            cursor = result.next_cursor
            if cursor is None:
                return
