"""Tools for OpenAI's models: function tools of the Responses API, strict where a schema allows it."""

from dataclasses import replace
from typing import Any, Final

from mcp_runtime.host.dialects import anthropic
from mcp_runtime.host.dialects.dialect import Dialect, Image, Lowered

_NUMBER: Final = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))

STRICT: Final = Dialect(
    name="OpenAI strict",
    source="https://platform.openai.com/docs/guides/structured-outputs#supported-schemas",
    date="2026-11-23",
    keywords={
        "string": frozenset(("pattern", "format")),
        "integer": _NUMBER,
        "number": _NUMBER,
        "array": frozenset(("minItems", "maxItems")),
    },
    formats=frozenset("date-time time date duration email hostname ipv4 ipv6 uuid".split()),
    enums=frozenset(("string", "integer", "number", "boolean")),
    has_references=True,
    is_closed=True,
    max_depth=10,
    max_properties=5_000,
    max_enum=1_000,
)
LOOSE: Final = replace(
    anthropic.RULES,
    name="OpenAI",
    source="https://platform.openai.com/docs/guides/function-calling",
    needs_items=True,
)

IMAGES: Final = anthropic.IMAGES
"""The media types of images that results may have, except in the Chat Completions API."""


def tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a tool as the Responses API takes it."""
    shape = {"parameters": found.schema, "strict": found.is_strict}
    return {"type": "function", "name": name, "description": description, **shape}


def chat_tool(name: str, description: str, found: Lowered) -> dict[str, Any]:
    """Return a tool as the Chat Completions API takes it."""
    written = tool(name, description, found)
    return {"type": written.pop("type"), "function": written}


def block(piece: str | Image) -> dict[str, Any]:
    """Return a part of a result as an item of its output."""
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    return {"type": "input_image", "image_url": f"data:{piece.media_type};base64,{piece.data}"}


def result(id_: str, output: str | list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer to a ``function_call``."""
    return {"type": "function_call_output", "call_id": id_, "output": output}


def chat_result(id_: str, text: str) -> dict[str, Any]:
    """Return the answer to a tool call of the Chat Completions API."""
    return {"role": "tool", "tool_call_id": id_, "content": text}
