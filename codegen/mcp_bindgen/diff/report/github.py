"""The report as workflow commands, which GitHub Actions turns into annotations on the lines of a change."""

from collections.abc import Iterator

from mcp_bindgen.diff.report import words
from mcp_bindgen.diff.report.model import Judged, Report
from mcp_bindgen.diff.report.text import verdicts
from mcp_bindgen.findings.severity import Severity
from mcp_bindgen.ir.diagnostics import plain

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: Report, *, everything: bool) -> str:
    """Return one command per line, the worst first; accepted and harmless findings are notices."""
    return "".join(f"{line}\n" for line in _lines(report, everything))


def command(name: str, properties: dict[str, str], message: str) -> str:
    """Return a workflow command, escaped for the runner."""
    spelled = ",".join(f"{key}={value.translate(_PROPERTY)}" for key, value in properties.items())
    return f"::{name} {spelled}::{message.translate(_DATA)}"


def _lines(report: Report, everything: bool) -> Iterator[str]:
    told = [words.headline(report), *(f"{audience}: {verdict}" for audience, verdict in verdicts(report))]
    yield command("notice", {"title": report.command}, "\n".join(plain(line) for line in told))
    for judged in report.findings:
        if everything or (judged.severity is not Severity.INFO and not judged.accepted):
            yield _finding(report, judged)
    for stale in report.stale:
        message = f"row {stale.row.number} ({stale.row.rule}, {stale.row.path}) {stale.why}"
        yield command("warning", {"title": "stale", "file": report.baseline_file}, plain(message))


def _finding(report: Report, judged: Judged) -> str:
    finding = judged.finding
    properties = {"title": f"{finding.rule.id}: {words.short(plain(finding.place))}"}
    if judged.where:
        properties |= {"file": judged.where.source, "line": str(judged.where.line)}
    role = "callers" if report.is_contract else words.tag(judged, report.options)
    parts = [f"{words.reading(finding)}."]
    parts += [f"Breaks: {role}."] if role and judged.broken else []
    parts += [f"Behind {names}."] if (names := words.gates([judged])) else []
    parts += [f"Accepted: {judged.reason}."] if judged.accepted else []
    message = plain(" ".join([*parts, finding.rule.purpose, words.advice(finding.rule, [judged], report.options)]))
    return command("notice" if judged.accepted else judged.severity.command, properties, message)
