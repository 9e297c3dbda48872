"""Events of streams in Redis."""

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
"""How many bytes an event counts beside its message."""
APPEND: Final = """
local events, order, limit = KEYS[1], KEYS[2], tonumber(ARGV[1])
local size = tonumber(redis.call('HGET', events, 'size') or '0')
for i = 4, #ARGV, 2 do
  if redis.call('HSETNX', events, ARGV[i], ARGV[i + 1]) == 1 then
    redis.call('RPUSH', order, ARGV[i])
    size = size + #ARGV[i + 1] + tonumber(ARGV[3])
  end
end
while size > limit do
  local oldest = redis.call('LPOP', order)
  if not oldest then
    return redis.call('DEL', events)
  end
  size = size - redis.call('HSTRLEN', events, oldest) - tonumber(ARGV[3])
  redis.call('HDEL', events, oldest)
end
redis.call('HSET', events, 'size', size)
redis.call('PEXPIRE', events, ARGV[2])
redis.call('PEXPIRE', order, ARGV[2])
"""
"""Appends events of one session, and drops its oldest ones: Redis runs it as a whole.

It has a hash of the messages, and a list of their names in the order in which they came. What was appended before is
not appended again. Redis may have evicted one of the two: without a list, the hash goes as well once it is too large.
"""


class RedisEventStore:
    """Keeps events in Redis, the newest ones of each session.

    Args:
        redis: the client.
        prefix: how keys begin.
        max_session_bytes: how many bytes are kept of one session, with 100 for each event.
        max_age: for how many seconds the events of a session are kept after the last of them.

    Raises:
        ValueError: the prefix is empty, or the client decodes what it reads.
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
            redis.RedisError: Redis is away or full.
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
            redis.RedisError: Redis is away.
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
        return None  # Nobody here has written so much.

    async def forget(self, session: str) -> None:
        """Delete the messages of a session; see `EventStore.forget`.

        Raises:
            redis.RedisError: Redis is away.
        """
        await self._redis.unlink(*self._keys(session))

    def _keys(self, session: str) -> tuple[str, str]:
        """Return the keys of a session, whose id is a secret that Redis need not know."""
        digest = blake2b(session.encode(), digest_size=16).hexdigest()
        return self._key("events", digest), self._key("order", digest)
