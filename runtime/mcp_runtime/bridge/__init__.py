"""Bridging: an implementation written against one revision's types talks to peers of other revisions."""

from mcp_runtime.bridge.policy import Action, Bridging, Loss, MissingInRevision, NotExpressible
from mcp_runtime.bridge.server import BridgedServer, bridge

__all__ = ["Action", "BridgedServer", "Bridging", "Loss", "MissingInRevision", "NotExpressible", "bridge"]
