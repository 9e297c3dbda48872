"""The report as SARIF 2.1.0 (OASIS), which code scanning services read."""

import json
from pathlib import Path
from typing import Any

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.catalogue import severity
from mcp_bindgen.diff.report.model import Judged, Report
from mcp_bindgen.diff.rule import Rule
from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.findings import sarif

_INDEX = {rule.id: number for number, rule in enumerate(CATALOGUE)}


def render(report: Report, *, everything: bool = True) -> str:
    """Return the log, which always contains all findings."""
    return json.dumps(as_sarif(report), indent=2) + "\n"


def as_sarif(report: Report) -> dict[str, Any]:
    """Return the log as JSON values."""
    stale = [
        {
            "level": "warning",
            "message": {"text": f"{report.baseline_file}: row {stale.row.number} {stale.why}"},
            "associatedRule": {"id": stale.row.rule, "index": _INDEX[stale.row.rule]},
        }
        for stale in report.stale
    ]
    return sarif.log(map(_rule, CATALOGUE), map(_result, report.findings), stale)


def about(rule: Rule) -> dict[str, Any]:
    """Return what the log says of a rule."""
    return {"id": rule.id, "shortDescription": {"text": rule.purpose}, "help": {"text": rule.advice}}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        **about(rule),
        "defaultConfiguration": {"level": severity(rule).level},
        "properties": {"tags": [rule.view.value]},
    }


def _result(judged: Judged) -> dict[str, Any]:
    finding = judged.finding
    location = sarif.named(finding.place)
    if judged.where:
        location |= sarif.in_file(Path(judged.where.source), judged.where.line)
    return sarif.result(
        (finding.rule.id, _INDEX[finding.rule.id]),
        judged.severity,
        f"{finding.place}: {words.reading(finding)}. {finding.rule.purpose} {finding.rule.advice}",
        location,
        finding.fingerprint,
        properties={
            "breaks": sorted(pair.value for pair in finding.proven),
            "gates": {pair.value: finding.gates[pair] for pair in sorted(finding.gates)},
            "methods": list(finding.methods),
            "witnesses": {pair.value: finding.witnesses[pair] for pair in sorted(finding.witnesses)},
        },
        accepted=judged.reason if judged.accepted else "",
    )
