"""Send the person behind a client to a web page."""

from mcp_runtime.features.elicitation.url import (
    UrlElicitation,
    UrlElicitations,
    UrlView,
    Visits,
    look_at_url,
    required_elicitations,
)

__all__ = ["UrlElicitation", "UrlElicitations", "UrlView", "Visits", "look_at_url", "required_elicitations"]
