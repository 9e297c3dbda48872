"""The keys of one application in a Redis that it may share with others."""

from typing import TYPE_CHECKING, Any

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
