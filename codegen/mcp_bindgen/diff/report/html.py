"""The report as one self-contained HTML file: readable and printable without scripts, which only add filters.

All text goes through the templates' autoescape. The page's Content-Security-Policy admits only our style sheet and our
script, by their digests.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from mcp_bindgen.diff.compatibility import Verdict
from mcp_bindgen.diff.finding import Pair, Subject
from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, PeerVerdict, Report, by_method
from mcp_bindgen.diff.report.text import verdicts
from mcp_bindgen.diff.rule import NOTHING, View
from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import plain


def render(report: Report, *, everything: bool = True) -> str:
    """Return the page, which always contains all findings."""
    from mcp_bindgen.emit.python.render import Page, Templates, inlined

    templates = Templates(shelf="report")
    views = {judged.rule.view for judged in report.findings}
    methods = sorted({plain(method) for judged in report.findings for method in judged.finding.methods})
    counts = {severity.value: report.count(severity) for severity in Severity} | {"accepted": report.accepted}
    title, _, total = words.headline(report).rpartition(": ")
    context: dict[str, object] = {
        "title": plain(title),
        "eyebrow": "The tools of a server" if report.is_contract else "Model Context Protocol: what changed",
        "old": plain(report.old.label),
        "new": plain(report.new.label),
        "total": total,
        "cards": tuple(_cards(report)),
        "remarks": [f"Version: {verdict}." for audience, verdict in verdicts(report) if audience == "version"],
        "severities": [(severity, count) for severity, count in counts.items() if count],
        "roles": [(verdict.role, _reader(report, verdict.role)) for verdict in report.peers],
        "views": [view for view in View if view in views],
        "methods": [(name, words.short(name)) for name in methods],
        "rows": [(plain(name), *numbers) for name, *numbers in by_method(report.findings)],
        "groups": tuple(_groups(report)),
        "stale": [
            plain(f"{report.baseline_file} row {row.row.number} ({row.row.rule}, {row.row.path}) {row.why}")
            for row in report.stale
        ],
        "tool": f"mcp-bindgen {tool_version()}",
        **inlined(templates, "diff.css", "diff.js"),
    }
    page = Page(path="", template="diff.html.j2", context=context)
    return templates.render([page], ())[page.path]


def _cards(report: Report) -> Iterator[tuple[str, str, Sequence[str], str]]:
    """Iterate over the verdicts: a number or a mark, its audience, lines of text, and the tone of all that."""
    for verdict in report.peers if report.options.view is not View.SOURCE else ():
        reader = _reader(report, verdict.role)
        peer = verdict.theirs if report.is_contract else f"a {verdict.theirs} {words.other(verdict.role)}"
        lines = (verdict.verdict, f"written for {verdict.ours}", f"against {peer}", *words.less(verdict))
        audience = f"{reader} {_noun(verdict)}"
        yield str(verdict.breaks or verdict.unproven), audience, [*map(plain, lines)], _tone(verdict)
    if report.options.view is not View.WIRE:
        tone = "mild" if report.source_breaks else "good"
        yield str(report.source_breaks), "source changes", ["may break Python source that uses the bindings"], tone
    found = report.compatibility
    contract, date, tone = _OUTCOMES[found.verdict]
    figure, audience = (contract, "contract") if report.is_contract else (date, "schema author")
    yield figure, audience, [plain(found.sentence)], tone


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


def _groups(report: Report) -> Iterator[dict[str, object]]:
    """Iterate over the findings of one rule at one severity."""
    for (accepted, severity, rule), group in groupby(
        report.findings, key=lambda judged: (judged.accepted, judged.severity, judged.rule)
    ):
        found = list(group)
        yield {
            "rule": rule,
            "severity": "accepted" if accepted else severity,
            "mark": f"accepted {severity}" if accepted else severity,
            "advice": words.advice(rule, found, report.options),
            "total": words.counted(len(found), "finding"),
            "entries": [_entry(report, judged) for judged in found],
        }


def _entry(report: Report, judged: Judged) -> dict[str, object]:
    """Return a finding; `role_words` and `method_words` have one entry per line, for the filters."""
    finding = judged.finding
    roles = sorted({report.options.role_in(pair).value for pair in judged.broken})
    gates = words.gates([judged])
    unproven = [f"{pair}: {words.unproven(finding, pair)}" for pair in sorted(finding.unproven)]
    where = [f"at {judged.where.source}:{judged.where.line}"] if judged.where else []
    reason = [f"accepted: {judged.reason}"] if judged.accepted else []
    badges = [f"breaks {_reader(report, role)}" for role in roles]
    return {
        "finding": finding,
        "state": "accepted" if judged.accepted else judged.severity,
        "place": plain(finding.place),
        "role_words": "\n".join(roles),
        "method_words": "\n".join(map(plain, finding.methods)),
        "methods": [*map(plain, words.carriers(finding))],
        "badges": [*badges, *([plain(f"behind {gates}")] if gates else ())],
        "sides": (
            _reading(report.old.label, finding.before, finding.old, finding.place),
            _reading(report.new.label, finding.after, finding.new, finding.place),
        ),
        "witnesses": [
            (pair, json.dumps(finding.witnesses[pair], ensure_ascii=False, indent=2))
            for pair in Pair
            if pair in finding.witnesses
        ],
        "notes": [*map(plain, (*reason, *unproven, *where))],
    }


def _reading(revision: str, subject: Subject | None, text: str, place: str) -> tuple[str, str, str, str]:
    """Return the reading of one side: its class in CSS, the revision, the name unless it is the place, the text."""
    parts = [subject.definition, subject.member] if subject else []
    name = ".".join(part for part in parts if part)
    shown = ("absent", "does not exist") if text == NOTHING else ("present", plain(text))
    return shown[0], plain(revision), plain(name) if name != place else "", shown[1]
