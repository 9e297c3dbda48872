"""Images, audio and messages as authors write them; they become content of the revision."""

from base64 import b64encode
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Final

from mcp_runtime.app.errors import for_author

_PREFIXES: Final[Mapping[str, tuple[bytes, bytes]]] = {
    "image/png": (b"\x89PNG\r\n\x1a\n", b""),
    "image/jpeg": (b"\xff\xd8\xff", b""),
    "image/gif": (b"GIF8", b""),
    "image/webp": (b"RIFF", b"WEBP"),
    "audio/wav": (b"RIFF", b"WAVE"),
    "audio/mpeg": (b"ID3", b""),
    "audio/ogg": (b"OggS", b""),
    "audio/flac": (b"fLaC", b""),
}
"""How files begin, and what follows the four bytes after that."""


class Media:
    """A picture or a sound that a tool, a prompt or a resource returns.

    Args:
        source: its bytes, or the path of its file, which is read now.
        mime_type: its media type; by default that of its first bytes, or else of the file's name.

    Attributes:
        data: its bytes.
        mime_type: its media type.

    Raises:
        ValueError: its media type is unknown, or of another kind.
        OSError: the file cannot be read.
    """

    kind: ClassVar[str]

    def __init__(self, source: bytes | str | PathLike[str], *, mime_type: str | None = None) -> None:
        self.data = source if isinstance(source, bytes) else Path(source).read_bytes()
        found = mime_type or _type_of(self.data) or ("" if isinstance(source, bytes) else _type_of_name(source))
        if not found.startswith(f"{self.kind}/"):
            given = "bytes" if isinstance(source, bytes) else str(source)
            known = f"are {found}" if found else "have no known format"
            reason = f"{type(self).__name__}: the {given} {known}; pass mime_type='{self.kind}/...'"
            raise for_author(ValueError(reason))
        self.mime_type = found

    @property
    def block(self) -> Mapping[str, Any]:
        """The content block, keyed by wire names."""
        return {"type": self.kind, "data": b64encode(self.data).decode(), "mimeType": self.mime_type}


class Image(Media):
    """A picture, from its bytes or its file: ``return Image("chart.png")``."""

    kind = "image"


class Audio(Media):
    """A sound, from its bytes or its file: ``return Audio("answer.wav")``. Revision 2024-11-05 has none."""

    kind = "audio"


class Message:
    """A message of a prompt.

    Args:
        content: its text, a content block, an `Image` or an `Audio`.

    Attributes:
        content: its content.
    """

    role: ClassVar[str]

    def __init__(self, content: Any) -> None:
        self.content = content


class UserMessage(Message):
    """A message of the user in a prompt; a string alone is one, too."""

    role = "user"


class AssistantMessage(Message):
    """A message of the model in a prompt."""

    role = "assistant"


def _type_of(data: bytes) -> str:
    """Return the media type by the first bytes; empty if unknown."""
    for mime_type, (prefix, inner) in _PREFIXES.items():
        if data.startswith(prefix) and data[len(prefix) + 4 :].startswith(inner):
            return mime_type
    return "audio/mpeg" if data[:1] == b"\xff" and data[1:2] >= b"\xe0" else ""


def _type_of_name(path: str | PathLike[str]) -> str:
    from mimetypes import guess_type  # It reads the tables of the machine.

    return guess_type(str(path))[0] or ""
