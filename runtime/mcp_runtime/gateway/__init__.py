"""The servers of a `Host` behind one endpoint: an App offers their tools, resources and prompts as its own."""

from mcp_runtime.gateway.mounting import mount_host

__all__ = ["mount_host"]
