"""Reading and writing JSON text: I-JSON only.

I-JSON (RFC 7493) requires unique names, finite numbers and no lone surrogates; here nesting is also limited to
`MAX_DEPTH`. No single parser checks all of that: `orjson` keeps the last of two equal names and rounds large integers,
`jiter` detects equal names but reads 1e400 as infinity.

A text of usual length is read by `orjson` and written back. If the two differ only in whitespace, the text has no
duplicate name and no rounded number, since the output has neither. Any other text is read by `jiter`, and the value is
searched for the remaining faults. See docs/decisions/0010-one-parse.md.

Beside it, `values` has the kinds of parsed values and pointers to places in them, `types` has what a value must be in a
model (finite, an integer, a constant), and `binary` has base64. Nothing here knows of messages.
"""

import re
from collections.abc import Callable, Iterator
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, TypeVar

from orjson import dumps, loads
from pydantic_core import InitErrorDetails, ValidationError, from_json

from mcp_runtime.core.json.values import refuse_non_finite

if TYPE_CHECKING:
    from pydantic_core import SchemaSerializer


MAX_DEPTH: Final = 128
T = TypeVar("T")

_MAX_WRITTEN: Final = 1 << 16
"""The longest text, in bytes, that is written back. In longer ones, mostly long strings, `jiter` is faster."""
_MAX_SHALLOW: Final = 2 * MAX_DEPTH
"""The longest text, in bytes, that is too short for the brackets of excessive nesting."""
_MAX_COUNTED: Final = 1 << 12
"""The longest text, in bytes, whose brackets are counted."""
_BLANKS: Final = b" \t\r\n"
_INFINITE: Final = (inf, -inf)
_N, _I = b"NI"
"""The letters that NaN and Infinity begin with."""


class NotIJson(ValueError):
    """A text is not I-JSON; the message says why."""


def read(text: bytes | bytearray) -> Any:
    """Read JSON text in UTF-8.

    Raises:
        NotIJson: the text is not I-JSON.
    """
    size = len(text)
    if size <= _MAX_WRITTEN:
        try:
            value = loads(text)
            if size <= _MAX_SHALLOW or (size <= _MAX_COUNTED and text.count(b"[") + text.count(b"{") <= MAX_DEPTH):
                written = dumps(value)
            else:
                written = _write_unless_deep(value)
            if written == text or written.translate(None, _BLANKS) == text.translate(None, _BLANKS):
                return value
        except (ValueError, TypeError):
            pass  # I-JSON has integers that `orjson` cannot read, and others that it cannot write.
    return _read_and_search(bytes(text))


def read_as(title: str, text: str | bytes | bytearray) -> Any:
    """Read JSON text that is about to be validated as a model.

    Raises:
        pydantic.ValidationError: the text is not I-JSON; the error's title is `title`.
    """
    try:
        return read(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    except NotIJson as error:
        details = InitErrorDetails(type="json_invalid", loc=(), input=text, ctx={"error": str(error)})
        raise ValidationError.from_exception_data(title, [details], input_type="json") from None


def strict_writer(writer: Callable[[T], bytes]) -> Callable[[T], bytes]:
    """Return a function that writes like `writer` but refuses numbers that are not finite."""
    return lambda value: finite(writer(value))


def write_long(serializer: "SchemaSerializer", value: Any) -> bytes:
    """Write a value with long strings as its serializer does (row "a result of 1 MB": several times faster).

    Raises:
        ValueError: a number is not finite, or JSON cannot express a value.
    """
    plain = serializer.to_python(value, mode="json")
    refuse_non_finite(plain)  # for which `orjson` would write null
    try:
        return dumps(plain)
    except TypeError:
        return finite(serializer.to_json(value))  # `orjson` is limited to 64-bit integers


def finite(text: bytes) -> bytes:
    """Return text that pydantic wrote, after checking it.

    Raises:
        ValueError: a number in it is not finite.
    """
    # Strings may contain these words as well.
    if (_N in text and b"NaN" in text) or (_I in text and b"Infinity" in text):
        refuse_non_finite_text(text)
    return text


def refuse_non_finite_text(text: str | bytes) -> None:
    """Check a text for numbers that are not finite.

    Raises:
        ValueError: it has one.
    """
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        raise ValueError("NaN or Infinity is not a JSON number") from None


def _write_unless_deep(value: Any) -> bytes:
    """Write a value.

    Raises:
        TypeError: it cannot be written, or is nested too deeply.
    """
    if not _WRITTEN_DEPTH:
        raise TypeError
    for _ in range(_SPARE):
        value = [value]
    return dumps(value)[_SPARE:-_SPARE]


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


def _is_written(value: Any) -> bool:
    try:
        dumps(value)
    except TypeError:
        return False
    return True


_WRITTEN_DEPTH: Final = next((depth for depth in range(250, 260) if not _is_written(_nested(depth + 1))), 0)
"""The depth to which `orjson` writes: 254 or 255 (undocumented); 0 if neither."""
_SPARE: Final = _WRITTEN_DEPTH - MAX_DEPTH
"""Inside this many lists, `orjson` refuses to write anything nested deeper than `MAX_DEPTH`."""


def _read_and_search(text: bytes) -> Any:
    """Read any text, and find what is wrong with it."""
    import jiter  # Most programs never need it.

    try:
        value = jiter.from_json(text, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        raise NotIJson(_why(str(error))) from None
    _search(value)
    return value


def _why(found: str) -> str:
    """Return what the parser found, without the duplicate name, which may be of any length."""
    reason, _, place = found.rpartition(" at line ")
    if reason.startswith("Detected duplicate key"):
        reason = "an object has the same name twice"
    elif reason.startswith("recursion limit"):
        reason = f"nested deeper than {MAX_DEPTH}"
    else:
        reason = f"not JSON: {reason}"
    return f"{reason} at line {place}"


def _search(value: Any) -> None:
    """Look for numbers that became infinite, and for excessive nesting.

    Raises:
        NotIJson: the value has either.
    """
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        inner: list[Any] = []
        for holder in level:
            for child in holder.values() if holder.__class__ is dict else holder:
                kind = child.__class__
                if kind is dict or kind is list:
                    inner.append(child)
                elif kind is float and child in _INFINITE:
                    raise NotIJson("a number is too large")
        if not inner:
            return
        level = inner
    raise NotIJson(f"nested deeper than {MAX_DEPTH}")


MAX_VALUES: Final = 400_000
"""How many values a message may have. A list counts as two, an object as three, and a name as one more."""
MIN_COUNTED: Final = MAX_VALUES * 3 // 4
"""The length in bytes of the shortest text that can have more: `{}` and a comma count as four."""
_UNCOUNTED: Final = bytes(set(range(256)) - set(b'",:[{'))
_IN_QUOTES: Final = re.compile(b'"[^"]*+"')
_FEW_STRINGS: Final = 64
_BACKSLASH: Final = 0x5C


def has_too_many_values(text: bytes) -> bool:
    """Whether a text has more than `MAX_VALUES`: made into objects, they would cost far more than their text."""
    # What is long is usually a few strings, which end where the next quote is.
    at = 0
    rest = len(text)
    for _ in range(_FEW_STRINGS):
        start = text.find(b'"', at)
        end = text.find(b'"', start + 1)
        if start < 0 or end < 0 or text[end - 1] == _BACKSLASH:
            break
        rest -= end - start
        at = end + 1
    if rest <= MIN_COUNTED or _count(text.translate(None, _UNCOUNTED)) < MAX_VALUES:
        return False
    # Strings may contain separators as well; most of them contain none.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _UNCOUNTED).replace(b'""', b"")
    # Each string is a name or a value.
    return bare.count(b'"') > 2 * MAX_VALUES or _count(_IN_QUOTES.sub(b"", bare)) >= MAX_VALUES


def _count(text: bytes) -> int:
    return text.count(b",") + text.count(b":") + 2 * text.count(b"[") + 3 * text.count(b"{")


ENDS: Final = 4096
"""How many bytes of the beginning and of the end of an unreadable text are searched."""
MAX_LAST: Final = 16
"""How many properties are examined from the end of a text."""

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_TOKEN: Final = re.compile(rb'\s*+(?:(%b)|([\[{])|([\]}])|([,:])|([^\s"{}\[\],:]++))' % _STRING, re.DOTALL)
_BRACKET: Final = re.compile(rb'(?:[^"{}\[\]]++|%b)*+([{}\[\]])' % _STRING, re.DOTALL)
_LAST: Final = re.compile(rb'[,{]\s*("[^"\\]*+")\s*:\s*("[^"\\]*+"|[^\s"{}\[\],:]++)\s*\Z')

_Member: TypeAlias = tuple[bytes, bytes]
"""The name and the value of a property as written; a value in brackets is empty."""


class Envelope(NamedTuple):
    """What can be determined about a message that cannot be read.

    Attributes:
        id: its id.
        is_answer: whether it is an answer rather than a request.
    """

    id: int | str
    is_answer: bool


def envelope_of(text: bytes, end: bytes = b"") -> Envelope | None:
    """Return what a text contains at its top level; None if it does not have exactly one id, or no kind.

    Args:
        text: the message, or the beginning of one that is too long to be kept.
        end: the end of one that is too long.
    """
    if len(text) > 2 * ENDS:
        text, end = text[:ENDS], end or text[-ENDS:]
    names: dict[int | str | None, list[bytes]] = {}
    for name, value in (*_leading(text), *_trailing(end)):
        names.setdefault(_value(name), []).append(value)
    ids = names.get("id", [])
    id_ = _value(ids[0]) if len(ids) == 1 else None
    kinds = {"method", "result", "error"} & names.keys()
    if id_ is None or not kinds:
        return None
    return Envelope(id_, is_answer="method" not in kinds)


def _leading(text: bytes) -> Iterator[_Member]:
    """Iterate over the properties of the outermost object, as far as the text contains them completely."""
    place = text.find(b"{") + 1
    if not place or text[: place - 1].strip():
        return
    name, is_value = b"", False
    while (token := _TOKEN.match(text, place)) is not None:
        # A property at the very end of the text may be cut off.
        if token.end() == len(text) and token.lastindex in (1, 5):
            return
        place = token.end()
        match token.lastindex:
            case 1 | 5 if is_value:
                yield name, token[token.lastindex]
                is_value = False
            case 1:
                name = token[1]
            case 2:
                if is_value:
                    yield name, b""
                is_value = False
                place = _behind(text, place)
            case 3:
                return
            case _:
                is_value = token[4] == b":"


def _behind(text: bytes, place: int) -> int:
    """Return where the brackets opened before a position close; the end of the text if nothing closes them."""
    depth = 1
    while (bracket := _BRACKET.match(text, place)) is not None:
        place = bracket.end()
        depth += 1 if bracket[1] in b"{[" else -1
        if not depth:
            return place
    return len(text)


def _trailing(text: bytes) -> Iterator[_Member]:
    """Iterate over the last properties of an object, from its end to the first value in brackets."""
    text = text.rstrip()
    if not text.endswith(b"}"):
        return
    text = text[:-1]
    for _ in range(MAX_LAST):
        found = _LAST.search(text)
        if found is None:
            return
        yield found[1], found[2]
        text = text[: found.start()]


def _value(text: bytes) -> int | str | None:
    """Return a name or an id; None if it is neither."""
    try:
        value = read(text)
    except NotIJson:
        return None
    return value if value.__class__ in (int, str) else None
