"""What tests make the generator do over and over, done once per process.

That is: formatting the same module, compiling the same template, and comparing the same released revisions.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import black
import jinja2

from mcp_bindgen.diff import compare as comparison
from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.ingest.revisions import released
from mcp_bindgen.ir.nodes import Protocol
from mcp_bindgen.load.protocol import load_released

_HEADER: Final = re.compile(r"(?:# .*\S\n)*")
_format: Final = black.format_str
_compile: Final[Any] = jinja2.Environment.compile
_compare: Final = comparison.compare
_formatted: Final[dict[tuple[str, str], str]] = {}
_compiled: Final[dict[tuple[object, ...], Any]] = {}
_compared: Final[dict[tuple[str, str, bool], tuple[Finding, ...]]] = {}


def work_once() -> None:
    """Let this process remember what it formatted, compiled and compared."""
    setattr(black, "format_str", _format_once)  # noqa: B010 # for type checkers it is a constant
    setattr(jinja2.Environment, "compile", _compile_once)  # noqa: B010
    setattr(comparison, "compare", _compare_once)  # noqa: B010


@contextmanager
def unformatted() -> Generator[None]:
    """Leave out the formatting where a test only runs or parses what is generated."""
    before = black.format_str
    setattr(black, "format_str", _unchanged)  # noqa: B010
    try:
        yield
    finally:
        setattr(black, "format_str", before)  # noqa: B010


def _unchanged(text: str, *, mode: black.Mode) -> str:
    del mode
    return text


def _format_once(text: str, *, mode: black.Mode) -> str:
    """Format a module, unless one that differs only in its header was formatted before."""
    header = _HEADER.match(text)
    assert header is not None
    placeholder = "# header\n" * header[0].count("\n")  # as long as the header, since errors have line numbers
    key = placeholder + text[header.end() :], mode.get_cache_key()
    if key not in _formatted:
        _formatted[key] = _format(key[0], mode=mode).removeprefix(placeholder)
    return header[0] + _formatted[key]


def _compile_once(environment: jinja2.Environment, *arguments: object) -> Any:
    """Compile a template; the environments of the generator differ only in the folders that they look in."""
    if arguments not in _compiled:
        _compiled[arguments] = _compile(environment, *arguments)
    return _compiled[arguments]


def _compare_once(old: Protocol, new: Protocol, *, proven: bool = True) -> tuple[Finding, ...]:
    if not all(side.revision in released() and side is load_released(side.revision) for side in (old, new)):
        return _compare(old, new, proven=proven)
    key = old.revision, new.revision, proven
    if key not in _compared:
        _compared[key] = _compare(old, new, proven=proven)
    return _compared[key]
