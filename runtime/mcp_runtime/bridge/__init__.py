"""Bridging: an implementation written against one revision's types talks to peers of other revisions."""

from mcp_runtime.bridge.bridges import Bridging
from mcp_runtime.bridge.policy import Loss, LossAction, MissingInRevision, NotExpressible

__all__ = ["Bridging", "Loss", "LossAction", "MissingInRevision", "NotExpressible"]
