"""State shared by the processes of one server, stored in Redis. Needs the extra ``mcp-bindgen[redis]``."""

from mcp_runtime.redis.events import RedisEventStore
from mcp_runtime.redis.fan_out import RedisFanOut
from mcp_runtime.redis.spent import RedisSpentStates

__all__ = ["RedisEventStore", "RedisFanOut", "RedisSpentStates"]
