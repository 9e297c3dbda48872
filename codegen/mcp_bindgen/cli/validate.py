"""`mcp-bindgen validate`: which revisions accept a message, as what type, and why the others reject it.

The JSON output has one object per line for each message: ``source``, ``line``, ``kind``, ``method``, ``id``,
``asked_on`` (the line of the request that it answers), ``revision`` (the one that it must conform to, if known),
``valid``, ``accepted`` (revision -> type), ``refused`` (revision -> a list of ``pointer`` and ``reason``) and
``warnings`` (a list of the same).
"""

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, revision_option
from mcp_bindgen.cli.output import answer, answer_verbatim
from mcp_bindgen.ir.diagnostics import InputError, count, refuse_os_errors


def validate(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A file with one message, or a log with one per line.")],
    revision: Annotated[str | None, revision_option("The revision of all messages.")] = None,
    quiet: QuietOption = False,
    format_: FormatOption = "text",
) -> None:
    """Show which revisions accept messages, as what types, and why the others reject them."""
    from mcp_bindgen.live.bindings import revisions
    from mcp_bindgen.live.recording.logs import read_log
    from mcp_bindgen.live.recording.readings import Reader, facts_of, lines_of

    reader = Reader(revisions(revision), revision)
    messages = invalid = empty = too_long = 0
    with _opened(file) as stream:
        for logged in read_log(stream):
            too_long += logged.is_too_long
            empty += not (logged.messages or logged.is_too_long)
            for text in logged.messages:
                reading = reader.read(text, logged.line)
                messages += 1
                invalid += not reading.is_valid
                if format_ == "json":
                    answer_verbatim(json.dumps(facts_of(file, logged.line, reading)))
                elif not (quiet and reading.is_valid):
                    answer("\n".join(lines_of(file, logged.line, reading)))
    if not messages and not too_long:
        raise InputError.at(file, "contains no protocol message")
    if format_ == "text" and not quiet:
        left = f"; {count(empty, 'line')} without one" if empty else ""
        left += f"; {count(too_long, 'line')} too large to validate" if too_long else ""
        answer(f"\n{count(messages, 'message')}, {invalid} invalid{left}")
    if invalid or too_long:
        raise typer.Exit(1)


@contextmanager
def _opened(file: str) -> Generator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with refuse_os_errors(file), Path(file).open("rb") as stream:
        yield stream
