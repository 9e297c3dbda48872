"""The wording of reports in every format. Nothing here is escaped for a format."""

from collections.abc import Callable, Iterable, Sequence

from mcp_bindgen.diff.compatibility import Verdict
from mcp_bindgen.diff.finding import Finding, Pair, Travel
from mcp_bindgen.diff.report.model import Cause, Judged, Line, PeerVerdict, Report, Side
from mcp_bindgen.diff.report.options import Options, Role
from mcp_bindgen.diff.rule import NOTHING, Rule
from mcp_bindgen.findings.severity import Severity

MAX_NAMES = 3
"""The number of names that a line lists before it only counts the rest."""
MAX_SUBJECTS = 8
"""The number of names on a line that contains only names."""
MAX_ITEMS = 16
"""The number of names on a line of the story."""
MAX_METHODS = 2
"""The number of methods that a line lists; if there are more, it shows only their number."""
MAX_READING = 120
"""The number of characters of a reading that a line shows."""


def short(text: str, limit: int = MAX_READING) -> str:
    """Cut a text that is too long for a line."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def counted(number: int, noun: str) -> str:
    """Spell a number of things: ``no breaks``, ``1 break``."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def listed(names: Sequence[str], most: int | None = MAX_NAMES) -> str:
    """List names, truncated after the first `most`, unless one alone is left; None lists all."""
    left = 0 if most is None else len(names) - most
    return ", ".join(names) if left < 2 else f"{', '.join(names[:most])} and {left} more"


def headline(report: Report) -> str:
    """Return one line: the two sides and how many findings of which severity there are."""
    counts = [counted(report.count(severity), severity.value) for severity in Severity if report.count(severity)]
    if report.accepted:
        counts.append(f"{report.accepted} accepted")
    return f"{report.old.label} to {report.new.label}: {', '.join(counts) or 'no change'}"


def told(line: Line, mark: Callable[[str], str] = str) -> str:
    """Spell a line of the story, with each name marked."""
    return f"{line.title}: {listed([mark(name) for name in line.names], MAX_ITEMS)}"


def halves(report: Report) -> str:
    """Say of each file of a released revision whether the shipped half was read with it; empty without such files."""
    files = [side for side in (report.old, report.new) if side.dated and side.name != side.revision]
    return "; ".join(
        f"{side.name} {'alone' if len(side.sources) < 2 else f'with the shipped {side.sources[1].kind}'}"
        for side in files
    )


def who(verdict: PeerVerdict) -> str:
    """Say which two peers a verdict is about."""
    return f"a {verdict.role} written for {verdict.ours} against a {verdict.theirs} {other(verdict.role)}"


def other(role: Role) -> Role:
    """Return the peer's role."""
    return Role.SERVER if role is Role.CLIENT else Role.CLIENT


def how_many(verdict: PeerVerdict) -> str:
    """Give a verdict, and say how many findings it counts and how many of them matter less."""
    named = [] if verdict.verdict is Verdict.BREAKS else [verdict.verdict]
    breaks = [counted(verdict.breaks, "break")] if verdict.breaks else []
    unproven = [f"{counted(verdict.unproven, 'finding')} not proven"] if verdict.unproven else []
    return ", ".join([*named, *breaks, *unproven, *less(verdict)])


def less(verdict: PeerVerdict) -> list[str]:
    """Say how many breaks of a verdict matter less, and why."""
    some = f"{verdict.gated} of them" if verdict.gated < verdict.breaks else "all" * (verdict.breaks > 1)
    gated = [f"{some} behind a capability".strip()] if verdict.gated else []
    return gated + ([f"{verdict.accepted} accepted"] if verdict.accepted else [])


def source_verdict(report: Report) -> str:
    """Say how many findings concern Python source."""
    return f"{counted(report.source_breaks, 'change')} may break it" if report.source_breaks else "no change breaks it"


def gate(old: Side, new: Side) -> str:
    """Say what the negotiation of a version means for the findings."""
    if not (old.dated and new.dated):
        return "one side has no date; if it keeps the date of the other, version negotiation cannot separate them"
    if old.revision == new.revision:
        return f"both sides are dated {old.revision}, so version negotiation cannot separate them"
    return "peers that negotiate a common revision are not affected"


def no_roots(side: Side) -> str:
    """Say where the directions of messages come from if a side does not state them."""
    return f"{side.label} has no root unions (ClientRequest, ...): its messages have the directions of the other side"


def tag(judged: Judged, options: Options) -> str:
    """Name the role that a finding breaks: client, server, both, or nothing."""
    roles = {options.role_in(pair).value for pair in judged.broken}
    return "both" if len(roles) > 1 else "".join(roles)


def advice(rule: Rule, found: Iterable[Judged], options: Options) -> str:
    """Return what the reader's program should do about findings of a rule, as a sender or as a receiver."""
    sends = {
        (options.role_in(pair) is Role.CLIENT) == (carrier.travel is Travel.TO_SERVER)
        for judged in found
        for pair in judged.broken
        for carrier in judged.finding.carriers
        if pair in judged.finding.breaks_in(carrier)
    }
    if not rule.to_receivers or sends <= {True}:
        return rule.advice
    return rule.to_receivers if sends == {False} else f"Senders: {rule.advice} Receivers: {rule.to_receivers}"


def reading(finding: Finding) -> str:
    """Return what changed: the only reading, or both with an arrow between them."""
    sides = [short(side) for side in (finding.old, finding.new) if side != NOTHING]
    return " -> ".join(sides)


def what(cause: Cause, *, most: int | None = MAX_NAMES) -> str:
    """Name the subject of a cause: one place, or a property and `most` definitions that have it, or names."""
    first = cause.first.finding
    owner, dot, member = first.place.rpartition(".")
    if not dot:
        return listed(sorted({_name(judged.finding) for judged in cause.findings}), most and MAX_SUBJECTS)
    if len(cause.findings) == 1:
        return f"{owner}.{member}: {reading(first)}"
    owners = sorted({judged.finding.place.rpartition(".")[0] for judged in cause.findings})
    return f"{member}: {reading(first)}, in {listed(owners, most)}"


def methods(cause: Cause) -> str:
    """List or count the methods that carry a cause; empty if the cause is about methods."""
    names = method_names(cause)
    return f"{len(names)} methods" if len(names) > MAX_METHODS else ", ".join(names)


def method_names(cause: Cause) -> list[str]:
    """List the methods that carry a cause; empty if the cause is about methods."""
    return sorted({name for judged in cause.findings for name in carriers(judged.finding)})


def carriers(finding: Finding) -> tuple[str, ...]:
    """List the methods that carry a finding, unless the finding is about that method itself."""
    return () if set(finding.methods) <= {_name(finding)} else finding.methods


def gates(findings: Iterable[Judged]) -> str:
    """Name the capabilities that findings are behind, for the pairs that they break."""
    found = {judged.finding.gates.get(pair, "") for judged in findings for pair in judged.broken}
    return listed(sorted(gate.removeprefix("capability:") for gate in found if gate))


def subject(finding: Finding) -> str:
    """Name the subject of a finding as briefly as possible."""
    return finding.place if "." in finding.place else _name(finding)


def unproven(finding: Finding, pair: Pair) -> str:
    """Explain that no message proves a break, and why."""
    why = finding.why_unproven.get(pair)
    return f"no message that demonstrates this was found{f': {why}' if why else ''}"


def _name(finding: Finding) -> str:
    """Name the subject of a finding without a property: a method or an alternative, with its place if that helps."""
    text = reading(finding)
    says_it_all = finding.methods or finding.place in (finding.old, finding.new)
    return text if says_it_all else f"{finding.place}: {text}"
