"""Tools for Gemini: function declarations, whose schemas are a subset of OpenAPI 3.0 without references."""

from collections.abc import Sequence
from typing import Any, Final

from mcp_runtime.host.dialects.dialect import Dialect, Image, Lowered

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
    has_empty_value=False,
)

IMAGES: Final = frozenset(("image/jpeg", "image/png", "image/webp"))
"""The media types of images that results may have."""


def tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a function declaration; one without arguments has no parameters, since an object must have properties."""
    parameters = {"parameters": found.schema} if found.schema.get("properties") else {}
    return {"name": name, "description": description, **parameters}


def result(name: str, text: str, images: Sequence[Image], *, is_error: bool) -> dict[str, Any]:
    """Return the answer to a ``functionCall``."""
    answer: dict[str, Any] = {"name": name, "response": {"error" if is_error else "output": text}}
    if images:
        answer["parts"] = [{"inlineData": {"mimeType": image.media_type, "data": image.data}} for image in images]
    return {"functionResponse": answer}
