"""The report as a JSON document for programs; diff.schema.json, beside this module, describes it."""

import json
from typing import Any

from mcp_bindgen.diff.finding import Finding, Subject
from mcp_bindgen.diff.report.model import Judged, Report, Side, by_method, causes
from mcp_bindgen.diff.report.words import gate
from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.findings.baseline import Stale
from mcp_bindgen.findings.severity import Severity

FORMAT = 1
"""The version of the document's format: incremented whenever programs that read it must change."""


def render(report: Report, *, everything: bool = True) -> str:
    """Return the document, which always contains all findings."""
    return json.dumps(as_json(report), indent=2) + "\n"


def as_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    options = report.options
    number = {
        judged.finding.fingerprint: index
        for index, cause in enumerate(causes(report.findings))
        for judged in cause.findings
    }
    return {
        "format": FORMAT,
        "tool": {"name": "mcp-bindgen", "version": tool_version()},
        "old": _side(report.old),
        "new": _side(report.new),
        "options": {
            "view": options.view.value if options.view else "all",
            "role": options.role.value if options.role else None,
            "peer": options.peer.value,
            "ignore_gated": options.ignore_gated,
            "fail_on": options.fail_on.value if options.fail_on else None,
        },
        "story": [{"title": line.title, "names": list(line.names)} for line in report.story],
        "verdict": _verdict(report),
        "counts": {severity.value: report.count(severity) for severity in Severity} | {"accepted": report.accepted},
        "methods": [
            {"method": method, "errors": errors, "warnings": warnings}
            for method, errors, warnings in by_method(report.findings)
        ],
        "findings": [_finding(judged, number[judged.finding.fingerprint]) for judged in report.findings],
        "accepted": {"file": report.baseline_file or None, "stale": [_stale(stale) for stale in report.stale]},
    }


def _side(side: Side) -> dict[str, Any]:
    sources = [{"name": source.name, "sha256": source.sha256} for source in side.sources]
    return {"name": side.name, "revision": side.revision if side.dated else None, "sources": sources}


def _verdict(report: Report) -> dict[str, Any]:
    return {
        "peers": [
            {
                "pair": pair.value,
                "role": verdict.role.value,
                "written_for": verdict.ours,
                "against": verdict.theirs,
                "verdict": verdict.verdict.value,
                "breaks": verdict.breaks,
                "unproven": verdict.unproven,
                "gated": verdict.gated,
                "accepted": verdict.accepted,
            }
            for pair, verdict in zip(report.options.pairs, report.peers, strict=True)
        ],
        "source": {"breaks": report.source_breaks},
        "version": "" if report.is_contract else gate(report.old, report.new),
        "author": {
            "verdict": report.compatibility.verdict.value,
            "sentence": report.compatibility.sentence,
            "deciding": sorted({finding.fingerprint for finding in report.compatibility.deciding}),
            "undecided": sorted({finding.fingerprint for finding in report.compatibility.undecided}),
            "doubtful": sorted({finding.fingerprint for finding in report.compatibility.doubtful}),
        },
    }


def _finding(judged: Judged, cause: int) -> dict[str, Any]:
    finding, rule, where = judged.finding, judged.rule, judged.where
    return {
        "fingerprint": finding.fingerprint,
        "cause": cause,
        "rule": rule.id,
        "view": rule.view.value,
        "severity": judged.severity.value,
        "ungated_severity": finding.severity.value,
        "gated_severity": finding.gated_severity.value,
        "accepted": judged.reason or None,
        "place": finding.place,
        "now": finding.now or finding.place,
        "pointer": finding.pointer,
        "location": {"file": where.source, "line": where.line} if where else None,
        "before": _subject(finding.before),
        "after": _subject(finding.after),
        "old": finding.old,
        "new": finding.new,
        "methods": list(finding.methods),
        "carriers": _carriers(finding),
        "breaks": sorted(pair.value for pair in finding.proven),
        "unproven": {pair.value: finding.why_unproven.get(pair, "") for pair in sorted(finding.unproven)},
        "breaks_source": rule.breaks_source,
        "gates": {pair.value: finding.gates[pair] for pair in sorted(finding.gates)},
        "purpose": rule.purpose,
        "advice": rule.advice,
        "witnesses": {pair.value: finding.witnesses[pair] for pair in sorted(finding.witnesses)},
    }


def _subject(subject: Subject | None) -> dict[str, str] | None:
    return {"definition": subject.definition, "property": subject.member} if subject else None


def _carriers(finding: Finding) -> list[dict[str, str]]:
    return [
        {
            "method": carrier.method,
            "part": carrier.part,
            "direction": carrier.travel.value,
            "path": "".join(str(step) for step in way),
        }
        for carrier, way in sorted(finding.carriers.items())
    ]


def _stale(stale: Stale) -> dict[str, Any]:
    row = stale.row
    return {"row": row.number, "rule": row.rule, "path": row.path, "reason": row.reason, "why": stale.why}
