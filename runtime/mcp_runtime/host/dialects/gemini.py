"""Tools for Gemini: function declarations, whose schemas are a subset of OpenAPI 3.0 without references."""

from typing import Any, Final

from mcp_runtime.host.dialects.dialect import Dialect, Lowered

_NUMBER: Final = frozenset(("minimum", "maximum"))

RULES: Final = Dialect(
    name="Gemini",
    source="https://ai.google.dev/api/caching#Schema",
    date="2026-11-23",
    keywords={
        "string": frozenset(("minLength", "maxLength", "pattern", "format")),
        "integer": _NUMBER,
        "number": _NUMBER,
        "array": frozenset(("minItems", "maxItems")),
        "object": frozenset(("minProperties", "maxProperties")),
    },
    formats=frozenset(("date-time",)),
    null="nullable",
    has_any=True,
)


def tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a function declaration; one without arguments has no parameters, since an object must have properties."""
    parameters = {"parameters": found.schema} if found.schema.get("properties") else {}
    return {"name": name, "description": description, **parameters}


def result(name: str, text: str, *, is_error: bool) -> dict[str, Any]:
    """Return the answer to a ``functionCall``."""
    return {"functionResponse": {"name": name, "response": {"error" if is_error else "output": text}}}
