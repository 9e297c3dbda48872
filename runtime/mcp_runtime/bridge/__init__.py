"""One implementation, peers of several revisions: what is written against one revision's types talks to the others."""

from mcp_runtime.bridge.policy import Action, Bridging, Loss, MissingInRevision, NotExpressible
from mcp_runtime.bridge.server import BridgedServer, bridge

__all__ = ["Action", "BridgedServer", "Bridging", "Loss", "MissingInRevision", "NotExpressible", "bridge"]
