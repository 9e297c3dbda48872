"""Uses of the bindings in code, and those that cannot be resolved."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from mcp_bindgen.impact.python_names import PythonName
from mcp_bindgen.impact.types import Type


class UseKind(StrEnum):
    """What a line does with a name of the bindings."""

    NAME = "names it"
    TAKE = "accepts objects of it"
    READ = "reads it"
    PASS = "passes it"
    BUILD = "builds it"
    CALL = "calls it"
    HANDLE = "handles it"
    DELEGATE = "calls the handler"
    LOOKUP = "looks it up"
    VALUE = "uses a value of it"


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a file: line and column count from 1."""

    path: Path
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a name at one place.

    `passed` are the arguments of a call by name, None if unknown. `given` is the type of a value that is passed,
    `value` the constant that a value is compared with, or that is passed.
    """

    spot: Spot
    kind: UseKind
    name: PythonName
    passed: frozenset[str] | None = None
    given: Type | None = None
    value: object = None


@dataclass(frozen=True, slots=True, order=True)
class Unresolved:
    """A possible use of the bindings: its name, and why it could not be resolved."""

    spot: Spot
    name: str
    reason: str


@dataclass(slots=True)
class Uses:
    """All uses that a scan found; `watched` are the names to record even if the type is unknown."""

    watched: frozenset[str] = frozenset()
    found: dict[Use, None] = field(default_factory=dict[Use, None])
    unresolved: dict[Unresolved, None] = field(default_factory=dict[Unresolved, None])

    def forget(self) -> None:
        """Discard all uses."""
        self.found.clear()
        self.unresolved.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that was scanned: its lines, for the report."""

    path: Path
    lines: tuple[str, ...]

    def line(self, number: int) -> str:
        """Return a line without surrounding whitespace; empty if there is no such line."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""
