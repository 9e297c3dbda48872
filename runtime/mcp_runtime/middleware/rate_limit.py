"""A rate limit per method and peer: a token bucket that refuses or delays excess messages."""

import asyncio
from collections.abc import Callable, Collection, Hashable
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from mcp_runtime.core.connection.calls import Proceed, Way
from mcp_runtime.core.connection.connection import Connection, Exchange
from mcp_runtime.core.connection.timers import TokenBucket
from mcp_runtime.core.errors import PeerError
from mcp_runtime.core.method import RequestMethod

__all__ = ["RATE_LIMITED", "RateLimit", "RateLimited"]

RATE_LIMITED: Final = 429
"""The error code of refused requests: application-defined, outside the ranges reserved by JSON-RPC and MCP."""


class RateLimited(PeerError):
    """A request exceeded the rate limit; for the parameters see `PeerError`.

    Attributes:
        retry_after: seconds after which it would be accepted.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.retry_after: float = data["retryAfter"] if isinstance(data, dict) else 0.0


_Buckets: TypeAlias = dict[tuple[Way, str], TokenBucket]

_MAX_PEERS: Final = 10_000
"""How many peers are remembered if the program distinguishes them itself."""


class RateLimit:
    """Limits how often each method is called, by each peer or by all together (server/tools, Security Considerations).

    Requests over the limit are refused with error code 429, and ``data.retryAfter`` says in how many seconds to try
    again; with `wait` they are delayed instead. Notifications over the limit are dropped, since they have no answer.

    Args:
        rate: messages per second for each method.
        burst: how many messages may arrive at once after a pause.
        methods: the methods to limit; None for all.
        wait: whether to delay messages rather than refuse them.
        max_wait: the maximum delay in seconds; a message that would have to wait longer is refused.
        ways: which directions to limit: received messages, sent ones, or both.
        per: ``peer`` to count each peer separately, ``process`` to count all connections of this limit together.
        peer: returns a key that identifies the peer; by default the principal or the address from the
            transport (`Requester.peer`), or else the connection.
        code: the error code of refused requests.

    Attributes:
        refused: how many messages were refused or dropped so far.

    Raises:
        ValueError: the rate is not positive, the burst is below 1, or `per` has another value.
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
            raise ValueError('a rate limit takes per="peer", optionally with peer=, or per="process"')
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
        """Pass a message on, now or later, or refuse it.

        Args:
            exchange: the message.
            proceed: passes the message on.

        Raises:
            RateLimited: the request is over the limit.
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
        bucket.tokens -= 1
        if delay > 0:
            try:
                await asyncio.sleep(delay)
            except asyncio.CancelledError:
                bucket.tokens += 1
                raise
        return await proceed()

    def _bucket(self, exchange: Exchange, now: float) -> TokenBucket:
        buckets: _Buckets
        peer = exchange.requester.peer if self._peer is None else self._peer(exchange)
        if self._peer is None and peer is None:
            buckets = self._by_connection.setdefault(exchange.connection, {})
        else:
            buckets = self._shared(peer, now)
        # Methods come from the method table and from handlers, so a peer cannot invent new ones.
        return buckets.setdefault((exchange.way, exchange.method.name), TokenBucket(self._rate, self._burst, now))

    def _shared(self, peer: Hashable, now: float) -> _Buckets:
        """Return the buckets of a peer, after discarding the full buckets of other peers."""
        if peer not in self._by_peer and len(self._by_peer) >= _MAX_PEERS:
            idle = [key for key, buckets in self._by_peer.items() if all(_is_full(b, now) for b in buckets.values())]
            for key in idle or list(self._by_peer)[: _MAX_PEERS // 10]:
                del self._by_peer[key]
        return self._by_peer.setdefault(peer, {})


def _is_full(bucket: TokenBucket, now: float) -> bool:
    """Whether a bucket is full, as after a long pause."""
    bucket.delay(now)
    return bucket.tokens >= bucket.burst


def _everybody(exchange: Exchange) -> None:
    """Treat all peers as one."""
