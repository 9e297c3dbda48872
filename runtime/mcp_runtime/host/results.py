"""The result of a call as a model reads it: text, and images where its provider takes them."""

import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcp_runtime.core.json.values import is_object
from mcp_runtime.host.dialects import anthropic, gemini, openai
from mcp_runtime.host.dialects.dialect import Image

MAX_TEXT: Final = 100_000
"""The longest text of a result that a model gets, in characters, unless the caller says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResult:
    """The outcome of a call, for a model.

    Attributes:
        name: the name that the model called.
        is_error: whether it failed: at the tool, on the way, or because it was refused.
        refusal: why there is no result, for the model; empty if there is one.
        error: the error behind that, or None.
        result: the result in the type of the client's revision, or None.
    """

    name: str
    is_error: bool
    refusal: str = ""
    error: Exception | None = field(default=None, repr=False)
    result: Any = field(default=None, repr=False)

    @property
    def content(self) -> Sequence[Mapping[str, Any]]:
        """The content blocks, keyed by wire names; the structured content as text, if that is all there is."""
        if self.result is None:
            return ({"type": "text", "text": self.refusal},)
        found: dict[str, Any] = self.result.model_dump(mode="json")
        blocks: list[dict[str, Any]] = found.get("content") or []
        says_nothing = all(block.get("type") == "text" and not block["text"].strip() for block in blocks)
        if "structuredContent" not in found or not says_nothing:
            return blocks
        return ({"type": "text", "text": json.dumps(found["structuredContent"], ensure_ascii=False)},)

    def text(self, limit: int = MAX_TEXT) -> str:
        """Return the content as text, with a note if it was cut.

        Args:
            limit: the longest text, in characters.
        """
        return _cut("\n".join(map(_text, self.content)), limit)

    def for_openai(
        self, call_id: str, limit: int = MAX_TEXT, *, api: Literal["responses", "chat"] = "responses"
    ) -> dict[str, Any]:
        """Return the answer to a ``function_call`` of the Responses API, or to a tool call of the Chat Completions API.

        Images stay images in the Responses API; the other one takes only text.

        Args:
            call_id: the id of the call.
            limit: how long texts and images may be in all, in characters.
            api: the API.
        """
        if api == "chat":
            return openai.chat_result(call_id, self.text(limit))
        pieces = list(self._pieces(limit, openai.IMAGES))
        if any(isinstance(piece, Image) for piece in pieces):
            return openai.result(call_id, [openai.block(piece) for piece in pieces])
        return openai.result(call_id, self.text(limit))

    def for_anthropic(self, tool_use_id: str, limit: int = MAX_TEXT) -> dict[str, Any]:
        """Return the answer to a ``tool_use`` block; images stay images.

        Args:
            tool_use_id: the id of the block.
            limit: how long texts and images may be in all, in characters.
        """
        blocks = [anthropic.block(piece) for piece in self._pieces(limit, anthropic.IMAGES)]
        return anthropic.result(tool_use_id, blocks, is_error=self.is_error)

    def for_gemini(self, limit: int = MAX_TEXT, *, images: bool = True) -> dict[str, Any]:
        """Return the answer to a ``functionCall``.

        Args:
            limit: how long texts and images may be in all, in characters.
            images: whether images stay images, which models before Gemini 3 do not take.
        """
        pieces = list(self._pieces(limit, gemini.IMAGES if images else frozenset()))
        shown = [piece for piece in pieces if isinstance(piece, Image)]
        text = "\n".join(piece for piece in pieces if isinstance(piece, str)) if shown else self.text(limit)
        return gemini.result(self.name, text, shown, is_error=self.is_error)

    def _pieces(self, limit: int, types: frozenset[str]) -> Iterator[str | Image]:
        """Iterate over the content: images of some media types, and everything else as text."""
        for content in self.content:
            image = _image(content)
            if image is not None and image.media_type in types and len(image.data) <= limit:
                limit -= len(image.data)
                yield image
            else:
                text = _cut(_text(content), limit)
                limit = max(0, limit - len(text))
                yield text


def _image(content: Mapping[str, Any]) -> Image | None:
    """Return an image, embedded or not; None for other content, and for what is not base64, which providers refuse."""
    inner = content.get("resource")
    holder, data = (inner, inner.get("blob")) if is_object(inner) else (content, content.get("data"))
    if not isinstance(data, str) or not data:
        return None
    try:
        binascii.a2b_base64(data, strict_mode=True)
    except ValueError:
        return None
    return Image(str(holder.get("mimeType", "")).partition(";")[0].strip().lower(), data)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n[cut: {limit:,} of {len(text):,} characters]"


def _text(content: Mapping[str, Any]) -> str:
    """Return a content block as text; binary content and links are described."""
    inner = content.get("resource")
    held: Mapping[str, Any] = inner if is_object(inner) else content
    if isinstance(text := held.get("text"), str):
        return text
    data = held.get("data", held.get("blob"))
    about = [held.get("title"), held.get("description"), held.get("mimeType")]
    if isinstance(data, str):
        about.append(f"{len(data):,} characters of base64")
    elif isinstance(size := held.get("size"), int):
        about.append(f"{size:,} bytes")
    words = " ".join(word for word in (held.get("name"), held.get("uri")) if isinstance(word, str))
    more = "; ".join(word for word in about if isinstance(word, str) and word)
    found = f"{words} ({more})" if words and more else words or more
    return f"[{str(content.get('type', 'content')).replace('_', ' ')}{found and ': '}{found}]"
