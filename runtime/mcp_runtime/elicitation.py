"""Ask the user of a client to fill in a form."""

from mcp_runtime.features.elicitation.form import Action, FormAnswer, ask_form

__all__ = ["Action", "FormAnswer", "ask_form"]
