"""Listen for changes at a server, across its restarts."""

from mcp_runtime.features.listen import Change, Subscription
from mcp_runtime.features.listen_again import listening

__all__ = ["Change", "Subscription", "listening"]
