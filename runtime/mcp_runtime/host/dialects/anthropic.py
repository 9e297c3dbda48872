"""Tools for Anthropic's models, which take JSON Schema as it is, but for the top and the names of properties."""

from typing import Any, Final

from mcp_runtime.host.dialects.dialect import CONSTRAINTS, Dialect, Image, Lowered

RULES: Final = Dialect(
    name="Anthropic",
    source="https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use",
    date="2026-11-23",
    keywords={"object": CONSTRAINTS - {"not", "if", "then", "else", "$dynamicRef", "$recursiveRef"}},
    is_verbatim=True,
)

IMAGES: Final = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))
"""The media types of images that results may have."""


def tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a tool as the Messages API takes it."""
    return {"name": name, "description": description, "input_schema": found.schema}


def block(piece: str | Image) -> dict[str, Any]:
    """Return a part of a result as a block."""
    if isinstance(piece, str):
        return {"type": "text", "text": piece}
    source = {"type": "base64", "media_type": piece.media_type, "data": piece.data}
    return {"type": "image", "source": source}


def result(id_: str, blocks: list[dict[str, Any]], *, is_error: bool) -> dict[str, Any]:
    """Return the answer to a ``tool_use`` block."""
    return {"type": "tool_result", "tool_use_id": id_, "content": blocks, "is_error": is_error}
