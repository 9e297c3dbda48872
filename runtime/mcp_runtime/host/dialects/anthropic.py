"""Tools for Anthropic's models, which take JSON Schema as it is, but for the top and the names of properties."""

from typing import Any, Final

from mcp_runtime.host.dialects.dialect import CONSTRAINTS, Dialect, Lowered

RULES: Final = Dialect(
    name="Anthropic",
    source="https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use",
    date="2026-11-23",
    keywords={"object": CONSTRAINTS - {"not", "if", "then", "else", "$dynamicRef", "$recursiveRef"}},
    is_verbatim=True,
)


def tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a tool as the Messages API takes it."""
    return {"name": name, "description": description, "input_schema": found.schema}


def block(content: dict[str, Any]) -> dict[str, Any] | None:
    """Return an image of a result as Anthropic's models see it; None for other content, which becomes text."""
    if content.get("type") != "image" or not isinstance(content.get("data"), str):
        return None
    source = {"type": "base64", "media_type": content.get("mimeType", ""), "data": content["data"]}
    return {"type": "image", "source": source}


def result(id_: str, blocks: list[dict[str, Any]], *, is_error: bool) -> dict[str, Any]:
    """Return the answer to a ``tool_use`` block."""
    return {"type": "tool_result", "tool_use_id": id_, "content": blocks, "is_error": is_error}
