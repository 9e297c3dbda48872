"""The output of commands: answers on stdout, diagnostics and progress on stderr.

Much of it comes from untrusted files, so markup is not interpreted and control characters are escaped.
"""

import itertools
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from mcp_bindgen.ingest.paths import write_file
from mcp_bindgen.ir.diagnostics import Diagnostic, Diagnostics, Level, count, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_ERRORS = 20
"""The number of errors printed before the rest is only counted."""
PLAIN_WIDTH = 140
"""The width of a table that is not written to a terminal, in columns, unless COLUMNS is set."""

_DIFF_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"
_CLEARED = "\r\x1b[2K"


Format: TypeAlias = Literal["text", "json"]
"""The output formats: text for people, JSON for programs."""


IssueFormat: TypeAlias = Literal["text", "json", "issue"]
"""The formats of facts about a schema that is maintained elsewhere: issue is Markdown to file there."""


PageFormat: TypeAlias = Literal["text", "json", "markdown"]
"""The output formats of what is also a page of the project's documentation."""


class ReaderLeft(Exception):
    """The reader of stdout closed it."""


def answer(text: str) -> None:
    """Print text to stdout, one line end after it."""
    _print(printable(text.removesuffix("\n")))


def answer_verbatim(text: str) -> None:
    """Print a document to stdout unchanged; its renderer has escaped the content."""
    _print(text.removesuffix("\n"))


def answer_document(text: str, output: Path | None, *, quiet: bool = True) -> None:
    """Print a document to stdout unchanged, or write it to a file, and say so unless the command is to be quiet."""
    if output is None:
        answer_verbatim(text)
        return
    write_file(output, text)
    if not quiet:
        answer(f"wrote {output}")


def answer_markdown(text: str) -> None:
    """Print a page of the documentation, formatted if stdout is a terminal."""
    if not sys.stdout.isatty():
        answer_verbatim(text)
        return
    from rich.markdown import Markdown

    _console(sys.stdout).print(Markdown(text))


def answer_json(value: object) -> None:
    """Print a value as JSON to stdout, in ASCII."""
    _print(json.dumps(value, indent=2))


def answer_as(format_: Format, facts: Callable[[], object], text: Callable[[], str], *, quiet: bool) -> None:
    """Print facts as JSON, or their text unless the command is to be quiet."""
    if format_ == "json":
        answer_json(facts())
    elif not quiet:
        answer(text())


def answer_page(
    format_: PageFormat, text: Mapping[PageFormat, Callable[[], str]], output: Path | None, *, quiet: bool
) -> None:
    """Print a page in one of its formats, or write it to a file."""
    page = text[format_]().rstrip("\n") + "\n"
    if output:
        write_file(output, page)
    elif not quiet or format_ != "text":
        answer(page)


def report(diagnostics: Diagnostics, *, verbose: bool = False, quiet: bool = False) -> None:
    """Print diagnostics to stderr: the first errors and a count of the warnings, or with `verbose` everything."""
    if quiet:
        return
    errors = diagnostics.errors
    for diagnostic in errors[: None if verbose else MAX_ERRORS]:
        _complain_of(diagnostic)
    if len(errors) > MAX_ERRORS and not verbose:
        _complain(f"and {len(errors) - MAX_ERRORS} more errors")
    rest = [diagnostic for diagnostic in diagnostics if diagnostic.level is not Level.ERROR]
    if verbose:
        for diagnostic in rest:
            _complain_of(diagnostic)
        return
    warnings = sum(diagnostic.level is Level.WARNING for diagnostic in rest)
    if warnings and not errors:
        _complain(f"{count(warnings, 'warning')} (--verbose shows {'it' if warnings == 1 else 'them'})")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], indent: str = "") -> str:
    """Lay out rows below headings, as wide as the terminal allows; the text has no control characters, so no styles.

    Rows whose words do not fit beside each other become paragraphs, so that no word is cut.
    """
    from rich.table import Table

    grid, listed = Table(*headings, box=None, pad_edge=False, padding=(0, 2, 0, 0)), list(rows)
    for row in listed:
        _add(grid, row)
    console = _console(sys.stdout, styled=False)
    console.width -= len(indent)
    with console.capture() as captured:
        console.print(grid)
    text = captured.get()
    lines, words = text.splitlines(), {word for row in listed for cell in row for word in printable(cell).split()}
    if sys.stdout.isatty() and not words <= set(text.split()):
        lines = [line for row in listed for line in _paragraph(headings, row, console.width)]
    return "\n".join(f"{indent}{line}".rstrip() for line in lines)


def wrapped(text: str) -> str:
    """Wrap lines that are wider than the terminal, between words."""
    if not sys.stdout.isatty():
        return text
    width = _console(sys.stdout).width
    lines = ((line, " " * (len(line) - len(line.lstrip()) + 2)) for line in text.split("\n"))
    return "\n".join(_filled(line, margin, width) if len(line) > width else line for line, margin in lines)


def print_diff(lines: Iterable[str]) -> None:
    """Print a unified diff to stdout, in color on a terminal."""
    colored = in_color()
    for line in lines:
        color = _DIFF_COLORS.get(line[:1], "") if colored else ""
        _print(f"{color}{printable(line)}{_PLAIN if color else ''}")


def in_color() -> bool:
    """Whether stdout is a terminal whose user has not asked for plain text (NO_COLOR)."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


@contextmanager
def progress(total: int = 0, *, quiet: bool = False) -> Generator[Callable[[str], None]]:
    """Show what a command is doing on one line of stderr if it is a terminal.

    Yields a function that announces the next step; 0 for `total` if the number of steps is not known.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda label: None
        return
    steps = itertools.count(1)

    def step(label: str) -> None:
        text = f"[{next(steps)}/{total}] {label}" if total else label
        line = printable(text).replace("\n", " ")[: shutil.get_terminal_size().columns - 1]
        print(f"{_CLEARED}{line}", end="", file=sys.stderr, flush=True)

    try:
        yield step
    finally:
        print(_CLEARED, end="", file=sys.stderr, flush=True)


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # typer would handle it as its own failure
        raise ReaderLeft from None


def _complain_of(diagnostic: Diagnostic) -> None:
    for line in str(diagnostic).splitlines():
        _complain(line)


def _complain(text: str) -> None:
    """Print one line, with control characters escaped."""
    print(printable(text).replace("\n", "\\n"), file=sys.stderr)


def _add(grid: "Table", row: Sequence[str]) -> None:
    from rich.text import Text

    grid.add_row(*(Text(printable(cell), overflow="fold") for cell in row))


def _paragraph(headings: Sequence[str], row: Sequence[str], width: int) -> Iterator[str]:
    """Iterate over the lines of a row: its first cell, and the others below it, each after its heading."""
    yield from _filled(printable(row[0]), "    ", width).split("\n")
    for heading, cell in zip(headings[1:], row[1:], strict=True):
        if cell:
            yield from _filled(printable(f"  {heading}: {cell}"), "    ", width).split("\n")


def _filled(text: str, margin: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False)


def _console(file: TextIO, *, styled: bool = True) -> "Console":
    from rich.console import Console

    width = None if file.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    colors: Literal["auto"] | None = "auto" if styled else None
    return Console(file=file, width=width, color_system=colors, markup=False, highlight=False, emoji=False)
