"""The output of `mcp-bindgen impact`: text by file and line, JSON, or SARIF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_bindgen.diff.finding import Finding
from mcp_bindgen.diff.rule import Severity
from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.impact.bindings import PythonName
from mcp_bindgen.impact.marks import UseKind, what

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
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
    yield f"{impact.old} to {impact.new}: {_count(impact.lines, 'line')} of {_count(impact.files, 'file')} affected"
    for path, in_file in groupby(impact.touched, key=lambda touched: touched.spot.path):
        yield ""
        yield str(path)
        for number, group in groupby(in_file, key=lambda touched: touched.spot.line):
            on_line = list(group)
            code = impact.code(on_line[0].spot)
            yield f"  {number}: {code if len(code) <= MAX_CODE else code[:MAX_CODE] + '...'}"
            for touched in on_line:
                yield f"      {touched.finding.rule.id}: {what(touched.finding)}"
    yield from _rules(impact.touched)
    yield from _unresolved(impact, verbose)


def _rules(touched: Iterable[Touched]) -> Iterator[str]:
    rules = {found.finding.rule.id: found.finding.rule for found in touched}
    if rules:
        yield ""
        yield "What to do"
    for rule in sorted(rules.values(), key=lambda rule: rule.id):
        yield f"  {rule.id}: {rule.purpose} {rule.advice}"


def _unresolved(impact: Impact, verbose: bool) -> Iterator[str]:
    if not impact.unresolved:
        return
    number = len(impact.unresolved)
    yield ""
    yield f"{_count(number, 'use')} could not be resolved and may be affected too"
    shown = impact.unresolved if verbose else impact.unresolved[:MAX_UNRESOLVED]
    for unresolved in shown:
        spot = unresolved.spot
        yield f"  {spot.path}:{spot.line}:{spot.column}: {unresolved.name}: {unresolved.reason}"
    if len(shown) < number:
        yield f"  and {number - len(shown)} more; --verbose lists them all"


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
    rules = {touched.finding.rule.id: touched.finding.rule for touched in impact.touched}
    driver = {
        "name": "mcp-bindgen",
        "version": tool_version(),
        "rules": [
            {"id": rule.id, "shortDescription": {"text": rule.purpose}, "help": {"text": rule.advice}}
            for rule in rules.values()
        ],
    }
    results: list[dict[str, Any]] = [
        {
            "ruleId": touched.finding.rule.id,
            "level": _LEVELS[touched.finding.severity],
            "message": {"text": f"{what(touched.finding)}. {touched.finding.rule.advice}"},
            "locations": [_location(touched.spot)],
            "partialFingerprints": {"mcpBindgenFinding/v1": touched.finding.fingerprint},
        }
        for touched in impact.touched
    ]
    results += (
        {
            "level": "note",
            "kind": "review",
            "message": {"text": f"{unresolved.name}: {unresolved.reason}"},
            "locations": [_location(unresolved.spot)],
        }
        for unresolved in impact.unresolved
    )
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _location(spot: Spot) -> dict[str, Any]:
    region = {"startLine": spot.line, "startColumn": max(spot.column, 1)}
    return {"physicalLocation": {"artifactLocation": {"uri": quote(spot.path.as_posix())}, "region": region}}


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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def worst(touched: Sequence[Touched]) -> str | None:
    """Return the worst severity of the affected uses, None if there are none."""
    order = ("error", "warning", "info")
    found = {t.finding.severity.value for t in touched}
    return next((severity for severity in order if severity in found), None)
