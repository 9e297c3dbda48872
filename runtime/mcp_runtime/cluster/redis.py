"""State shared by the processes of one server, stored in Redis. Needs the extra ``mcp-bindings[redis]``."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from mcp_runtime.cluster.fan_out import FanOut, check_cancelled
from mcp_runtime.core import sources
from mcp_runtime.core.transports.http.events import Event

if TYPE_CHECKING:
    from redis.asyncio import Redis


class Keys:
    """Builds keys.

    Args:
        redis: the client that uses them.
        prefix: their prefix, followed by a colon.

    Raises:
        ValueError: the prefix is empty, or the client decodes responses.
    """

    def __init__(self, redis: "Redis", prefix: str) -> None:
        if not prefix:
            raise ValueError("prefix: name your application, so that its keys are not those of others")
        client: Any = redis  # Its types are incomplete.
        if client.get_connection_kwargs().get("decode_responses"):
            raise ValueError("redis: give a client without decode_responses, since messages are bytes")
        self._prefix = prefix

    def __call__(self, *parts: str) -> str:
        """Return a key."""
        return ":".join((self._prefix, *parts))


PAGE: Final = 100
"""How many events are read at once."""
OVERHEAD: Final = 100
"""How many bytes an event counts in addition to its message."""
APPEND: Final = """
local events, order, limit, overhead = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[3])
local names, ordered = redis.pcall('HLEN', events), redis.pcall('LLEN', order)
local known = redis.pcall('HGET', events, 'size') or '0'
local size = type(known) == 'string' and tonumber(known)
if not size or math.max(names, 1) - 1 ~= ordered then
  redis.call('DEL', events, order)
  size = 0
end
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
twice. If Redis has evicted one of the two, or another program has changed one, both are deleted.
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


TICK: Final = 0.25
"""Seconds after which a waiting connection checks its state."""


class RedisFanOut(FanOut):
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

    async def spend(self, state: str, until: float, peer: str | None = None) -> bool:
        """Mark a state as used; return whether this is the first time. See `SpentStates.spend`.

        A peer has no share: Redis bounds the memory of all.

        Raises:
            redis.RedisError: Redis is unavailable or full.
        """
        key, own = self._key("spent", state), sources.token_bytes(8)
        milliseconds = max(1, int((until - sources.wall()) * 1000) + 1)
        if await self._redis.set(key, own, nx=True, px=milliseconds):
            return True
        # The client repeats a command if the connection broke before its answer: then the recorded use is this one.
        found: bytes | None = await self._redis.get(key)
        return found == own
