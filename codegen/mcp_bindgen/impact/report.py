"""The output of `mcp-bindgen impact`: text by file and line, JSON, or SARIF."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.impact.bindings import PythonName
from mcp_bindgen.impact.marks import UseKind, what
from mcp_bindgen.ir.diagnostics import count

MAX_UNRESOLVED = 20
"""The number of unresolved uses that the page lists by default."""
MAX_CODE = 100
"""The number of characters of a line of code that the page shows."""


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a file: line and column count from 1."""

    path: Path
    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A use of a name that a change affects."""

    spot: Spot
    kind: UseKind
    name: PythonName
    finding: Finding


@dataclass(frozen=True, slots=True, order=True)
class Unresolved:
    """A possible use of the bindings: its name, and why it could not be resolved."""

    spot: Spot
    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """How the differences between two revisions affect a user's code.

    `files` is the number of files read, `imports` the number of those that use the bindings. `unread` are the files
    that could not be read, `lines_of` the lines of the others.
    """

    old: str
    new: str
    packages: tuple[str, ...]
    files: int
    touched: tuple[Touched, ...]
    unresolved: tuple[Unresolved, ...]
    lines_of: Mapping[Path, Sequence[str]]
    imports: int
    unread: tuple[Path, ...] = ()

    @property
    def lines(self) -> int:
        """The number of affected lines."""
        return len({(touched.spot.path, touched.spot.line) for touched in self.touched})

    def code(self, spot: Spot) -> str:
        """Return the line of a place, without surrounding whitespace."""
        lines = self.lines_of[spot.path]
        return lines[spot.line - 1].strip() if 0 < spot.line <= len(lines) else ""


def render(impact: Impact, *, verbose: bool) -> str:
    """Return the page: every affected line below its file, with what changed and what to do about it."""
    return "\n".join(_page(impact, verbose)) + "\n"


def _page(impact: Impact, verbose: bool) -> Iterator[str]:
    yield f"{impact.old} to {impact.new}: {count(impact.lines, 'line')} of {count(impact.files, 'file')} affected"
    for path, in_file in groupby(impact.touched, key=lambda touched: touched.spot.path):
        yield f"\n{path}"
        for number, on_line in groupby(in_file, key=lambda touched: touched.spot.line):
            code = impact.code(Spot(path, number, 1))
            yield f"  {number}: {code if len(code) <= MAX_CODE else code[:MAX_CODE] + '...'}"
            yield from (f"      {touched.finding.rule.id}: {what(touched.finding)}" for touched in on_line)
    rules = {found.finding.rule.id: found.finding.rule for found in impact.touched}
    if rules:
        yield "\nWhat to do"
        yield from (f"  {name}: {rule.purpose} {rule.advice}" for name, rule in sorted(rules.items()))
    number = len(impact.unresolved)
    if number:
        yield f"\n{count(number, 'use')} could not be resolved and may be affected too"
    for each in impact.unresolved if verbose else impact.unresolved[:MAX_UNRESOLVED]:
        yield f"  {each.spot.path}:{each.spot.line}:{each.spot.column}: {each.name}: {each.reason}"
    if number > MAX_UNRESOLVED and not verbose:
        yield f"  and {number - MAX_UNRESOLVED} more; --verbose lists them all"


def as_json(impact: Impact) -> dict[str, Any]:
    """Return the report as JSON: ``old``, ``new``, ``files``, ``affected``, ``unresolved``, ``unreadable`` (files).

    Each affected use has ``file``, ``line``, ``column``, ``code``, ``use``, ``name``, and of the finding ``rule``,
    ``severity``, ``fingerprint``, ``place``, ``old``, ``new``, ``purpose``, ``advice``.
    """
    return {
        "old": impact.old,
        "new": impact.new,
        "packages": list(impact.packages),
        "files": impact.files,
        "affected": [_touched(touched, impact) for touched in impact.touched],
        "unresolved": [
            {**_place(unresolved.spot), "name": unresolved.name, "reason": unresolved.reason}
            for unresolved in impact.unresolved
        ],
        "unreadable": [path.as_posix() for path in impact.unread],
    }


def as_sarif(impact: Impact) -> dict[str, Any]:
    """Return the report as SARIF 2.1.0 (OASIS), which code scanning services read."""
    from mcp_bindgen.diff.report.sarif import about
    from mcp_bindgen.findings import sarif

    rules = {touched.finding.rule.id: touched.finding.rule for touched in impact.touched}
    ids = [*rules]
    results = [
        sarif.result(
            (touched.finding.rule.id, ids.index(touched.finding.rule.id)),
            touched.finding.severity,
            f"{what(touched.finding)}. {touched.finding.rule.advice}",
            _location(touched.spot),
            touched.finding.fingerprint,
        )
        for touched in impact.touched
    ]
    for each in impact.unresolved:
        result = {"level": "note", "kind": "review", "message": {"text": f"{each.name}: {each.reason}"}}
        results.append({**result, "locations": [_location(each.spot)]})
    return sarif.log(map(about, rules.values()), results, notifications=None)


def _location(spot: Spot) -> dict[str, Any]:
    from mcp_bindgen.findings import sarif

    return sarif.in_file(spot.path, spot.line, spot.column)


def _place(spot: Spot) -> dict[str, Any]:
    return {"file": spot.path.as_posix(), "line": spot.line, "column": spot.column}


def _touched(touched: Touched, impact: Impact) -> dict[str, Any]:
    finding = touched.finding
    return {
        **_place(touched.spot),
        "code": impact.code(touched.spot),
        "use": touched.kind.value,
        "name": str(touched.name),
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        "fingerprint": finding.fingerprint,
        "place": finding.place,
        "old": finding.old,
        "new": finding.new,
        "purpose": finding.rule.purpose,
        "advice": finding.rule.advice,
    }
