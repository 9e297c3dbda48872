"""Converts return values to content: text, content blocks of the revision, and any JSON value."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, cast

from mcp_runtime.app.media import Media
from mcp_runtime.app.schemas import text_of
from mcp_runtime.core.binding import Binding
from mcp_runtime.core.json.values import is_array, is_object
from mcp_runtime.core.model import WireModel
from mcp_runtime.core.protocol.names import RESOURCES_READ
from mcp_runtime.core.protocol.uris import canonical


def is_content(annotation: Any) -> bool:
    """Whether a type belongs to the protocol, so that its values are sent as they are."""
    return isinstance(annotation, type) and issubclass(annotation, WireModel | Media)


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
        if any(isinstance(item, WireModel | Media | str) for item in items):
            return [block_of(item) for item in items]
    return [block_of(value)]


def block_of(value: Any) -> Any:
    """Return one content block for a value.

    Raises:
        ValueError: JSON cannot express the value.
    """
    if isinstance(value, WireModel | Media):
        return value.block if isinstance(value, Media) else value
    return text_block(value if isinstance(value, str) else text_of(value))


def text_block(text: str) -> Mapping[str, Any]:
    """Return a text block, keyed by wire names."""
    return {"type": "text", "text": text}


def contents(
    binding: Binding, uri: str, value: Any, mime_type: str | None, meta: Mapping[str, Any] | None = None
) -> Any:
    """Return the result of reading a resource: text, bytes, contents of the revision, or any JSON value.

    Args:
        binding: the revision.
        uri: the URI as the client spells it; contents that spell it differently get this one.
        value: the return value.
        mime_type: the media type, unless the value has one.
        meta: the metadata of the resource, for contents that have none of their own.

    Raises:
        ValueError: JSON cannot express the value.
    """
    method: Any = binding.methods[RESOURCES_READ]
    result: type[Any] = method.result.load()
    if is_result(value, result):
        items: Any = getattr(value, "contents", None)
        return value if items is None else value.model_copy(update={"contents": _addressed(items, uri, meta)})
    if isinstance(value, WireModel):
        value = [value]
    if is_array(value) and value and all(isinstance(item, WireModel) for item in value):
        return result(contents=_addressed(value, uri, meta))
    said: dict[str, Any] = {"uri": uri} if meta is None else {"uri": uri, "_meta": meta}
    if isinstance(value, Media):
        value, mime_type = value.data, mime_type or value.mime_type
    if isinstance(value, bytes):
        said |= {"mimeType": mime_type or "application/octet-stream", "blob": b64encode(value).decode()}
    elif isinstance(value, str):
        said |= {"mimeType": mime_type or "text/plain", "text": value}
    else:
        said |= {"mimeType": mime_type or "application/json", "text": text_of(value)}
    return result(contents=[said])


def _addressed(items: list[Any], uri: str, meta: Mapping[str, Any] | None) -> list[Any]:
    """Return contents of a resource, those of its own URI as the client spells it and with its metadata."""
    own = canonical(uri)
    return [_changed(item, uri, meta) if canonical(getattr(item, "uri", "")) == own else item for item in items]


def _changed(item: Any, uri: str, meta: Mapping[str, Any] | None) -> Any:
    update: dict[str, Any] = {} if item.uri == uri else {"uri": uri}
    if meta is not None and getattr(item, "meta", None) is None:
        update["meta"] = meta
    return item.model_copy(update=update) if update else item


def half_character(value: Any, path: str = "") -> str:
    """Say where a value has text with half a character (a surrogate), which UTF-8 cannot encode; empty if nowhere."""
    if isinstance(value, str):
        try:
            if not value.isascii():
                value.encode()
        except UnicodeEncodeError as error:
            return f"{path or 'it'} has {value[error.start]!a}"
        return ""
    inner: Any = ()
    if isinstance(value, WireModel):
        inner = [(f".{name}", each) for name, each in value]
    elif is_object(value):
        inner = [(f"[{name!a}]", each) for item in value.items() for name, each in ((item[0], item[0]), item)]
    elif isinstance(value, list | tuple):
        inner = [(f"[{place}]", each) for place, each in enumerate(cast("list[Any]", value))]
    return next((said for step, each in inner if (said := half_character(each, path + step))), "")
