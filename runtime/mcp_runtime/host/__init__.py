"""All servers of an agent behind one object, and their tools as a model's API takes them."""

from mcp_runtime.host import dialects
from mcp_runtime.host.catalogue import Catalogue, HostTool, ServerListing
from mcp_runtime.host.config import ConfigurationError, ServerEntry
from mcp_runtime.host.host import Host, HostFailed
from mcp_runtime.host.policy import Decision, Policy, Refused, ToolCall, allow_all, ask_unless_read_only, read_only
from mcp_runtime.host.results import HostResult
from mcp_runtime.host.servers import HostServer, ServerUnavailable
from mcp_runtime.host.skills import HostSkill
from mcp_runtime.host.views import View

__all__ = [
    "Catalogue",
    "ConfigurationError",
    "Decision",
    "Host",
    "HostFailed",
    "HostResult",
    "HostServer",
    "HostSkill",
    "HostTool",
    "Policy",
    "Refused",
    "ServerEntry",
    "ServerListing",
    "ServerUnavailable",
    "ToolCall",
    "View",
    "allow_all",
    "ask_unless_read_only",
    "dialects",
    "read_only",
]
