"""Findings that a project has accepted, and severities that it has overridden: a TOML file that it keeps.

[[accepted]]
rule = "property-added-required"
path = "*Result.resultType"       # the place by its name on either side; * matches any text, ? any character
reason = "our client reads an absent one as complete"
expires = 2027-01-01              # optional: the first day on which it is no longer accepted

[severity]
constraint-added = "warning"
"""

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol

from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ingest.paths import read_toml
from mcp_bindgen.ir.diagnostics import Diagnostics, InputError, Location, refuse_os_errors
from mcp_bindgen.ir.json_values import is_list, is_object

MAX_BYTES = 1024 * 1024
"""The maximum file size, in bytes."""
MAX_STARS = 8
"""The maximum number of stars in a pattern; more would be slow to match."""

_KEYS = ("rule", "path", "reason", "expires")


class Acceptable(Protocol):
    """A finding that a row can accept, by the id of its rule and the names of its place."""

    @property
    def rule_id(self) -> str:
        """The id of its rule."""
        ...

    @property
    def places(self) -> frozenset[str]:
        """The names of its place."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of the file: it accepts the findings of a rule at places that match a pattern; `number` counts from 1."""

    number: int
    rule: str
    path: str
    reason: str
    expires: date | None = None

    def matches(self, finding: Acceptable) -> bool:
        """Whether the row covers a finding."""
        pattern = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in self.path)
        found = any(re.fullmatch(pattern, place, re.DOTALL) for place in finding.places)
        return finding.rule_id == self.rule and found


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """A row that no longer has an effect, and why."""

    row: Row
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """The contents of a file, evaluated on one day; `source` is its name, empty without a file."""

    source: str = ""
    rows: tuple[Row, ...] = ()
    severities: Mapping[str, Severity] = field(default_factory=dict[str, Severity])
    today: date = date.min

    def row_of(self, finding: Acceptable) -> Row | None:
        """Return the first row that accepts a finding, or None."""
        return next((row for row in self.rows if not self._expired(row) and row.matches(finding)), None)

    def stale(self, findings: Iterable[Acceptable]) -> tuple[Stale, ...]:
        """Return the rows that have expired or match no finding."""
        known = tuple(findings)
        found: list[Stale] = []
        for row in self.rows:
            if self._expired(row):
                found.append(
                    Stale(row=row, why=f"expired on {row.expires}: fix the findings that it accepts, or set a new date")
                )
            elif not any(row.matches(finding) for finding in known):
                found.append(Stale(row=row, why="matches no finding: remove it"))
        return tuple(found)

    def _expired(self, row: Row) -> bool:
        return row.expires is not None and row.expires <= self.today


def today(environment: Mapping[str, str] = os.environ) -> date:
    """Return today's date (UTC), or the date set by SOURCE_DATE_EPOCH in seconds since 1970.

    Raises:
        InputError: SOURCE_DATE_EPOCH is not a valid number of seconds.
    """
    stated = environment.get("SOURCE_DATE_EPOCH")
    if not stated:
        return datetime.now(UTC).date()
    try:
        return datetime.fromtimestamp(int(stated), UTC).date()
    except (ValueError, OverflowError, OSError):
        where = Location(source="SOURCE_DATE_EPOCH")
        raise InputError.at(where, f"{stated[:40]!r} is not a number of seconds since 1970") from None


def read_baseline(path: Path, day: date, known: Collection[str]) -> Baseline:
    """Read a baseline file, whose rows may name the `known` rules, and evaluate it on a day.

    Raises:
        InputError: it cannot be read, or a row lacks its reason, names an unknown rule, or has an invalid key or value;
        all such errors are reported together.
    """
    diagnostics = Diagnostics()
    with refuse_os_errors(path):
        if path.stat().st_size > MAX_BYTES:
            raise InputError.at(path, f"larger than {MAX_BYTES // 1024} KiB, the maximum size of a baseline")
    document = read_toml(path)
    reader = _BaselineReader(Location(source=str(path)), diagnostics, known)
    for key in sorted(document.keys() - {"accepted", "severity"}):
        reader.error(key, "unknown key; the keys are accepted and severity")
    rows = reader.rows(document.get("accepted", []))
    severities = reader.severities(document.get("severity", {}))
    diagnostics.raise_errors()
    return Baseline(source=str(path), rows=rows, severities=severities, today=day)


class _BaselineReader:
    def __init__(self, where: Location, diagnostics: Diagnostics, known: Collection[str]) -> None:
        self._where = where
        self._rules = known
        self._diagnostics = diagnostics

    def error(self, what: str, message: str) -> None:
        self._diagnostics.error(self._where, f"{what}: {message}")

    def rows(self, value: object) -> tuple[Row, ...]:
        if not is_list(value):
            self.error("accepted", "must be a list of tables: begin each row with [[accepted]]")
            return ()
        found = (self._row(number, row) for number, row in enumerate(value, 1))
        return tuple(row for row in found if row is not None)

    def severities(self, value: object) -> dict[str, Severity]:
        if not is_object(value):
            self.error("severity", 'must be a table: rule-id = "warning"')
            return {}
        found: dict[str, Severity] = {}
        for rule, level in value.items():
            self._known(f"[severity] {rule}", rule)
            if level in [*Severity]:
                found[rule] = Severity(str(level))
            else:
                self.error(f"[severity] {rule}", f"must be one of {', '.join(Severity)}")
        return found

    def _row(self, number: int, value: object) -> Row | None:
        name = f"[[accepted]] row {number}"
        if not is_object(value):
            self.error(name, f"must be a table with the keys {', '.join(_KEYS)}")
            return None
        row = value
        for key in sorted(row.keys() - set(_KEYS)):
            self.error(name, f"unknown key {key}; the keys are {', '.join(_KEYS)}")
        rule, path, reason = (self._text(name, row, key) for key in ("rule", "path", "reason"))
        if rule:
            self._known(name, rule)
        if path.count("*") > MAX_STARS:
            self.error(name, f"path has more than {MAX_STARS} stars")
        expires = row.get("expires")
        # A datetime is a date in Python, but not in a row.
        if expires is not None and type(expires) is not date:
            self.error(name, "expires must be a date without quotes, such as 2027-01-31")
            return None
        return Row(number=number, rule=rule, path=path, reason=reason, expires=expires)

    def _text(self, name: str, row: Mapping[str, object], key: str) -> str:
        value = row.get(key)
        if isinstance(value, str) and value.strip():
            return value
        hint = ": say why the finding is acceptable" if key == "reason" else ""
        self.error(name, f"{key} is missing{hint}" if value is None else f"{key} must be a non-empty string{hint}")
        return ""

    def _known(self, name: str, rule: str) -> None:
        if rule not in self._rules:
            close = get_close_matches(rule, self._rules, 1)
            hint = f"did you mean {close[0]}?" if close else "`mcp-bindgen rules` lists all rules"
            self.error(name, f"there is no rule {rule!r}; {hint}")
