"""A message as handlers and middleware see it."""

from mcp_runtime.connection.connection import Exchange
from mcp_runtime.connection.work import Way

__all__ = ["Exchange", "Way"]
