"""A client's cache of results, for as long as the server allows (2026-07-28, server/utilities/caching)."""

import json
from collections import OrderedDict
from typing import Any, Final
from weakref import WeakKeyDictionary

from mcp_runtime.core import sources
from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.method import RequestMethod
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.protocol import names

__all__ = ["ResultCache"]

MAX_RESULTS: Final = 1_000
"""How many results are cached per connection."""


class ResultCache:
    """Answers a client's requests with cached results that are still fresh; for 2026-07-28 and later.

    Results are cached per connection, method and params, so private ones are never shared. A result is dropped when the
    server reports that the list or the resource has changed, and all pages of a list when one of them fails. Results
    that needed input from the client are not cached. Use it as middleware of a client:
    ``ClientOptions(middleware=(ResultCache(),))``.

    Attributes:
        hits: how many requests were answered from the cache.
    """

    def __init__(self) -> None:
        self.hits = 0
        self._kept: WeakKeyDictionary[Connection, _Kept] = WeakKeyDictionary()

    async def __call__(self, exchange: Exchange, proceed: Proceed) -> Any:
        """Answer a request from the cache, or pass it on and cache its result.

        Args:
            exchange: the message.
            proceed: passes the message on.
        """
        kept = self._kept.setdefault(exchange.connection, _Kept())
        method = exchange.method
        if exchange.way is Way.RECEIVED:
            kept.learn(method.name, exchange.params)
            return await proceed()
        if not isinstance(method, RequestMethod) or not method.cacheable or not isinstance(exchange.params, WireModel):
            return await proceed()
        key = _key(exchange.params)
        found = kept.get(method.name, key)
        if found is not None:
            self.hits += 1
            return found.model_copy(deep=True)
        changes = kept.changes
        try:
            result = await proceed()
        except PeerError:
            kept.forget(method.name)
            raise
        # If something changed while the answer was on its way, the result may be outdated.
        if changes == kept.changes and isinstance(result, WireModel):
            kept.put(method.name, key, result)
        return result


class _Kept:
    """The cached results of one connection."""

    def __init__(self) -> None:
        self.changes = 0
        self._results: OrderedDict[tuple[str, str], tuple[float, WireModel]] = OrderedDict()

    def get(self, method: str, key: str) -> WireModel | None:
        """Return a result that is still fresh, or None."""
        until, result = self._results.get((method, key), (0.0, None))
        return result if sources.now() < until else None

    def put(self, method: str, key: str, result: WireModel) -> None:
        """Cache a result for as long as it says."""
        seconds = getattr(result, "ttl_ms", 0) / 1000
        if seconds > 0:
            self._results[method, key] = sources.now() + seconds, result.model_copy(deep=True)
            while len(self._results) > MAX_RESULTS:
                self._results.popitem(last=False)

    def forget(self, method: str, uri: str | None = None) -> None:
        """Drop the results of a method, or those of one resource and its parts."""
        self.changes += 1
        for name, key in [*self._results]:
            if name == method and (uri is None or _is_part(json.loads(key).get("uri"), uri)):
                del self._results[name, key]

    def learn(self, name: str, params: Any) -> None:
        """Drop what a notification reports as changed."""
        for area in names.AREAS:
            if name == names.list_changed(area):
                self.forget(names.listing(area))
        if name == names.list_changed("resources"):
            self.forget(names.RESOURCES_TEMPLATES_LIST)
        if name == names.NOTIFICATIONS_RESOURCES_UPDATED:
            self.forget(names.RESOURCES_READ, getattr(params, "uri", None))


def _is_part(uri: object, of: str) -> bool:
    """Whether two URIs are equal or one contains the other, so that a change of one may affect both."""
    return isinstance(uri, str) and (uri == of or uri.startswith(f"{of}/") or of.startswith(f"{uri}/"))


def _key(params: WireModel) -> str:
    """Return the part of params that the result depends on: all but the information on the sender."""
    value = params.model_dump(mode="json", exclude={"meta"})
    return json.dumps(value, sort_keys=True)
