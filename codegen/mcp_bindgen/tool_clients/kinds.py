"""What a schema says for people: its default and its description."""

import json

from mcp_bindgen.json_values import is_object

MAX_DESCRIPTION = 4_000
"""How much of a description becomes documentation, in characters."""


def default(schema: object) -> str:
    """Return the default of a property, as JSON; empty if its schema has none."""
    return json.dumps(schema["default"]) if is_object(schema) and "default" in schema else ""


def description(schema: object) -> str:
    """Return the description in a schema; may be empty."""
    found = schema.get("description") if is_object(schema) else None
    return found.strip()[:MAX_DESCRIPTION] if isinstance(found, str) else ""
