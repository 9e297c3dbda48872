"""The report as one self-contained HTML file: readable and printable without scripts, which only add filters.

All text goes through the templates' autoescape. The page's Content-Security-Policy admits only our style sheet and our
script, by their digests.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from mcp_bindgen.diff.compatibility import Verdict
from mcp_bindgen.diff.finding import Pair, Subject
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, PeerVerdict, Report, by_method
from mcp_bindgen.diff.report.text import verdicts
from mcp_bindgen.diff.rule import NOTHING, Severity, View
from mcp_bindgen.emit.header import tool_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One verdict: a number or a mark, its audience, and its lines of text."""

    figure: str
    audience: str
    lines: tuple[str, ...]
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The reading of one side; `absent` is the CSS class of a side on which the thing does not exist.

    `subject` is the side's name for the thing, empty if that is its place.
    """

    revision: str
    subject: str
    text: str
    absent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One finding.

    `role_words` and `method_words` have one entry per line, for the filters. `witnesses` are messages that prove a
    break, each with its pair of peers.
    """

    fingerprint: str
    state: str
    place: str
    view: str
    roles: tuple[str, ...]
    role_words: str
    method_words: str
    methods: tuple[str, ...]
    badges: tuple[str, ...]
    sides: tuple[Reading, ...]
    witnesses: tuple[tuple[Pair, str], ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The findings of one rule at one severity."""

    rule: str
    severity: str
    mark: str
    purpose: str
    advice: str
    total: str
    entries: tuple[Entry, ...]


def render(report: Report, *, everything: bool = True) -> str:
    """Return the page, which always contains all findings."""
    from mcp_bindgen.emit.python.render import Page, Templates, inlined

    templates = Templates(shelf="report")
    views = {judged.rule.view for judged in report.findings}
    methods = sorted({words.plain(method) for judged in report.findings for method in judged.finding.methods})
    counts = {severity.value: report.count(severity) for severity in Severity} | {"accepted": report.accepted}
    title, _, total = words.headline(report).rpartition(": ")
    context: dict[str, object] = {
        "title": words.plain(title),
        "eyebrow": "The tools of a server" if report.is_contract else "Model Context Protocol: what changed",
        "old": words.plain(report.old.label),
        "new": words.plain(report.new.label),
        "total": total,
        "cards": tuple(_cards(report)),
        "remarks": [f"Version: {verdict}." for audience, verdict in verdicts(report) if audience == "version"],
        "severities": [(severity, count) for severity, count in counts.items() if count],
        "roles": [(verdict.role, _reader(report, verdict.role)) for verdict in report.peers],
        "views": [view for view in View if view in views],
        "methods": [(name, words.short(name)) for name in methods],
        "rows": [(words.plain(name), *numbers) for name, *numbers in by_method(report.findings)],
        "groups": tuple(_groups(report)),
        "stale": [
            words.plain(f"{report.baseline_file} row {row.row.number} ({row.row.rule}, {row.row.path}) {row.why}")
            for row in report.stale
        ],
        "tool": f"mcp-bindgen {tool_version()}",
        **inlined(templates, "diff.css", "diff.js"),
    }
    page = Page(path="", template="diff.html.j2", context=context)
    return templates.render([page], ())[page.path]


def _cards(report: Report) -> Iterator[Card]:
    for verdict in report.peers if report.options.view is not View.SOURCE else ():
        reader = _reader(report, verdict.role)
        peer = verdict.theirs if report.is_contract else f"a {verdict.theirs} {words.other(verdict.role)}"
        lines = (f"written for {verdict.ours}", f"against {peer}")
        yield Card(
            figure=str(verdict.breaks or verdict.unproven),
            audience=f"{reader} {_noun(verdict)}",
            lines=tuple(words.plain(line) for line in (verdict.verdict, *lines, *words.less(verdict))),
            tone=_tone(verdict),
        )
    if report.options.view is not View.WIRE:
        yield Card(
            figure=str(report.source_breaks),
            audience="source changes",
            lines=("may break Python source that uses the bindings",),
            tone="mild" if report.source_breaks else "good",
        )
    found = report.compatibility
    contract, date, tone = _OUTCOMES[found.verdict]
    audience = "contract" if report.is_contract else "schema author"
    figure = contract if report.is_contract else date
    yield Card(figure=figure, audience=audience, lines=(words.plain(found.sentence),), tone=tone)


_OUTCOMES = {
    Verdict.COMPATIBLE: ("kept", "same date", "good"),
    Verdict.NOT_PROVEN: ("unclear", "unclear", "mild"),
    Verdict.BREAKS: ("broken", "new date", "bad"),
}
"""What a verdict means for a contract and for the date of a revision, and the color of its card."""


def _noun(verdict: PeerVerdict) -> str:
    return "not proven" if verdict.unproven and not verdict.breaks else "break" if verdict.breaks == 1 else "breaks"


def _tone(verdict: PeerVerdict) -> str:
    if verdict.breaks + verdict.unproven <= verdict.accepted:
        return "good"
    return "bad" if verdict.breaks else "mild"


def _reader(report: Report, role: str) -> str:
    """Name the program that breaks; a program that calls a server's tools is a caller."""
    return "caller" if report.is_contract else role


def _groups(report: Report) -> Iterator[Group]:
    for (accepted, severity, rule), group in groupby(
        report.findings, key=lambda judged: (judged.accepted, judged.severity, judged.rule)
    ):
        found = list(group)
        entries = tuple(_entry(report, judged) for judged in found)
        yield Group(
            rule=rule.id,
            severity="accepted" if accepted else severity,
            mark=f"accepted {severity}" if accepted else severity,
            purpose=rule.purpose,
            advice=words.advice(rule, found, report.options),
            total=words.counted(len(entries), "finding"),
            entries=entries,
        )


def _entry(report: Report, judged: Judged) -> Entry:
    finding = judged.finding
    roles = tuple(sorted({report.options.role_in(pair).value for pair in judged.broken}))
    gates = words.gates([judged])
    unproven = [f"{pair}: {words.unproven(finding, pair)}" for pair in sorted(finding.unproven)]
    where = [f"at {judged.where.source}:{judged.where.line}"] if judged.where else []
    reason = [f"accepted: {judged.reason}"] if judged.accepted else []
    return Entry(
        fingerprint=finding.fingerprint,
        state="accepted" if judged.accepted else judged.severity,
        place=words.plain(finding.place),
        view=finding.rule.view,
        roles=roles,
        role_words="\n".join(roles),
        method_words="\n".join(words.plain(method) for method in finding.methods),
        methods=tuple(words.plain(method) for method in words.carriers(finding)),
        badges=(
            *(f"breaks {_reader(report, role)}" for role in roles),
            *([words.plain(f"behind {gates}")] if gates else ()),
        ),
        sides=(
            _reading(report.old.label, finding.before, finding.old, finding.place),
            _reading(report.new.label, finding.after, finding.new, finding.place),
        ),
        witnesses=tuple(_witnesses(judged)),
        notes=tuple(words.plain(note) for note in (*reason, *unproven, *where)),
    )


def _reading(revision: str, subject: Subject | None, text: str, place: str) -> Reading:
    parts = [subject.definition, subject.member] if subject else []
    name = ".".join(part for part in parts if part)
    absent = text == NOTHING
    return Reading(
        revision=words.plain(revision),
        subject=words.plain(name) if name != place else "",
        text="does not exist" if absent else words.plain(text),
        absent="absent" if absent else "present",
    )


def _witnesses(judged: Judged) -> Iterator[tuple[Pair, str]]:
    finding = judged.finding
    for pair in Pair:
        if pair in finding.witnesses:
            message = json.dumps(finding.witnesses[pair], ensure_ascii=False, indent=2)
            yield pair, message
