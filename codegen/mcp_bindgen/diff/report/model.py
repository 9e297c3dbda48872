"""The content of a report in every format: a verdict per role, and findings by cause and by method."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mcp_bindgen.diff.compatibility import Compatibility, Verdict
from mcp_bindgen.diff.finding import Finding, Pair
from mcp_bindgen.diff.report.options import Options, Peer, Role
from mcp_bindgen.diff.report.places import SourceFile
from mcp_bindgen.diff.rule import Rule, View
from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.findings.baseline import Baseline, Stale
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import Location
from mcp_bindgen.ir.nodes import Source

_ORDER: Mapping[str, int] = {rule.id: number for number, rule in enumerate(CATALOGUE)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison: what the user named, its revision, and its source files.

    `file` is the file that findings can be located in, None for a released revision. `dated` is false for a schema that
    does not state its revision. `has_roots` is false for a schema without root unions, which does not say who sends
    what.
    """

    name: str
    revision: str
    sources: tuple[Source, ...] = ()
    file: SourceFile | None = None
    dated: bool = True
    has_roots: bool = True

    @property
    def label(self) -> str:
        """The side's name in the report."""
        if self.name == self.revision or not self.dated:
            return self.name
        return f"{self.revision} ({self.name})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A finding and its evaluation.

    `broken` are the pairs of peers that it breaks, of those that the reader asked for. `reason` says why it is
    accepted, empty if it is not. `fails` says whether it reaches the threshold.
    """

    finding: Finding
    severity: Severity
    broken: tuple[Pair, ...]
    reason: str
    fails: bool
    where: Location | None

    @property
    def rule(self) -> Rule:
        """The rule that found it."""
        return self.finding.rule

    @property
    def accepted(self) -> bool:
        """Whether it is accepted."""
        return bool(self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerVerdict:
    """The verdict on one pair of peers.

    `breaks` counts the findings that break it, `gated` those of them behind a capability, `unproven` those that may
    break it, and `accepted` those of both kinds that are accepted.
    """

    verdict: Verdict
    role: Role
    ours: str
    theirs: str
    breaks: int
    gated: int
    unproven: int
    accepted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Findings that are one change: the same rule on members of the same name, with the same readings."""

    findings: tuple[Judged, ...]

    @property
    def first(self) -> Judged:
        """One of the findings, from which to read what they share."""
        return self.findings[0]

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods whose messages carry any of the findings, sorted."""
        return tuple(sorted({method for judged in self.findings for method in judged.finding.methods}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One big change: a title, and the names of what changed, which come from a schema."""

    title: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings that a reader asked for, the worst first, and what follows from them.

    `story` says what a person must know, a line for each big change. `command` produced the report. `is_contract` is
    true if the sides are the tools of one server, not revisions: then the report is only for its callers, no version is
    negotiated, and every message is a call.
    """

    old: Side
    new: Side
    options: Options
    findings: tuple[Judged, ...]
    compatibility: Compatibility
    baseline_file: str = ""
    stale: tuple[Stale, ...] = ()
    story: tuple[Line, ...] = ()
    command: str = "mcp-bindgen diff"
    is_contract: bool = False

    @property
    def peers(self) -> tuple[PeerVerdict, ...]:
        """The verdict for each role that was asked for."""
        sides = (self.old.label, self.new.label)
        ours, theirs = sides if self.options.peer is Peer.NEWER else sides[::-1]
        found: list[PeerVerdict] = []
        for pair in self.options.pairs:
            broken = [judged for judged in self.findings if pair in judged.broken]
            unproven = [
                judged for judged in self.findings if pair in judged.finding.unproven - judged.finding.gates.keys()
            ]
            found.append(
                PeerVerdict(
                    verdict=self.compatibility.verdicts[pair],
                    role=self.options.role_in(pair),
                    ours=ours,
                    theirs=theirs,
                    breaks=len(broken),
                    gated=sum(pair in judged.finding.gates for judged in broken),
                    unproven=len(unproven),
                    accepted=sum(
                        judged.accepted for judged in [*broken, *(one for one in unproven if one not in broken)]
                    ),
                )
            )
        return tuple(found)

    @property
    def source_breaks(self) -> int:
        """The number of findings that may break Python source that uses the bindings."""
        return sum(judged.rule.breaks_source for judged in self.findings)

    def count(self, severity: Severity) -> int:
        """Count the findings of a severity that are not accepted."""
        return sum(judged.severity is severity and not judged.accepted for judged in self.findings)

    @property
    def accepted(self) -> int:
        """The number of accepted findings."""
        return sum(judged.accepted for judged in self.findings)

    @property
    def fails(self) -> bool:
        """Whether a finding reaches the threshold."""
        return any(judged.fails for judged in self.findings)


def make_report(
    findings: Sequence[Finding],
    *,
    old: Side,
    new: Side,
    options: Options,
    baseline: Baseline,
    compatibility: Compatibility,
) -> Report:
    """Return the report on all the findings between two sides, as a reader asked for it."""
    deciding = {f.fingerprint for f in compatibility.deciding} if options.new_revision else set[str]()
    if options.new_revision or options.fail_on:
        asked = frozenset(Pair if options.new_revision else options.pairs)
        deciding |= {f.fingerprint for f in compatibility.undecided if asked & (f.unproven - f.gates.keys())}
    # A finding that makes the run fail is shown to every role, in every view.
    shown = [
        _judge(finding, options, baseline, (new, old), deciding)
        for finding in findings
        if options.shows(finding) or finding.fingerprint in deciding
    ]
    return Report(
        old=old,
        new=new,
        options=options,
        findings=tuple(sorted(shown, key=_worst_first)),
        compatibility=compatibility,
        baseline_file=baseline.source,
        stale=baseline.stale(findings),
    )


def causes(findings: Iterable[Judged]) -> tuple[Cause, ...]:
    """Group findings by cause, the worst first."""
    groups: dict[tuple[object, ...], list[Judged]] = {}
    for judged in findings:
        finding = judged.finding
        _, dot, member = finding.place.rpartition(".")
        same = (member, finding.old, finding.new) if dot else ()
        gated = tuple(sorted(finding.gates.items()))
        key = (judged.severity, finding.rule.id, judged.reason, judged.broken, gated, *same)
        groups.setdefault(key, []).append(judged)
    return tuple(Cause(findings=tuple(group)) for group in groups.values())


def by_method(findings: Iterable[Judged]) -> tuple[tuple[str, int, int], ...]:
    """Return how many errors and warnings each method's messages carry, the worst first, without accepted findings."""
    counts: dict[str, list[int]] = {}
    for judged in findings:
        if judged.severity is Severity.INFO or judged.accepted:
            continue
        for method in judged.finding.methods:
            counts.setdefault(method, [0, 0])[judged.severity is not Severity.ERROR] += 1
    found = [(method, errors, warnings) for method, (errors, warnings) in counts.items()]
    return tuple(sorted(found, key=lambda row: (-row[1], -row[2], row[0])))


def _judge(
    finding: Finding, options: Options, baseline: Baseline, sides: tuple[Side, Side], deciding: Collection[str]
) -> Judged:
    severity = options.severity(finding)
    row = baseline.row_of(finding)
    files = {side.file.path: side.file for side in reversed(sides) if side.file}  # The new side of one path.
    file = next((file for file in reversed(files.values()) if file.has(finding.pointer)), None)
    file = file or next((side.file for side in sides if side.file), None)
    return Judged(
        finding=finding,
        severity=severity,
        broken=options.broken(finding),
        reason=row.reason if row else "",
        fails=row is None and (options.counts(severity) or finding.fingerprint in deciding),
        where=file.locate(finding.pointer) if file else None,
    )


def _worst_first(judged: Judged) -> tuple[object, ...]:
    finding = judged.finding
    is_source = finding.rule.view is View.SOURCE
    rank = (judged.accepted, judged.severity.rank, is_source, _ORDER[finding.rule.id])
    return (*rank, [pair.value for pair in judged.broken], finding.place, finding.old, finding.new)
