"""What functions return, as content: texts, blocks of the revision, and anything that JSON can say."""

from collections.abc import Mapping
from typing import Any, cast

from mcp_runtime.app.schemas import text_of
from mcp_runtime.model import WireModel


def is_content(annotation: Any) -> bool:
    """Whether a type is one of the protocol, which is sent as it is."""
    return isinstance(annotation, type) and issubclass(annotation, WireModel)


def blocks_of(value: Any) -> list[Any]:
    """Return the blocks of content for what a function returned: those of the revision as they are, the rest as text.

    Raises:
        ValueError: JSON cannot say it.
    """
    if value is None:
        return []
    if isinstance(value, list | tuple):
        items = cast("list[Any]", value)
        if any(isinstance(item, WireModel | str) for item in items):
            return [block_of(item) for item in items]
    return [block_of(value)]


def block_of(value: Any) -> Any:
    """Return one block of content for a value.

    Raises:
        ValueError: JSON cannot say it.
    """
    if isinstance(value, WireModel):
        return value
    return text_block(value if isinstance(value, str) else text_of(value))


def text_block(text: str) -> Mapping[str, Any]:
    """Return a block of text, by wire names."""
    return {"type": "text", "text": text}
