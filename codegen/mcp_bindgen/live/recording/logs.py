"""Find the messages in a log: alone on a line, behind a prefix, or inside JSON objects of whatever wrote the log.

The log is untrusted: lines and searches are bounded, and nothing is kept.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from mcp_bindgen.ir.json_values import NOT_JSON, is_list, is_object, json_value

MAX_LINE: Final = 16 << 20
"""The longest line, in bytes, that is read."""
MAX_PLACES: Final = 8
"""At how many brackets of a line a message is looked for behind a prefix."""
MAX_DEPTH: Final = 6
"""How deep a message may lie inside other objects."""
MAX_HELD: Final = 16
"""How many messages one line may hold."""
MAX_SEARCHED: Final = 1_000
"""How many values of a line are searched for messages."""
_MARK: Final = b'"jsonrpc"'
_PARTS: Final = frozenset(("id", "method", "params", "result", "error"))
"""The properties of messages: an object with two of them, and no others, is meant as one."""
_DECODER: Final = json.JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Logged:
    """What a line of a log holds.

    Attributes:
        line: the number of the line, from 1 on.
        messages: the texts of the messages in it, as they were written.
        is_too_long: whether the line is too long, or holds too many values, to be read.
    """

    line: int
    messages: tuple[bytes, ...] = ()
    is_too_long: bool = False


def read_log(stream: BinaryIO) -> Iterator[Logged]:
    """Iterate over the lines of a log; a text that is one JSON value on several lines counts as one.

    A line without a message in it has no `messages`. One that looks like a message, but cannot be read, counts as one,
    so that its error is reported.
    """
    from mcp_runtime.observe.observer import is_too_much

    first = stream.readline(MAX_LINE + 1)
    lines = _lines(first, stream)
    if first.strip() in (b"{", b"["):
        whole = first + stream.read(MAX_LINE)
        if not is_too_much(whole) and json_value(whole) is not NOT_JSON:
            yield Logged(line=1, messages=_messages(whole))
            return
        lines = iter(whole.splitlines(keepends=True))
    for number, line in enumerate(lines, start=1):
        if len(line) > MAX_LINE or is_too_much(line):
            yield Logged(line=number, is_too_long=True)
        elif text := line.strip():
            yield Logged(line=number, messages=_messages(text))


def _lines(line: bytes, stream: BinaryIO) -> Iterator[bytes]:
    """Iterate over the lines of a stream from one that was read on; of one that is too long, over its beginning."""
    while line:
        yield line
        while not line.endswith(b"\n") and (line := stream.readline(MAX_LINE)):
            pass  # the rest of a line that is too long
        line = stream.readline(MAX_LINE + 1)


def _messages(line: bytes) -> tuple[bytes, ...]:
    text = line.decode("utf-8", "surrogateescape")
    place = -1
    for _ in range(MAX_PLACES):
        place = _next_bracket(text, place + 1)
        if place < 0:
            break
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if found := _held(value, text[place:end]):
            return tuple(part.encode("utf-8", "surrogateescape") for part in found[:MAX_HELD])
    # Nothing in it can be read: its own fault, if it was meant as a message.
    return (line[max(0, line.find(b"{")) :],) if _MARK in line else ()


def _next_bracket(text: str, start: int) -> int:
    places = [place for bracket in "{[" if (place := text.find(bracket, start)) >= 0]
    return min(places, default=-1)


def _held(value: Any, written: str) -> list[str]:
    """Return the texts of the messages that a value is or holds, as they are written where it is one itself."""
    if _is_message(value) or (is_list(value) and value and all(map(_is_message, value))):
        return [written]
    found: list[str] = []
    level: list[Any] = [value]
    searched = 0
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for holder in level:
            children: list[Any] = list(holder.values()) if is_object(holder) else holder
            for child in children[:MAX_SEARCHED]:
                searched += 1
                if searched > MAX_SEARCHED:
                    return found
                if _has_mark(child):
                    found.append(json.dumps(child, ensure_ascii=False))
                elif isinstance(child, str) and child.lstrip()[:1] in ("{", "[") and '"jsonrpc"' in child:
                    found.append(child)
                elif is_object(child) or is_list(child):
                    inner.append(child)
        level = inner
    return found


def _is_message(value: Any) -> bool:
    """Whether an object on a line of its own is meant as a message."""
    return _has_mark(value) or (is_object(value) and len(value) > 1 and value.keys() <= _PARTS)


def _has_mark(value: Any) -> bool:
    return is_object(value) and "jsonrpc" in value
