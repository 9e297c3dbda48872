"""Binary content (images, audio, blobs) is base64 (RFC 4648, section 4): the format ``byte`` in the schemas.

It is checked when sent, not when received: our own mistakes must not reach a peer, and a peer's are not ours.
"""

from binascii import a2b_base64
from typing import Any, Final, TypeAlias

Bytes: TypeAlias = bytes
"""The alias of bytes in generated models that have a property of that name."""

BINARY: Final = ("data", "blob")
"""The properties that contain base64, in objects where they are strings."""
CONTENT: Final = ("content", "contents", "messages", "resource")
"""The fields in which messages hold such objects."""
LONG: Final = 1 << 12
"""For a string of more characters `json.text.write_long` pays off."""
ADVICE: Final = "not base64; base64.b64encode(data).decode() makes it"

_ALPHABET: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_PADDING: Final = (b"", b"=", b"==")


def is_base64(text: str) -> bool:
    """Whether a text is base64, with padding and without separators."""
    if len(text) % 4 or not text.isascii():
        return False
    rest = text.encode().translate(None, _ALPHABET)
    return rest in _PADDING and text.endswith(rest.decode())


def decoded(text: str) -> bytes:
    """Decode base64.

    Raises:
        ValueError: it is not base64.
    """
    if not is_base64(text):
        raise ValueError("not base64")
    return a2b_base64(text)


def may_hold_binary(kind: type) -> bool:
    """Whether objects of a class may contain binary content."""
    return kind not in PLAIN and any(_parts(kind))


def wrong_binary(value: Any) -> list[str | int] | None:
    """Return the path of the first binary content in a model that is not base64, or None."""
    kind = value.__class__
    if kind in PLAIN:
        return None
    binary, inner = _parts(kind)
    for name in binary:
        text = getattr(value, name, None)
        if isinstance(text, str) and not is_base64(text):
            return [name]
    for name in inner:
        held: Any = getattr(value, name, None)
        is_list = held.__class__ is list
        for index, item in enumerate(held if is_list else (held,)):
            if (found := wrong_binary(item)) is not None:
                return [name, index, *found] if is_list else [name, *found]
    return None


_PARTS: Final[dict[type, tuple[tuple[str, ...], tuple[str, ...]]]] = {}
PLAIN: Final[set[type]] = set()
"""Classes whose objects contain no binary content."""
_MAX_CLASSES: Final = 1000


def content_lists(kind: type) -> tuple[str, ...]:
    """Return the only field of a class with content, if it is a list; otherwise nothing."""
    binary, inner = _parts(kind)
    if binary or len(inner) != 1:
        return ()
    annotation: Any = getattr(kind, "__pydantic_fields__", {})[inner[0]].annotation
    return inner if getattr(annotation, "__origin__", None) is list else ()


def has_long_binary(block: object) -> bool:
    """Whether the base64 of a content block is longer than `LONG`."""
    held = (getattr(block, name, None) for name in BINARY)
    return any(isinstance(text, str) and len(text) > LONG for text in held)


def _parts(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields of a class that contain base64, and those that hold objects which may."""
    found = _PARTS.get(kind)
    if found is None:
        fields: dict[str, Any] = getattr(kind, "__pydantic_fields__", {})
        binary = tuple(name for name in BINARY if name in fields and fields[name].annotation is str)
        found = binary, tuple(name for name in CONTENT if name in fields)
        if len(_PARTS) + len(PLAIN) < _MAX_CLASSES:
            if any(found):
                _PARTS[kind] = found
            else:
                PLAIN.add(kind)
    return found
