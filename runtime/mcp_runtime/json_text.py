"""JSON texts that come from outside, and those that models read and write: I-JSON only.

I-JSON (RFC 7493) has unique names, finite numbers and no lone surrogates; here it is nested at most `MAX_DEPTH` deep.
pydantic takes and gives more than that.
"""

import json
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from pydantic_core import InitErrorDetails, ValidationError, from_json, to_json

MAX_DEPTH: Final = 128
T = TypeVar("T")


class NotIJson(ValueError):
    """A text is not I-JSON; says why."""


def read(text: bytes, max_depth: int | None = MAX_DEPTH) -> Any:
    """Read a JSON text in UTF-8, nested at most so deep; None for what the parser can follow.

    Raises:
        NotIJson: it is not I-JSON.
    """
    if len(text) <= _MAX_QUICK:
        try:
            value = from_json(text, allow_inf_nan=False)
            # What is written back as it was read has no name twice, no number that is none, nothing around it.
            if to_json(value) == text:
                # What is nested too deep has as many brackets, and as many again that close them.
                if max_depth is not None and len(text) > 2 * max_depth:
                    _check_depth(value, max_depth)
                return value
        except NotIJson:
            raise
        except ValueError:
            pass
    return _read_slowly(text, max_depth)


def check(text: str | bytes | bytearray, title: str) -> None:
    """Check that a text is I-JSON, however deep: how deep a message may be is checked where it arrives.

    Raises:
        pydantic.ValidationError: it is not; its title is `title`.
    """
    try:
        read(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text), max_depth=None)
    except NotIJson as error:
        details = InitErrorDetails(type="json_invalid", loc=(), input=text, ctx={"error": str(error)})
        raise ValidationError.from_exception_data(title, [details], input_type="json") from None


def strict_reader(reader: Callable[[str | bytes | bytearray], T], title: str) -> Callable[[str | bytes | bytearray], T]:
    """Return a function that reads as another does, but refuses what is not I-JSON."""

    def read_strictly(text: str | bytes | bytearray) -> T:
        check(text, title)
        return reader(text)

    return read_strictly


def strict_writer(writer: Callable[[T], bytes]) -> Callable[[T], bytes]:
    """Return a function that writes as another does, but refuses numbers that are not finite."""

    def write_strictly(value: T) -> bytes:
        text = writer(value)
        # Strings may hold these words as well.
        if b"NaN" in text or b"Infinity" in text:
            refuse_non_finite_text(text)
        return text

    return write_strictly


def refuse_non_finite_text(text: str | bytes) -> None:
    """Check a text for numbers that are not finite.

    Raises:
        ValueError: it has one.
    """
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        raise ValueError("NaN or Infinity is not a JSON number") from None


def _read_slowly(text: bytes, max_depth: int | None) -> Any:
    """Read a text of any form, and find what is wrong with it."""
    try:
        decoded = text.decode().strip(_BLANK)
        value, end = _scan(decoded, 0)
    except UnicodeDecodeError:
        raise NotIJson("the text is not UTF-8") from None
    except (StopIteration, RecursionError, ValueError) as error:
        raise NotIJson(_why(error)) from None
    if end != len(decoded):
        raise NotIJson(f"something follows the JSON text at character {end}")
    if max_depth is not None and text.count(b"{") + text.count(b"[") > max_depth:
        _check_depth(value, max_depth)
    if b"\\u" in text:
        _check_escapes(text)
    return value


_BLANK = " \t\r\n"
_MAX_QUICK = 1 << 25
"""The longest text, in bytes, that is written back to be compared."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise NotIJson("an object has the same name twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise NotIJson(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (_INFINITY, -_INFINITY):
        raise NotIJson("a number is too large")
    return number


_INFINITY = float("inf")
_decoder: Any = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
_scan: Any = _decoder.scan_once


def _why(error: Exception) -> str:
    if isinstance(error, NotIJson):
        return str(error)
    if isinstance(error, RecursionError):
        return f"nested deeper than {MAX_DEPTH}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos}"
    if isinstance(error, StopIteration):
        return f"not JSON at character {error.value}"
    return "a number is too large"


def _check_depth(value: Any, limit: int) -> None:
    level = [value] if value.__class__ in _HOLDERS else []
    for _ in range(limit):
        if not level:
            return
        level = [
            child
            for parent in level
            for child in (parent.values() if parent.__class__ is dict else parent)
            if child.__class__ in _HOLDERS
        ]
    if level:
        raise NotIJson(f"nested deeper than {limit}")


_HOLDERS = (dict, list)


def _check_escapes(text: bytes) -> None:
    """Refuse lone surrogates, which only an escape can bring into UTF-8."""
    try:
        from_json(text)
    except ValueError:
        raise NotIJson("a string has half a surrogate pair") from None
