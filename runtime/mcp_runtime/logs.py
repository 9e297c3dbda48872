"""Send log messages to the client, from Python's `logging`."""

from mcp_runtime.features.logs import McpLogHandler

__all__ = ["McpLogHandler"]
