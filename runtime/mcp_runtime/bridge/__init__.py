"""Bridging: an implementation written against one revision's types talks to peers of other revisions."""

from mcp_runtime.binding import BridgedServer
from mcp_runtime.bridge.bridges import Bridging, bridge
from mcp_runtime.bridge.policy import Action, Loss, MissingInRevision, NotExpressible

__all__ = ["Action", "BridgedServer", "Bridging", "Loss", "MissingInRevision", "NotExpressible", "bridge"]
