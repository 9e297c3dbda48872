"""Spells arguments as parts of an HTTP request: the styles of OpenAPI for parameters, and the kinds of bodies.

A plain value is encoded by the default style of its place; `Styled` names another one. What is missing is left out.
"""

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from pydantic import MISSING, BaseModel

from mcp_runtime.app.errors import ToolFailure
from mcp_runtime.core.errors import clipped
from mcp_runtime.core.json.values import is_array, is_object

Pair = tuple[str, str]
Body = tuple[str, Any]
"""The content type of a body and its content: bytes, or for multipart the list of its parts."""

BASE64: Final = "base64"
"""The `Styled.content` of bytes, which callers send as base64."""
_RESERVED: Final = ":/?[]@!$'()*,;"
"""Reserved characters that a query may contain as they are; & = + and # would change its meaning."""
_DELIMITERS: Final[Mapping[str, str]] = {"spaceDelimited": "%20", "pipeDelimited": "%7C"}
_MULTIPART: Final = "multipart/form-data"
_FORM: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Styled:
    """A value that is not encoded by the default style of its place.

    Attributes:
        value: the value.
        style: the style of OpenAPI, such as ``deepObject``; empty for the default one.
        explode: whether items and properties are parameters of their own; None for the default of the style.
        reserved: whether reserved characters are kept, in a path the slash.
        content: ``application/json`` for a value that is sent as JSON; ``base64`` for bytes.
    """

    value: Any
    style: str = ""
    explode: bool | None = None
    reserved: bool = False
    content: str = ""


def plain(value: Any) -> Any:
    """Return a value as JSON, without what is missing."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if is_object(value):
        return {key: plain(inner) for key, inner in value.items() if inner is not MISSING}
    return [plain(inner) for inner in value] if is_array(value) else value


def in_path(name: str, given: Any) -> str:
    """Return a parameter as part of a path.

    Raises:
        ToolFailure: it would change the path: it is empty, or a segment of it is ``.`` or ``..``.
    """
    how = _styled(given)
    value = _quoted(plain(how.value), "/" if how.reserved else "")
    text = _joined(value, bool(how.explode))
    if how.style == "label":
        text = "." + _joined(value, bool(how.explode), "." if how.explode else ",")
    elif how.style == "matrix" and how.explode and not isinstance(value, str):
        text = "".join(f";{key}={inner}" for key, inner in _items(name, value))
    elif how.style == "matrix":
        text = f";{quote(name, safe='')}={text}"
    if not text or any(segment in ("", ".", "..") for segment in text.split("/")):
        raise ToolFailure(f"{name}: {clipped(_text(plain(how.value)), 100)!r} cannot be part of a path")
    return text


def in_query(name: str, given: Any) -> Iterator[Pair]:
    """Iterate over the pairs of a query, or of a form, that a parameter becomes."""
    how = _styled(given)
    raw, safe, key = plain(how.value), _RESERVED if how.reserved else "", quote(name, safe="[]")
    if how.content:
        yield key, quote(_json(raw), safe=safe)
        return
    if how.style == "deepObject":
        yield from _deep(key, raw, safe)
        return
    value = _quoted(raw, safe)
    explode = how.style in ("", "form") if how.explode is None else how.explode
    if isinstance(value, str) or not explode:
        yield key, _joined(value, False, _DELIMITERS.get(how.style, ","))
    else:
        yield from _items(key, value)


def in_header(name: str, given: Any) -> str:
    """Return a parameter as the value of a header.

    Raises:
        ToolFailure: it has a control character.
    """
    how = _styled(given)
    raw = plain(how.value)
    if how.content or not (is_array(raw) or is_object(raw)):
        text = _json(raw) if how.content else _text(raw)
    else:
        text = _joined(_each(raw, _text), bool(how.explode))
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ToolFailure(f"{name}: a header cannot contain line breaks or other control characters")
    return text.strip()


def in_cookie(name: str, given: Any) -> str:
    """Return a parameter as one pair of a Cookie header."""
    return f"{quote(name, safe='')}={quote(in_header(name, given), safe=',')}"


def json_body(value: Any, kind: str) -> Body:
    """Return a value as JSON, with its content type."""
    return kind, _json(plain(value), ascii_=False).encode("utf-8", "backslashreplace")


def form_body(fields: Mapping[str, Any]) -> Body:
    """Return the fields of a form, with its content type: an array repeats its name, and objects are JSON."""
    pairs = [pair for name, value in given_only(fields) for pair in in_query(name, _in_form(value))]
    return _FORM, "&".join(f"{key}={value}" for key, value in pairs).encode()


def multipart_body(fields: Mapping[str, Any]) -> Body:
    """Return the parts of a multipart body: files for bytes, JSON for objects, text for everything else."""
    return _MULTIPART, [part for name, value in given_only(fields) for part in _parts(name, value)]


def content_body(value: Any, kind: str) -> Body:
    """Return text, or bytes that are given as base64, with the content type."""
    how = _styled(value)
    return kind, _bytes("body", how.value) if how.content == BASE64 else _text(plain(how.value)).encode()


def given_only(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Iterate over names and values, without those that are missing."""
    return ((name, value) for name, value in values.items() if _styled(value).value is not MISSING)


def _styled(value: Any) -> Styled:
    return value if isinstance(value, Styled) else Styled(value)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return _json(value)


def _json(value: Any, *, ascii_: bool = True) -> str:
    return json.dumps(value, ensure_ascii=ascii_, separators=(",", ":"))


def _quoted(value: Any, safe: str) -> Any:
    """Return a value with all its texts percent-encoded; what is nested in it is JSON."""
    return _each(value, lambda inner: _escaped(inner, safe))


def _each(value: Any, spell: Callable[[Any], str]) -> Any:
    if is_array(value):
        return [spell(inner) for inner in value]
    if is_object(value):
        return {spell(key): spell(inner) for key, inner in value.items()}
    return spell(value)


def _escaped(value: Any, safe: str) -> str:
    return quote(_text(value).encode("utf-8", "backslashreplace"), safe=safe)


def _joined(value: Any, explode: bool, delimiter: str = ",") -> str:
    if is_object(value):
        sign = "=" if explode else delimiter
        return delimiter.join(f"{key}{sign}{inner}" for key, inner in value.items())
    return delimiter.join(value) if is_array(value) else str(value)


def _items(name: str, value: Any) -> Iterable[Pair]:
    return value.items() if is_object(value) else ((name, inner) for inner in value)


def _deep(key: str, value: Any, safe: str) -> Iterator[Pair]:
    """Iterate over the pairs of an object in brackets: ``filter[a][0]``."""
    inner: Iterable[tuple[Any, Any]] = ()
    if is_object(value):
        inner = value.items()
    elif is_array(value):
        inner = enumerate(value)
    else:
        yield key, _escaped(value, safe)
    for name, each in inner:
        yield from _deep(f"{key}[{_escaped(name, '')}]", each, safe)


def _is_nested(value: Any) -> bool:
    return is_object(value) or (is_array(value) and any(is_object(each) or is_array(each) for each in value))


def _in_form(given: Any) -> Any:
    how = _styled(given)
    is_json = not how.style and not how.content and _is_nested(plain(how.value))
    return Styled(how.value, content="application/json") if is_json else given


def _parts(name: str, given: Any) -> Iterator[tuple[str, Any]]:
    how = _styled(given)
    value = plain(how.value)
    many: list[Any] = value if is_array(value) else [value]
    if how.content == BASE64:
        yield from ((name, (name, _bytes(name, each), "application/octet-stream")) for each in many)
    elif _is_nested(value):
        yield name, (None, _json(value).encode(), "application/json")
    else:
        yield from ((name, (None, _text(each).encode())) for each in many)


def _bytes(name: str, value: Any) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise ToolFailure(f"{name}: this is not base64") from None
