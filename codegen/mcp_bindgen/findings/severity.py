"""The severities of findings, and their names in the formats of reports.

A new one is a member and a row here. Tests then name the places that cannot read them from here: the words of
``--fail-on``, the JSON Schema of the report, and the colors of its page.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Severity(StrEnum):
    """The severity of a finding; the worst comes first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def level(self) -> str:
        """Its level in SARIF, and what `mcp-bindgen check` calls it."""
        return _NAMES[self].level

    @property
    def command(self) -> str:
        """The workflow command of GitHub Actions that annotates a line."""
        return _NAMES[self].command

    @property
    def color(self) -> str:
        """The color of a badge."""
        return _NAMES[self].color

    @property
    def terminal(self) -> int:
        """The color on a terminal, as the number of an ANSI escape sequence (ECMA-48, SGR)."""
        return _NAMES[self].terminal

    @property
    def rank(self) -> int:
        """Its place among the severities: 0 for the worst."""
        return [*Severity].index(self)

    def reaches(self, threshold: "Severity | None") -> bool:
        """Whether it is at least as bad as a threshold; none is, without a threshold."""
        return threshold is not None and self.rank <= threshold.rank


class _Names(NamedTuple):
    level: str
    command: str
    color: str
    terminal: int


_NAMES: Final[Mapping[Severity, _Names]] = {
    Severity.ERROR: _Names("error", "error", "red", 31),
    Severity.WARNING: _Names("warning", "warning", "yellow", 33),
    Severity.INFO: _Names("note", "notice", "green", 34),
}


def threshold(word: str) -> Severity | None:
    """Return the severity that ``--fail-on`` names; None for ``never``, and for what is not a severity."""
    return Severity(word) if word in [*Severity] else None


def worst(severities: Iterable[Severity]) -> Severity | None:
    """Return the worst of some severities, or None."""
    return min(severities, key=lambda severity: severity.rank, default=None)
