"""What the gateway takes from the bindings."""

from mcp_bindings.v2025_11_25 import *  # noqa: F403
