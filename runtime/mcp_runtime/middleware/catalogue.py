"""What middleware remembers of the lists of a server, such as its tools."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from mcp_runtime.core.connection.connection import Exchange
from mcp_runtime.core.features import read_pages
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.protocol import names
from mcp_runtime.core.protocol.dispatch import Side

T = TypeVar("T")

MAX_ITEMS: Final = 10_000
"""How many items are remembered, the last listed ones: only the sender limits the length of a list."""
MAX_BYTES: Final = 64 << 20
"""The total size of the remembered items as JSON, in bytes; the last page is kept in any case."""


class Catalogue(Generic[T]):
    """The items of one list, by name.

    On the server side the list comes from the server's own handler, on the client side from a request. It is fetched
    again after a change was announced and, on the server side, also for an unknown name, so that a tool is never called
    unchecked because a change was not announced.

    Args:
        area: ``tools`` or ``prompts``.
        read: extracts what is remembered of an item.
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
        """Learn a page of the list."""
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
        """Mark the list as changed."""
        self._items.clear()
        self._size = 0
        self._is_complete = False

    def get(self, name: str) -> T | None:
        """Return what is known of an item, without requesting the list."""
        found = self._items.get(name)
        return found[0] if found is not None else None

    async def find(self, exchange: Exchange, name: str) -> T | None:
        """Return what is known of the item that a message names, None if it does not exist.

        Errors of fetching the list are raised.
        """
        if name not in self._items and not self._is_known_to_be_absent(exchange):
            async with self._lock:
                if name not in self._items and not self._is_known_to_be_absent(exchange):
                    await self._ask(exchange)
        return self.get(name)

    def _is_known_to_be_absent(self, exchange: Exchange) -> bool:
        # A server's own list may change unannounced and costs only a call; a peer's costs a request each time.
        return self._is_complete and exchange.connection.side is Side.CLIENT

    async def _ask(self, exchange: Exchange) -> None:
        binding = exchange.requester.binding
        method = binding.methods.get(self.list_method) if binding is not None else None
        if not isinstance(method, RequestMethod) or method.params is None:
            return
        self._is_complete = True
        try:
            await read_pages(exchange, method, self.learn)
        except BaseException:
            # An item that was not listed is unknown, not absent.
            self._is_complete = False
            raise
