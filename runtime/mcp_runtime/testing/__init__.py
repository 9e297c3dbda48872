"""Testing servers: a client in the same process, what it received, its scripted answers, and an observer."""

from mcp_runtime.observe.observer import Finding, Observer
from mcp_runtime.testing.connect import Served, connect
from mcp_runtime.testing.heard import Heard, received
from mcp_runtime.testing.issuer import Issuer

__all__ = ["Finding", "Heard", "Issuer", "Observer", "Served", "connect", "received"]
