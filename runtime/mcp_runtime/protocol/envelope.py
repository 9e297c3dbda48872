"""Finds the id of a message that cannot be read, so that its sender or its caller learns at once that it was refused.

Nothing here trusts the text: an id counts only if the outermost object contains exactly one, and the search is bounded.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from mcp_runtime.json_text import NotIJson, read

MAX_SEARCHED: Final = 1 << 20
"""The longest text, in bytes, that is searched completely, which takes about ten milliseconds."""
ENDS: Final = 4096
"""How many bytes of the beginning and of the end of a longer text are searched."""
MAX_TOKENS: Final = 50_000
"""How many brackets, names and values are examined."""
MAX_ID: Final = 4096
"""The maximum length of an id in bytes."""
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
    if len(text) > MAX_SEARCHED:
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
    for _ in range(MAX_TOKENS):
        token = _TOKEN.match(text, place)
        # A property at the very end of the text may be cut off.
        if token is None or (token.end() == len(text) and token.lastindex in (1, 5)):
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
    for _ in range(MAX_TOKENS):
        bracket = _BRACKET.match(text, place)
        if bracket is None:
            break
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
    if len(text) > MAX_ID:
        return None
    try:
        value = read(text)
    except NotIJson:
        return None
    return value if value.__class__ in (int, str) else None
