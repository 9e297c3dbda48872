"""The report as Markdown, for pull requests and release notes. Names from a schema appear only in code spans."""

import json
import re
from collections.abc import Iterator
from itertools import groupby

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Cause, Report, by_method, causes
from mcp_bindgen.diff.report.text import verdicts
from mcp_bindgen.diff.rule import Severity

_BACKTICKS = re.compile(r"`+")
_MARKUP = re.compile(r"([\\`*_\[\]|~<>&])")


def render(report: Report, *, everything: bool) -> str:
    """Return the document; the short one only counts harmless changes and shows no messages."""
    return "\n".join(_document(report, everything)) + "\n"


def code(text: str) -> str:
    """Return a text as a code span that its content cannot end, not even in a table cell."""
    line = words.plain(text)
    fence = "`" * (1 + max((len(run) for run in _BACKTICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or not line.strip() else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def prose(text: str) -> str:
    """Return a text as one line with all markup escaped."""
    return _MARKUP.sub(r"\\\1", words.plain(text))


def _document(report: Report, everything: bool) -> Iterator[str]:
    yield f"# {prose(words.headline(report))}"
    yield ""
    yield from (f"- {words.told(line, code)}" for line in report.story)
    yield from ("",) if report.story else ()
    for audience, verdict in verdicts(report):
        yield f"- {prose(audience)}: **{prose(verdict)}**"
    shown = [judged for judged in report.findings if everything or judged.severity is not Severity.INFO]
    by_weight = groupby(causes(shown), key=lambda cause: (cause.first.accepted, cause.first.severity))
    for (accepted, severity), group in by_weight:
        yield from ("", f"## {'Accepted: ' if accepted else ''}{severity}")
        for rule, found in groupby(group, key=lambda cause: cause.first.rule):
            group_of_rule = list(found)
            every = [judged for cause in group_of_rule for judged in cause.findings]
            yield from ("", f"### {rule.id}", "", f"{rule.purpose} {words.advice(rule, every, report.options)}", "")
            for cause in group_of_rule:
                yield from _cause(report, cause, everything)
    rows = by_method(report.findings)
    if rows and not report.is_contract:
        yield from ("", "## By method", "", "method | errors | warnings", "--- | --: | --:")
        # A code span may contain a bar, but a table cell must not.
        yield from (
            f"{code(method).replace('|', chr(92) + '|')} | {errors} | {warnings}" for method, errors, warnings in rows
        )
    if report.stale:
        yield from ("", f"## Stale in {code(report.baseline_file)}", "")
    for stale in report.stale:
        yield f"- row {stale.row.number} ({code(stale.row.rule)}, {code(stale.row.path)}) {stale.why}"
    rest = len(report.findings) - len(shown)
    if rest:
        yield from ("", f"{words.counted(rest, 'more harmless change')}.")


def _cause(report: Report, cause: Cause, everything: bool) -> Iterator[str]:
    role = words.tag(cause.first, report.options)
    parts = [f"{f'**{role}**: ' if role else ''}{code(words.what(cause))}"]
    carried = words.method_names(cause)
    many = len(carried) > words.MAX_METHODS
    parts += [f"{len(carried)} methods" if many else ", ".join(map(code, carried))] if carried else []
    parts += [f"behind {code(names)}"] if (names := words.gates(cause.findings)) else []
    parts += [f"accepted: {prose(cause.first.reason)}"] if cause.first.accepted else []
    yield f"- {'; '.join(parts)}"
    if not everything:
        return
    for judged in cause.findings:
        finding = judged.finding
        yield f"  - {code(words.subject(finding))} {finding.fingerprint}"
        for pair in sorted(finding.witnesses):
            message = json.dumps(finding.witnesses[pair], ensure_ascii=False)
            yield f"    - {pair}: {code(message)}"
