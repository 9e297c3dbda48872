"""Testing servers: a client in the same process, what it received, and its scripted answers."""

from mcp_runtime.testing.connect import Served, connect
from mcp_runtime.testing.heard import Heard, heard_by

__all__ = ["Heard", "Served", "connect", "heard_by"]
