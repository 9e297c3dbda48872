"""The report as SARIF 2.1.0 (OASIS), which code scanning services read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.catalogue import severity
from mcp_bindgen.diff.report.model import Judged, Report
from mcp_bindgen.diff.rule import Rule, Severity
from mcp_bindgen.diff.rules import CATALOGUE
from mcp_bindgen.emit.header import tool_version

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "mcpBindgenFinding/v1"
"""The name of our fingerprint; increment its number whenever the computation changes."""

LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
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
    return log(map(_rule, CATALOGUE), map(_result, report.findings), stale)


def log(
    rules: Iterable[Mapping[str, Any]],
    results: Iterable[Mapping[str, Any]],
    notifications: Sequence[Any] | None = (),
) -> dict[str, Any]:
    """Return a log of one run, as JSON values; without `notifications`, it says nothing of the run itself."""
    tool = {"driver": {"name": "mcp-bindgen", "version": tool_version(), "rules": [*rules]}}
    invocation = {"executionSuccessful": True, "toolConfigurationNotifications": notifications}
    known = {} if notifications is None else {"invocations": [invocation]}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [{"tool": tool, **known, "results": [*results]}]}


def about(rule: Rule) -> dict[str, Any]:
    """Return what the log says of a rule."""
    return {"id": rule.id, "shortDescription": {"text": rule.purpose}, "help": {"text": rule.advice}}


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        **about(rule),
        "defaultConfiguration": {"level": LEVELS[severity(rule)]},
        "properties": {"tags": [rule.view.value]},
    }


def _result(judged: Judged) -> dict[str, Any]:
    finding = judged.finding
    text = f"{finding.place}: {words.reading(finding)}. {finding.rule.purpose} {finding.rule.advice}"
    result: dict[str, Any] = {
        "ruleId": finding.rule.id,
        "ruleIndex": _INDEX[finding.rule.id],
        "level": LEVELS[judged.severity],
        "message": {"text": words.plain(text)},
        "locations": [_location(judged)],
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {
            "breaks": sorted(pair.value for pair in finding.proven),
            "gates": {pair.value: finding.gates[pair] for pair in sorted(finding.gates)},
            "methods": list(finding.methods),
            "witnesses": {pair.value: finding.witnesses[pair] for pair in sorted(finding.witnesses)},
        },
    }
    if judged.accepted:
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": judged.reason}]
    return result


def _location(judged: Judged) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": words.plain(judged.finding.place)}]}
    if judged.where:
        path = Path(judged.where.source)
        uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
        location["physicalLocation"] = {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": judged.where.line},
        }
    return location
