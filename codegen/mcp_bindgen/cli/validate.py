"""`mcp-bindgen validate`: which revisions accept a message, as what type, and why the others reject it.

The JSON output has one object per line for each message: ``source``, ``line``, ``kind``, ``method``, ``id``,
``asked_on`` (the line of the request that it answers), ``revision`` (the one that it must conform to, if known),
``valid``, ``accepted`` (revision -> type) and ``refused`` (revision -> a list of ``pointer`` and ``reason``).
"""

import json
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, revision_option
from mcp_bindgen.cli.output import Format, answer, answer_verbatim
from mcp_bindgen.diagnostics import InputError, clip, count

if TYPE_CHECKING:
    from mcp_bindgen.live.readings import Reading

MAX_REASONS = 3
"""The number of reasons shown per revision."""
MAX_SHOWN = 100
"""The number of characters of a name from a message that are shown."""


def validate(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A file with one message, or a log with one per line.")],
    revision: Annotated[str | None, revision_option("The revision of all messages.")] = None,
    quiet: QuietOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Show which revisions accept messages, as what types, and why the others reject them."""
    from mcp_bindgen.live.bindings import revisions
    from mcp_bindgen.live.logs import read_log
    from mcp_bindgen.live.readings import Reader

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
                if format_ is Format.JSON:
                    answer_verbatim(json.dumps(_facts(file, logged.line, reading)))
                elif not (quiet and reading.is_valid):
                    answer("\n".join(_lines(file, logged.line, reading)))
    if not messages and not too_long:
        raise InputError.at(file, "contains no protocol message")
    if format_ is Format.TEXT and not quiet:
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
    try:
        with Path(file).open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError.at(file, f"cannot be read: {error.strerror}") from None


def _lines(file: str, line: int, reading: "Reading") -> Iterator[str]:
    """Iterate over the lines about a message; revisions with the same verdict share a line."""
    mark = "" if reading.is_valid else "INVALID "
    yield f"{file}:{line}: {mark}{_title(reading)}"
    for what, revisions in _grouped(reading.accepted):
        yield f"  accepted by {_span(revisions, reading)} as {what}"
    told = {revision: tuple(broken) for revision, broken in reading.refused.items()}
    for broken, revisions in _grouped(told):
        reasons = [f"{place.pointer or '/'}: {place.reason}" for place in broken]
        yield f"  refused by {_span(revisions, reading)}: {reasons[0]}"
        yield from (f"    {reason}" for reason in reasons[1:MAX_REASONS])


def _title(reading: "Reading") -> str:
    words = [reading.kind]
    if reading.method is not None:
        words.append(f"{'of ' if reading.kind in ('result', 'error') else ''}{clip(reading.method, MAX_SHOWN)}")
    if reading.id is not None:
        words.append(f"with id {clip(json.dumps(reading.id), MAX_SHOWN)}")
    if reading.asked_on is not None:
        words.append(f"to line {reading.asked_on}")
    elif reading.kind == "result":
        words.append("to a request that is not in the log")
    of = f", in a session of {clip(reading.revision, MAX_SHOWN)}" if reading.revision else ""
    return " ".join(words) + of


def _grouped(told: Mapping[str, Any]) -> list[tuple[Any, list[str]]]:
    """Group revisions by verdict."""
    found: dict[Any, list[str]] = {}
    for revision, what in told.items():
        found.setdefault(what, []).append(revision)
    return list(found.items())


def _span(revisions: list[str], reading: "Reading") -> str:
    """Format revisions, consecutive ones as a range."""
    judged = sorted({*reading.accepted, *reading.refused})
    first = judged.index(revisions[0])
    if len(revisions) > 2 and judged[first : first + len(revisions)] == revisions:
        return "every revision" if len(revisions) == len(judged) else f"{revisions[0]} to {revisions[-1]}"
    return ", ".join(revisions)


def _facts(file: str, line: int, reading: "Reading") -> dict[str, Any]:
    return {
        "source": file,
        "line": line,
        "kind": reading.kind,
        "method": reading.method,
        "id": reading.id,
        "asked_on": reading.asked_on,
        "revision": reading.revision,
        "valid": reading.is_valid,
        "accepted": dict(reading.accepted),
        "refused": {
            revision: [broken._asdict() for broken in found][:MAX_REASONS]
            for revision, found in reading.refused.items()
        },
    }
