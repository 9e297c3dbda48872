"""Remembers in Redis which sealed states were used."""

import secrets
import time
from typing import TYPE_CHECKING, Any

from mcp_runtime.redis.keys import Keys

if TYPE_CHECKING:
    from redis.asyncio import Redis


class RedisSpentStates:
    """Remembers used states for all processes that share a Redis, each until it expires; it implements `SpentStates`.

    Redis must not evict keys (``maxmemory-policy noeviction``), and must persist them across restarts (``appendonly
    yes``): a forgotten state can be used again.

    Args:
        redis: the client.
        prefix: the prefix of all keys.

    Raises:
        ValueError: the prefix is empty, or the client decodes responses.
    """

    def __init__(self, redis: "Redis", *, prefix: str = "mcp") -> None:
        self._redis: Any = redis
        self._key = Keys(redis, prefix)

    async def spend(self, state: str, until: float) -> bool:
        """Mark a state as used; return whether this is the first time. See `SpentStates.spend`.

        Raises:
            redis.RedisError: Redis is unavailable or full.
        """
        key, own = self._key("spent", state), secrets.token_bytes(8)
        milliseconds = max(1, int((until - time.time()) * 1000) + 1)
        if await self._redis.set(key, own, nx=True, px=milliseconds):
            return True
        # The client repeats a command if the connection broke before its answer: then the recorded use is this one.
        found: bytes | None = await self._redis.get(key)
        return found == own
