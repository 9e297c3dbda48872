"""Which sealed states were used, in Redis."""

import secrets
import time
from typing import TYPE_CHECKING, Any

from mcp_runtime.redis.keys import Keys

if TYPE_CHECKING:
    from redis.asyncio import Redis


class RedisSpentStates:
    """Remembers used states for all processes that share a Redis, each until it expires.

    The Redis must not evict keys (``maxmemory-policy noeviction``), and must keep them when it starts again
    (``appendonly yes``): a state that it forgot can be used once more.

    Args:
        redis: the client.
        prefix: how keys begin.

    Raises:
        ValueError: the prefix is empty, or the client decodes what it reads.
    """

    def __init__(self, redis: "Redis", *, prefix: str = "mcp") -> None:
        self._redis: Any = redis
        self._key = Keys(redis, prefix)

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time. See `SpentStates.spend`.

        Raises:
            redis.RedisError: Redis is away or full.
        """
        key, own = self._key("spent", state), secrets.token_bytes(8)
        milliseconds = max(1, int((until - time.time()) * 1000) + 1)
        if await self._redis.set(key, own, nx=True, px=milliseconds):
            return True
        # The client sends a command again if the connection broke before its answer: then this use is the known one.
        found: bytes | None = await self._redis.get(key)
        return found == own
