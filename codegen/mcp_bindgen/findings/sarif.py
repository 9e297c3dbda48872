"""SARIF 2.1.0 (OASIS), which code scanning services read: one log of one run."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp_bindgen.emit.header import tool_version
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import plain

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "mcpBindgenFinding/v1"
"""The name of our fingerprint; increment its number whenever the computation changes."""


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


def result(
    rule: tuple[str, int],
    severity: Severity,
    text: str,
    location: Mapping[str, Any],
    fingerprint: str,
    *,
    properties: Mapping[str, Any] | None = None,
    accepted: str = "",
) -> dict[str, Any]:
    """Return a finding as JSON values.

    Args:
        rule: the id of its rule, and the place of that among the rules of the log, from 0.
        severity: its severity.
        text: what it says.
        location: where it is.
        fingerprint: what identifies it over time.
        properties: what SARIF has no names for.
        accepted: why a baseline accepts it; empty if none does.
    """
    suppression = {"kind": "external", "status": "accepted", "justification": accepted}
    return {
        "ruleId": rule[0],
        "ruleIndex": rule[1],
        "level": severity.level,
        "message": {"text": plain(text)},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: fingerprint},
        **({"properties": properties} if properties else {}),
        **({"suppressions": [suppression]} if accepted else {}),
    }


def named(place: str) -> dict[str, Any]:
    """Return the location of something that has a name, in no file."""
    return {"logicalLocations": [{"fullyQualifiedName": plain(place)}]}


def in_file(path: Path, line: int | None, column: int | None = None) -> dict[str, Any]:
    """Return a location in a file; line and column count from 1."""
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    region = {"startLine": line, **({} if column is None else {"startColumn": max(column, 1)})}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
