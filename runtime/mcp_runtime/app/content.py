"""Converts return values to content: text, content blocks of the revision, and any JSON value."""

from collections.abc import Mapping
from typing import Any, cast

from mcp_runtime.app.schemas import text_of
from mcp_runtime.model import WireModel


def is_content(annotation: Any) -> bool:
    """Whether a type belongs to the protocol, so that its values are sent as they are."""
    return isinstance(annotation, type) and issubclass(annotation, WireModel)


def is_result(value: Any, result: type[Any]) -> bool:
    """Whether a return value is a whole result: of the usual type, or one that asks for input (2026-07-28)."""
    return isinstance(value, result) or (isinstance(value, WireModel) and hasattr(value, "result_type"))


def blocks_of(value: Any) -> list[Any]:
    """Return the content blocks for a return value: blocks of the revision as they are, anything else as text.

    Raises:
        ValueError: JSON cannot express the value.
    """
    if value is None:
        return []
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        if any(isinstance(item, WireModel | str) for item in items):
            return [block_of(item) for item in items]
    return [block_of(value)]


def block_of(value: Any) -> Any:
    """Return one content block for a value.

    Raises:
        ValueError: JSON cannot express the value.
    """
    if isinstance(value, WireModel):
        return value
    return text_block(value if isinstance(value, str) else text_of(value))


def text_block(text: str) -> Mapping[str, Any]:
    """Return a text block, keyed by wire names."""
    return {"type": "text", "text": text}
