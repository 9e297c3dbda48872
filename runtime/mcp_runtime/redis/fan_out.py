"""Changes that travel between processes by way of Redis (PUBLISH and SUBSCRIBE)."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.bounded import check_cancelled
from mcp_runtime.redis.keys import Keys

if TYPE_CHECKING:
    from redis.asyncio import Redis

TICK: Final = 0.25
"""Seconds after which a waiting connection checks its state."""


class RedisFanOut:
    """Carries messages to all processes that share a Redis channel; it implements `FanOut`. Nothing is stored.

    Args:
        redis: the client.
        prefix: the prefix of the channel's name.
        quiet: seconds without a message after which Redis is pinged. After as many without an answer, the connection
            counts as lost.

    Raises:
        ValueError: the prefix is empty, or the client decodes responses.
    """

    def __init__(self, redis: "Redis", *, prefix: str = "mcp", quiet: float = 15.0) -> None:
        self._redis: Any = redis
        self._channel = Keys(redis, prefix)("changes")
        self._quiet = quiet

    async def publish(self, message: bytes) -> None:
        """Send a message to everything that iterates over `messages`; see `FanOut.publish`.

        Raises:
            redis.RedisError: Redis is unavailable.
        """
        await self._redis.publish(self._channel, message)

    async def messages(self) -> AsyncGenerator[bytes | None]:
        """Iterate over the messages that are sent from now on; None at the beginning of each connection.

        Raises:
            redis.RedisError: Redis is unavailable.
            TimeoutError: Redis does not answer.
        """
        async with self._redis.pubsub() as connection:
            async with asyncio.timeout(self._quiet):
                await connection.subscribe(self._channel)
            silence = 0.0
            while True:
                message: dict[str, Any] | None = await connection.get_message(timeout=TICK)
                check_cancelled()
                if message is None:
                    if silence <= self._quiet < silence + TICK:
                        await connection.ping()
                    silence += TICK
                    if silence > 2 * self._quiet:
                        raise TimeoutError(f"Redis has not answered for {self._quiet:g} s")
                    continue
                silence = 0.0
                if message["type"] == "subscribe":
                    yield None
                elif message["type"] == "message":
                    yield message["data"]
