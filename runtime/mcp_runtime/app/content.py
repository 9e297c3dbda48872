"""Converts return values to content: text, content blocks of the revision, and any JSON value."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, cast

from mcp_runtime.app.schemas import text_of
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.protocol.jsonrpc import is_array
from mcp_runtime.core.protocol.names import RESOURCES_READ


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


def contents(binding: Binding, uri: str, value: Any, mime_type: str | None) -> Any:
    """Return the result of reading a resource: text, bytes, contents of the revision, or any JSON value.

    Raises:
        ValueError: JSON cannot express the value.
    """
    method: Any = binding.methods[RESOURCES_READ]
    result: type[Any] = method.result.load()
    if is_result(value, result):
        return value
    if isinstance(value, WireModel):
        value = [value]
    if is_array(value) and value and all(isinstance(item, WireModel) for item in value):
        return result(contents=value)
    said: dict[str, Any] = {"uri": uri}
    if isinstance(value, bytes):
        said |= {"mimeType": mime_type or "application/octet-stream", "blob": b64encode(value).decode()}
    elif isinstance(value, str):
        said |= {"mimeType": mime_type or "text/plain", "text": value}
    else:
        said |= {"mimeType": mime_type or "application/json", "text": text_of(value)}
    return result(contents=[said])
