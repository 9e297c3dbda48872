"""`mcp-bindgen validate`: which revisions accept a message, as what, and why the others refuse it.

The JSON answer has one object on a line for each message: ``source``, ``line``, ``kind``, ``method``, ``id``,
``asked_on`` (the line of the request that it answers), ``revision`` (that it has to be of, as far as the log says it),
``valid``, ``accepted`` (revision -> type) and ``refused`` (revision -> a list of ``pointer`` and ``reason``).
"""

import json
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from mcp_bindgen.cli.options import FormatOption, QuietOption, complete_revision
from mcp_bindgen.cli.output import Format, answer, answer_verbatim, count
from mcp_bindgen.diagnostics import InputError, Location

if TYPE_CHECKING:
    from mcp_bindgen.live.readings import Reading

MAX_REASONS = 3
"""How many reasons of one revision are shown."""
MAX_SHOWN = 100
"""How many characters of a name from a message are shown."""


def validate(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="A message, or a log with one on each line.")],
    revision: Annotated[
        str | None,
        typer.Option(help="The revision that all messages are of.", autocompletion=complete_revision),
    ] = None,
    quiet: QuietOption = False,
    format_: FormatOption = Format.TEXT,
) -> None:
    """Say which revisions accept messages, as what, and why the others refuse them."""
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
        raise InputError.at(Location(source=file), "holds no message of the protocol")
    if format_ is Format.TEXT and not quiet:
        left = f"; {count(empty, 'line')} without one" if empty else ""
        left += f"; {count(too_long, 'line')} too large to be judged" if too_long else ""
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
        raise InputError.at(Location(source=file), f"cannot be read: {error.strerror}") from None


def _lines(file: str, line: int, reading: "Reading") -> Iterator[str]:
    """Iterate over the lines that tell of a message; revisions that say the same share theirs."""
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
        words.append(f"{'of ' if reading.kind in ('result', 'error') else ''}{_clipped(reading.method)}")
    if reading.id is not None:
        words.append(f"with id {_clipped(json.dumps(reading.id))}")
    if reading.asked_on is not None:
        words.append(f"to line {reading.asked_on}")
    elif reading.kind == "result":
        words.append("to no request in the log")
    of = f", in a session of {_clipped(reading.revision)}" if reading.revision else ""
    return " ".join(words) + of


def _grouped(told: Mapping[str, Any]) -> list[tuple[Any, list[str]]]:
    """Return what is told of revisions, each with all that it is told of."""
    found: dict[Any, list[str]] = {}
    for revision, what in told.items():
        found.setdefault(what, []).append(revision)
    return list(found.items())


def _span(revisions: list[str], reading: "Reading") -> str:
    """Spell revisions: those that follow each other as a range."""
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


def _clipped(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
