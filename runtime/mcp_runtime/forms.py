"""Which fields a form may have, and whether an answer matches it."""

from mcp_runtime.features.elicitation.forms import Form, choices, defaults, problems
from mcp_runtime.protocol.json_schema import UnusableSchema

__all__ = ["Form", "UnusableSchema", "choices", "defaults", "problems"]
