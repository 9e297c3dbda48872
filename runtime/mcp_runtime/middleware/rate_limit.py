"""A rate limit per method and peer: a token bucket that refuses, or delays, what comes too fast."""

import asyncio
from collections.abc import Callable, Collection, Hashable
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from mcp_runtime.connection.chain import Proceed
from mcp_runtime.connection.connection import Connection, Exchange
from mcp_runtime.connection.throttle import TokenBucket
from mcp_runtime.connection.work import Way
from mcp_runtime.errors import PeerError
from mcp_runtime.method import RequestMethod

__all__ = ["RATE_LIMITED", "RateLimit", "RateLimited"]

RATE_LIMITED: Final = 429
"""The error code of what is refused: an application's own, outside of what JSON-RPC and MCP keep for themselves."""


class RateLimited(PeerError):
    """A request came too soon after others.

    Attributes:
        retry_after: seconds after which it would be let through.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.retry_after: float = data["retryAfter"] if isinstance(data, dict) else 0.0


_Buckets: TypeAlias = dict[tuple[Way, str], TokenBucket]

_MAX_PEERS: Final = 10_000
"""How many peers are remembered that the program tells apart itself."""


class RateLimit:
    """Limits how often each method is called by each peer, or by all of them (server/tools, Security Considerations).

    What is over the limit is refused with the error code 429, whose ``data.retryAfter`` says in how many seconds to try
    again; with `wait` it is delayed instead. A notification that is over the limit is dropped, since nobody answers it.

    Args:
        rate: how many messages of one method per second.
        burst: how many at once, after a pause.
        methods: the methods that are limited; None for all that pass here.
        wait: whether to delay rather than to refuse.
        max_wait: seconds that a message is delayed at most; one that would have to wait for longer is refused.
        ways: whether what is received is limited, or what is sent, or both.
        per: ``peer`` to count what each peer sends, ``process`` to count what comes over all connections of this limit.
        peer: tells peers apart; by default whoever the transport says is there (`Requester.principal`), and each
            connection where it does not say.
        code: the error code of what is refused.

    Attributes:
        refused: how many messages were refused or dropped so far.

    Raises:
        ValueError: a rate is not positive, a burst is below 1, or `per` is something else.
    """

    def __init__(
        self,
        *,
        rate: float,
        burst: int = 1,
        methods: Collection[str] | None = None,
        wait: bool = False,
        max_wait: float = 30.0,
        ways: Collection[Way] = (Way.RECEIVED,),
        per: Literal["peer", "process"] = "peer",
        peer: Callable[[Exchange], Hashable] | None = None,
        code: int = RATE_LIMITED,
    ) -> None:
        if not rate > 0 or burst < 1:
            raise ValueError("a rate limit needs a positive rate and a burst of at least 1")
        if per not in ("peer", "process") or (per == "process" and peer is not None):
            raise ValueError('a rate limit is per="peer", which `peer` may tell apart, or per="process"')
        self.refused = 0
        self._rate = rate
        self._burst = burst
        self._methods = None if methods is None else frozenset(methods)
        self._max_wait = max_wait if wait else 0.0
        self._ways = frozenset(ways)
        self._peer = _everybody if per == "process" else peer
        self._code = code
        self._by_connection: WeakKeyDictionary[Connection, _Buckets] = WeakKeyDictionary()
        self._by_peer: dict[Hashable, _Buckets] = {}

    async def __call__(self, exchange: Exchange, proceed: Proceed) -> Any:
        """Let a message through, now or later, or refuse it.

        Raises:
            RateLimited: it is over the limit.
        """
        name = exchange.method.name
        if exchange.way not in self._ways or (self._methods is not None and name not in self._methods):
            return await proceed()
        now = asyncio.get_running_loop().time()
        bucket = self._bucket(exchange, now)
        delay = bucket.delay(now)
        if delay > self._max_wait:
            self.refused += 1
            if isinstance(exchange.method, RequestMethod):
                data = {"method": name, "retryAfter": round(delay, 3)}
                raise RateLimited(self._code, f"too many {name}: try again in {delay:.3g} s", data)
            return None
        bucket.take()
        if delay > 0:
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                bucket.give_back()
                raise
        return await proceed()

    def _bucket(self, exchange: Exchange, now: float) -> TokenBucket:
        buckets: _Buckets
        peer = exchange.requester.principal if self._peer is None else self._peer(exchange)
        if self._peer is None and peer is None:
            buckets = self._by_connection.setdefault(exchange.connection, {})
        else:
            buckets = self._shared(peer, now)
        # Methods come from the method table and from handlers, so a peer cannot make up new ones without end.
        return buckets.setdefault((exchange.way, exchange.method.name), TokenBucket(self._rate, self._burst, now))

    def _shared(self, peer: Hashable, now: float) -> _Buckets:
        """Return the buckets of a peer, once those of peers that are full again were thrown away."""
        if peer not in self._by_peer and len(self._by_peer) >= _MAX_PEERS:
            idle = [key for key, buckets in self._by_peer.items() if all(b.is_full(now) for b in buckets.values())]
            for key in idle or list(self._by_peer)[: _MAX_PEERS // 10]:
                del self._by_peer[key]
        return self._by_peer.setdefault(peer, {})


def _everybody(exchange: Exchange) -> None:
    """Tell no peer from another."""
