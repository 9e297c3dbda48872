"""Reading and writing JSON text: I-JSON only.

I-JSON (RFC 7493) requires unique names, finite numbers and no lone surrogates; here nesting is also limited to
`MAX_DEPTH`. No single parser checks all of that: `orjson` keeps the last of two equal names and rounds large integers,
`jiter` detects equal names but reads 1e400 as infinity.

A text of usual length is read by `orjson` and written back. If the two differ only in whitespace, the text has no
duplicate name and no rounded number, since the output has neither. Any other text is read by `jiter`, and the value is
searched for the remaining faults. See docs/decisions/0010-one-parse.md.
"""

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeVar

from orjson import dumps, loads
from pydantic_core import InitErrorDetails, ValidationError, from_json

from mcp_runtime.finite import refuse_non_finite

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
            written = dumps(value) if size <= _MAX_SHALLOW else _write_unless_deep(value, text)
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

    def write_strictly(value: T) -> bytes:
        text = writer(value)
        # Most texts contain no such letter, and checking for one costs next to nothing.
        return finite(text) if _N in text or _I in text else text

    return write_strictly


def write_long(serializer: "SchemaSerializer", value: Any) -> bytes:
    """Write a value as its serializer does; several times faster for long strings, slower for anything else.

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


def _write_unless_deep(value: Any, text: bytes | bytearray) -> bytes:
    """Write a value that was read from text.

    Raises:
        TypeError: it cannot be written, or may be nested too deeply.
    """
    size = len(text)
    if size <= _MAX_COUNTED:
        lists = text.count(b"[")
        # A level takes at least five bytes if it is an object, `{"":}`, and two if it is a list.
        if size + 3 * lists < 5 * MAX_DEPTH or lists + text.count(b"{") <= MAX_DEPTH:
            return dumps(value)
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
