"""What a form may ask for, and whether an answer fits it."""

from mcp_runtime.features.elicitation.forms import Form, choices, defaults, problems
from mcp_runtime.protocol.json_schema import UnusableSchema

__all__ = ["Form", "UnusableSchema", "choices", "defaults", "problems"]
