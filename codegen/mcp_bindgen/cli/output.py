"""The output of commands: answers on stdout, diagnostics and progress on stderr.

Much of it comes from untrusted files, so markup is not interpreted and control characters are escaped.
"""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO, TypeAlias

from mcp_bindgen.diagnostics import Diagnostic, Diagnostics, Level, count, printable
from mcp_bindgen.paths import write_file

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_ERRORS = 20
"""The number of errors printed before the rest is only counted."""
PLAIN_WIDTH = 140
"""The width of a table that is not written to a terminal, in columns, unless COLUMNS is set."""

_DIFF_COLORS = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
_PLAIN = "\x1b[0m"


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


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows below headings, as wide as the terminal allows; the text has no control characters, so no styles."""
    from rich.table import Table

    grid = Table(*headings, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        _add(grid, row)
    console = _console(sys.stdout, styled=False)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


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
def progress(total: int, *, quiet: bool) -> Generator[Callable[[str], None]]:
    """Show progress on stderr if it is a terminal; yields a function that announces the next of `total` steps."""
    if quiet or not sys.stderr.isatty():
        yield lambda label: None
        return
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=_console(sys.stderr), transient=True) as bar:
        task = bar.add_task("", total=total)
        begun = False

        def step(label: str) -> None:
            nonlocal begun
            bar.update(task, description=escape(printable(label)), advance=1 if begun else 0)
            begun = True

        yield step


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


def _console(file: TextIO, *, styled: bool = True) -> "Console":
    from rich.console import Console

    width = None if file.isatty() or "COLUMNS" in os.environ else PLAIN_WIDTH
    colors: Literal["auto"] | None = "auto" if styled else None
    return Console(file=file, width=width, color_system=colors, markup=False, highlight=False, emoji=False)
