"""Testing servers: a client in the same process, what it received, and its scripted answers."""

from mcp_runtime.testing.connect import Served, connect
from mcp_runtime.testing.heard import Heard, heard_by
from mcp_runtime.testing.issuer import Issuer

__all__ = ["Heard", "Issuer", "Served", "connect", "heard_by"]
