"""The manual decisions of schema/bridging.toml: how a revision expresses what it has no form for, or why it cannot."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.ingest.paths import shipped

RULE_SPLIT = "split"
"""The name of the conversion that splits one item of a list into several."""
RULE_SESSION = "session"
"""The name used instead of a conversion if both ends of a conversation handle the difference."""
ERA = "era"
"""The kind of differences that the eras express by different messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision; the file describes its fields."""

    rule: str
    places: tuple[str, ...]
    value: str
    kind: str
    convert: str = ""
    says: str
    reason: str
    way: str = "down"

    def fits(self, rule: str, place: str, value: str) -> bool:
        """Whether the row covers a difference."""
        return self.rule == rule and place in self.places and value == self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingRow:
    """A difference in the frame around messages, which the session handles without converting params or results.

    `between` names the adjacent revisions that differ.
    """

    place: str
    rules: tuple[str, ...]
    between: tuple[tuple[str, str], ...]
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """The treatment of one difference.

    Attributes:
        rule: the rule of the diff that finds it.
        place: where, as the diff names places.
        old: the reading of the older side in the diff; ``-`` if the thing does not exist.
        new: the same of the newer side.
        kind: the name that a user's policy refers to; empty if there is no choice.
        down: what the older peer receives.
        up: what the newer peer receives.
        reason: the reason, if a row gives one.
    """

    rule: str
    place: str
    old: str
    new: str
    kind: str = ""
    down: str = ""
    up: str = ""
    reason: str = ""


def _read(tables: dict[str, list[dict[str, Any]]]) -> tuple[tuple[Decision, ...], tuple[FramingRow, ...]]:
    rows = tuple(Decision(places=tuple(row.pop("places")), **row) for row in tables["rows"])
    framing = tuple(
        FramingRow(
            place=place,
            rules=tuple(row["rules"]),
            between=tuple((old, new) for old, new in row["between"]),
            says=row["says"],
        )
        for row in tables["framing"]
        for place in row["places"]
    )
    return rows, framing


_FILE = tomllib.loads((shipped("schema") / "bridging.toml").read_text("utf-8"))
ROWS, FRAMING = _read(_FILE)
NAMES: Mapping[str, str] = _FILE["names"]
"""The names of kinds in a list; empty for those that lose nothing, or that are part of another."""


class Rows:
    """Looks up rows, and records which of them matched."""

    def __init__(self, rows: Iterable[Decision] = ROWS) -> None:
        self._rows = tuple(rows)
        self._used: set[tuple[int, str]] = set()

    def find(self, rule: str, place: str, value: str) -> Decision | None:
        """Return the row that covers a difference, or None."""
        for index, row in enumerate(self._rows):
            if row.fits(rule, place, value):
                self._used.add((index, place))
                return row
        return None

    def stale(self) -> Sequence[str]:
        """Return the parts of rows that never matched: rule, place and value."""
        return [
            f"{row.rule} {place} {row.value}"
            for index, row in enumerate(self._rows)
            for place in row.places
            if (index, place) not in self._used
        ]
