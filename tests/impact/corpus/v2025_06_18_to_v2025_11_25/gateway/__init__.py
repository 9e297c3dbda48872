"""A gateway between clients and one server."""

from .protocol import Client, Elicitation, Server, TextContent  # impact: definition-name-reused, definition-renamed

__all__ = ["Client", "Elicitation", "Server", "TextContent"]  # impact: definition-name-reused, definition-renamed
