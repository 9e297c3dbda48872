"""Formatting takes most of the time of generating, so tests format each module once, or not at all."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import black

_HEADER: Final = re.compile(r"(?:# .*\S\n)*")
_format: Final = black.format_str
_known: Final[dict[tuple[str, str], str]] = {}


def format_once() -> None:
    """Let black remember in this process what it has formatted, whatever the header of a file says."""
    setattr(black, "format_str", _remembered)  # noqa: B010 # for type checkers it is a constant


@contextmanager
def unformatted() -> Generator[None]:
    """Leave out the formatting where a test only runs or parses what is generated."""
    before = black.format_str
    setattr(black, "format_str", lambda text, *, mode: text)  # noqa: B010
    try:
        yield
    finally:
        setattr(black, "format_str", before)  # noqa: B010


def _remembered(text: str, *, mode: black.Mode) -> str:
    header = _HEADER.match(text)
    assert header is not None
    placeholder = "# header\n" * header[0].count("\n")  # as long as the header, since errors have line numbers
    key = placeholder + text[header.end() :], mode.get_cache_key()
    if key not in _known:
        _known[key] = _format(key[0], mode=mode).removeprefix(placeholder)
    return header[0] + _known[key]
