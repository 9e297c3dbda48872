"""Reports of a comparison: a page for people, grouped by cause, and a JSON document for programs."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.rules import CATALOGUE, Rule, Severity

MAX_NAMES = 4
"""How many names a line lists before it only counts the rest."""
MAX_WITNESS = 200
"""How many characters of a message a line shows."""

_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
_RANK = {rule.id: number for number, rule in enumerate(CATALOGUE)}
_PEERS = {
    Pair.OLD_CLIENT: "a client written for {old} with a server of {new}",
    Pair.NEW_CLIENT: "a client written for {new} with a server of {old}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings between two revisions."""

    old: str
    new: str
    findings: Sequence[Finding]

    def breaks(self, pair: Pair) -> int:
        """How many findings break that pair of peers."""
        return sum(pair in finding.proven for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings that are one change: the same rule on members of the same name, with the same readings."""

    rule: Rule
    what: str
    findings: tuple[Finding, ...]


def causes(findings: Sequence[Finding]) -> tuple[Cause, ...]:
    """Group findings by cause, the worst first."""
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        _, dot, member = finding.place.rpartition(".")
        peers = sorted(pair.value for pair in finding.proven)
        same = (member, finding.old, finding.new) if dot else tuple(peers)
        groups.setdefault((finding.severity.value, finding.rule.id, *same), []).append(finding)
    found = [Cause(group[0].rule, _what(group), tuple(group)) for group in groups.values()]
    return tuple(sorted(found, key=lambda c: (_ORDER[c.findings[0].severity], _RANK[c.rule.id], c.what)))


def _what(group: Sequence[Finding]) -> str:
    """Say what changed: the one place, or the member and the definitions that have it, or the methods."""
    first = group[0]
    change = f"{first.old} -> {first.new}"
    if "." not in first.place:
        names = sorted({finding.new if finding.old == "-" else finding.old for finding in group})
        return _listed(names)
    owner, _, member = first.place.rpartition(".")
    if len(group) == 1:
        return f"{owner}.{member}: {change}"
    owners = sorted({finding.place.rpartition(".")[0] for finding in group})
    return f"{member}: {change}, in {_listed(owners)}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NAMES])
    return shown if len(names) <= MAX_NAMES else f"{shown} and {len(names) - MAX_NAMES} more"


def text(report: Report, *, everything: bool) -> Iterator[str]:
    """Iterate over the lines of the page; changes that break nobody are only counted unless `everything` is asked."""
    yield f"{report.old} to {report.new}: {_count(len(report.findings), 'change')}"
    for pair, words in _PEERS.items():
        number = report.breaks(pair)
        yield f"  {words.format(old=report.old, new=report.new)}: {_count(number, 'break')}"
    shown = [f for f in report.findings if everything or f.severity is not Severity.INFO]
    previous: tuple[Severity, str] | None = None
    for cause in causes(shown):
        severity = cause.findings[0].severity
        if previous != (severity, cause.rule.id):
            yield ""
            yield f"{severity.value} {cause.rule.id}: {cause.rule.purpose} {cause.rule.advice}"
            previous = (severity, cause.rule.id)
        yield f"  {cause.what}{_broken(cause)}"
        if everything:
            yield from _witness(cause)
    rest = len(report.findings) - len(shown)
    if rest:
        yield ""
        yield f"and {_count(rest, 'change')} that break nobody (--all shows them, and a message that proves each break)"


def _broken(cause: Cause) -> str:
    pairs = sorted({pair.value for finding in cause.findings for pair in finding.proven})
    methods = sorted({carrier.method for finding in cause.findings for carrier in finding.carriers})
    where = f"; {_listed(methods)}" if "." in cause.findings[0].place else ""
    return f"{where} [{' and '.join(pairs)}]" if pairs else where


def _witness(cause: Cause) -> Iterator[str]:
    for finding in cause.findings:
        for pair in sorted(finding.breaks):
            message = finding.witnesses.get(pair)
            if message is None:
                yield f"    {pair.value}: no message that shows it was found"
            else:
                line = json.dumps(message, ensure_ascii=False)
                yield f"    {pair.value}: {line if len(line) <= MAX_WITNESS else line[:MAX_WITNESS] + '...'}"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON: ``old``, ``new``, ``breaks`` by pair, and ``findings``, each with its witnesses."""
    return {
        "old": report.old,
        "new": report.new,
        "breaks": {pair.value: report.breaks(pair) for pair in Pair},
        "findings": [_finding(finding) for finding in report.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "fingerprint": finding.fingerprint,
        "rule": finding.rule.id,
        "severity": finding.severity.value,
        "place": finding.place,
        "old": finding.old,
        "new": finding.new,
        "methods": sorted({carrier.method for carrier in finding.carriers}),
        "breaks": sorted(pair.value for pair in finding.proven),
        "unproven": sorted(pair.value for pair in finding.unproven),
        "purpose": finding.rule.purpose,
        "advice": finding.rule.advice,
        "witnesses": {pair.value: message for pair, message in finding.witnesses.items()},
    }
