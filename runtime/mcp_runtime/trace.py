"""A trace of a conversation: typed, timestamped records of every message."""

from mcp_runtime.middleware.trace import Kind, Traced, Tracer

__all__ = ["Kind", "Traced", "Tracer"]
