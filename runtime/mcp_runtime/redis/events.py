"""An event store in Redis."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.redis.keys import Keys
from mcp_runtime.transports.http.events import Event

if TYPE_CHECKING:
    from redis.asyncio import Redis

PAGE: Final = 100
"""How many events are read at once."""
OVERHEAD: Final = 100
"""How many bytes an event counts in addition to its message."""
APPEND: Final = """
local events, order, limit, overhead = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[3])
if math.max(redis.call('HLEN', events), 1) - 1 ~= redis.call('LLEN', order) then
  redis.call('DEL', events, order)
end
local size = tonumber(redis.call('HGET', events, 'size') or '0')
for i = 4, #ARGV, 2 do
  if redis.call('HSETNX', events, ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('RPUSH', order, ARGV[i])
    size = size + #ARGV[i + 1] + overhead
  end
end
while size > limit do
  local oldest = redis.call('LPOP', order)
  size = size - redis.call('HSTRLEN', events, oldest) - overhead
  redis.call('HDEL', events, oldest)
end
redis.call('HSET', events, 'size', size)
redis.call('PEXPIRE', events, ARGV[2])
redis.call('PEXPIRE', order, ARGV[2])
"""
"""Appends events of one session, and drops its oldest ones, atomically in Redis.

It keeps a hash of the messages, and a list of their names in the order in which they arrived. Events are never appended
twice. If Redis has evicted one of the two, the other one is deleted as well.
"""


class RedisEventStore:
    """Stores the newest events of each session in Redis; it implements `EventStore`.

    Args:
        redis: the client.
        prefix: the prefix of all keys.
        max_session_bytes: how many bytes are stored per session, counting 100 for each event in addition to its
            message.
        max_age: seconds for which the events of a session are stored after the last of them.

    Raises:
        ValueError: the prefix is empty, or the client decodes responses.
    """

    def __init__(
        self, redis: "Redis", *, prefix: str = "mcp", max_session_bytes: int = 4 << 20, max_age: float = 300.0
    ) -> None:
        self._redis: Any = redis
        self._key = Keys(redis, prefix)
        self._max_session_bytes = max_session_bytes
        self._max_age = max_age

    async def append(self, events: Sequence[Event]) -> None:
        """Store messages, and drop the oldest ones of their sessions beyond the limits; see `EventStore.append`.

        Raises:
            redis.RedisError: Redis is unavailable or full.
        """
        by_session: dict[str, list[str | bytes]] = {}
        for session, stream, number, message in events:
            by_session.setdefault(session, []).extend((f"{stream}-{number}", message))
        limits = (self._max_session_bytes, int(self._max_age * 1000), OVERHEAD)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for session, items in by_session.items():
                pipeline.eval(APPEND, 2, *self._keys(session), *limits, *items)
            await pipeline.execute()

    async def after(self, session: str, stream: int, number: int) -> Sequence[tuple[int, bytes]] | None:
        """Return the later messages of a stream; see `EventStore.after`.

        Raises:
            redis.RedisError: Redis is unavailable.
        """
        events, _ = self._keys(session)
        found: list[tuple[int, bytes]] = []
        size = 0
        while size <= self._max_session_bytes:
            start = number + len(found) + 1
            names = [f"{stream}-{each}" for each in range(start, start + PAGE)]
            messages: list[bytes | None] = await self._redis.hmget(events, names)
            for each, message in enumerate(messages, start):
                if message is None:
                    return found or None
                found.append((each, message))
                size += len(message)
        return None  # No process of this server wrote that.

    async def forget(self, session: str) -> None:
        """Delete the messages of a session; see `EventStore.forget`.

        Raises:
            redis.RedisError: Redis is unavailable.
        """
        await self._redis.unlink(*self._keys(session))

    def _keys(self, session: str) -> tuple[str, str]:
        """Return the keys of a session, whose id is a secret that Redis does not need to store."""
        digest = blake2b(session.encode(), digest_size=16).hexdigest()
        return self._key("events", digest), self._key("order", digest)
