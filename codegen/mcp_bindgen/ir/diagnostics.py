"""Diagnostics about the generator's input: collected during the run, reported together at the end."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any

from mcp_bindgen.ir.json_values import spell_pointer

MAX_KNOWN = 1_000
"""The number of names that an unknown one is compared with."""


class Level(StrEnum):
    """How serious a diagnostic is: an error stops the run (exit status 2), a warning or a note does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A place in an input: a file (or a name such as ``schema/2024-11-05/schema.json``), and the position inside it.

    `pointer` is a JSON pointer (RFC 6901) in a JSON file; `line` and `column` count from 1 in a text file.
    """

    source: str
    pointer: str = ""
    line: int | None = None
    column: int | None = None

    def child(self, *tokens: str | int) -> "Location":
        """Return the location of a child of this one, its tokens escaped according to RFC 6901."""
        tail = spell_pointer(tokens)
        return Location(source=self.source, pointer=self.pointer + tail, line=self.line, column=self.column)

    def __str__(self) -> str:
        position = "" if self.line is None else f":{self.line}" + ("" if self.column is None else f":{self.column}")
        return f"{self.source}{position}" + (f"#{self.pointer}" if self.pointer else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One problem in the input: its level, its place, and a sentence that says what to do about it.

    `lines` are output of a program that was run, such as a traceback.
    """

    level: Level
    where: Location
    message: str
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = (f"{self.level.value}: {self.where}: {self.message}", *(f"    {line}" for line in self.lines))
        return "\n".join(map(plain, told))


@dataclass(slots=True)
class Diagnostics:
    """Collects diagnostics in the order in which they were found, without duplicates.

    With `strict`, everything that the output cannot express exactly is an error (see `loose`).
    """

    found: dict[Diagnostic, None] = field(default_factory=dict[Diagnostic, None])
    strict: bool = False

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.found.setdefault(diagnostic)

    def error(self, where: Location, message: str) -> None:
        """Add an error: the input cannot be used."""
        self.found.setdefault(Diagnostic(level=Level.ERROR, where=where, message=message))

    def warning(self, where: Location, message: str) -> None:
        """Add a warning: the output is usable, but the user should know."""
        self.found.setdefault(Diagnostic(level=Level.WARNING, where=where, message=message))

    def loose(self, where: Location, message: str) -> None:
        """Add a warning that the output is looser than the input: an error if `strict`."""
        (self.error if self.strict else self.warning)(where, message)

    def note(self, where: Location, message: str) -> None:
        """Add a note on a decision that the user may want to know."""
        self.found.setdefault(Diagnostic(level=Level.NOTE, where=where, message=message))

    def extend(self, other: "Diagnostics") -> None:
        """Add all diagnostics of another collection."""
        self.found.update(other.found)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Only the errors, in order."""
        return tuple(d for d in self.found if d.level is Level.ERROR)

    def raise_errors(self) -> None:
        """Raise `InputError` if there is at least one error."""
        if self.errors:
            raise InputError(self)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.found)


class InputError(Exception):
    """The input cannot be used; carries the diagnostics that say why (exit status 2)."""

    def __init__(self, diagnostics: Diagnostics) -> None:
        super().__init__("\n".join(str(d) for d in diagnostics))
        self.diagnostics = diagnostics

    @classmethod
    def at(cls, where: Location | Path | str, message: str, *, lines: Iterable[str] = ()) -> "InputError":
        """Create an error with a single diagnostic; its place may be just the name of its source."""
        diagnostics = Diagnostics()
        where = where if isinstance(where, Location) else Location(source=str(where))
        diagnostics.add(Diagnostic(level=Level.ERROR, where=where, message=message, lines=tuple(lines)))
        return cls(diagnostics)


@contextmanager
def refuse_endless_chains(source: str) -> Generator[None]:
    """Raise `InputError` if the definitions of a source form a chain of hundreds of references."""
    try:
        yield
    except RecursionError:
        message = "its definitions form too long a chain of references; shorten it"
        raise InputError.at(source, message) from None


@contextmanager
def refuse_os_errors(where: Location | Path | str | None = None, done: str = "read") -> Generator[None]:
    """Raise `InputError` for an `OSError`, with its reason: something cannot be read, or what else `done` says.

    By default, the error says which file it is.
    """
    try:
        yield
    except OSError as error:
        raise InputError.at(where or str(error.filename), f"cannot be {done}: {error.strerror}") from None


def did_you_mean(name: str, known: Iterable[str], number: int = 3) -> str:
    """Return a hint at the names that resemble an unknown one, empty without any."""
    by_case = {each.lower(): each for each in islice(known, MAX_KNOWN)}
    close = [by_case[found] for found in get_close_matches(name.lower(), by_case, number)]
    return f"did you mean {' or '.join(close)}?" if close else ""


def clip(text: str, limit: int) -> str:
    """Return the first characters of a text, with an ellipsis if there are more."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def printable(text: str) -> str:
    """Make text from an input safe for a terminal: escape control and bidirectional characters."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(ch if ch == "\n" or ch.isprintable() else ch.encode("unicode_escape").decode("ascii") for ch in text)


def plain(text: str) -> str:
    """Make text from an input safe for a terminal, on one line."""
    return printable(text).replace("\n", "\\n")


def count(number: int, noun: str) -> str:
    """Format a number of things: ``1 file``, ``2 files``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def diagnostic_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as JSON: level, source, pointer, line, column, message."""
    return {"level": diagnostic.level.value, **asdict(diagnostic.where), "message": diagnostic.message}


def diagnostic_from_json(value: Mapping[str, Any]) -> Diagnostic:
    """Return a diagnostic from the value that `diagnostic_json` returned."""
    place = {name: value[name] for name in Location.__slots__}
    return Diagnostic(level=Level(value["level"]), where=Location(**place), message=value["message"])


def warnings_json(diagnostics: Diagnostics) -> list[dict[str, Any]]:
    """Return the warnings as JSON."""
    return [diagnostic_json(diagnostic) for diagnostic in diagnostics if diagnostic.level is Level.WARNING]
