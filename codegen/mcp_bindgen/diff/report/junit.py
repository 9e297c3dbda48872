"""The report as JUnit XML: one test case per finding, failed if it is at the threshold, skipped if it is accepted."""

import json

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, Report
from mcp_bindgen.findings.junit import Case, document
from mcp_bindgen.ir.diagnostics import plain


def render(report: Report, *, everything: bool = True) -> str:
    """Return the document, which always contains all findings: one suite per rule, the worst rules first."""
    return document(words.headline(report), map(_case, report.findings))


def _case(judged: Judged) -> Case:
    finding = judged.finding
    lines = [f"{finding.rule.purpose} {finding.rule.advice}", f"fingerprint: {finding.fingerprint}"]
    lines += [f"methods: {', '.join(finding.methods)}"] if finding.methods else []
    lines += [f"{pair}: {json.dumps(finding.witnesses[pair])}" for pair in sorted(finding.witnesses)]
    return Case(
        suite=finding.rule.id,
        name=f"{finding.place}: {words.reading(finding)}",
        text="\n".join(plain(line) for line in lines),
        fails=judged.severity.value if judged.fails else "",
        accepted=judged.reason if judged.accepted else "",
        place={"file": judged.where.source, "line": str(judged.where.line)} if judged.where else {},
    )
