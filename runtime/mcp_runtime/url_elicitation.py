"""Ask the user of a client to open a web page."""

from mcp_runtime.features.elicitation.url import (
    UrlElicitation,
    UrlElicitations,
    Visits,
    required_elicitations,
)
from mcp_runtime.protocol.urls import UrlView, inspect_url

__all__ = ["UrlElicitation", "UrlElicitations", "UrlView", "Visits", "inspect_url", "required_elicitations"]
