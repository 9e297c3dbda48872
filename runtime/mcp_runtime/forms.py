"""What a form may ask for, and whether an answer fits it."""

from mcp_runtime.features.elicitation.forms import choices, defaults, problems

__all__ = ["choices", "defaults", "problems"]
