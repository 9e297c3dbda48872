"""The report on a server, in the formats that `mcp-bindgen diff` has: text, JSON, Markdown, SARIF and JUnit."""

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final
from urllib.parse import quote

from mcp_bindgen.check.findings import Finding
from mcp_bindgen.check.requirements import row_of
from mcp_bindgen.check.run import Checked
from mcp_bindgen.check.selection import Wanted
from mcp_bindgen.diff.report.markdown import code, prose
from mcp_bindgen.diff.report.words import listed
from mcp_bindgen.findings import junit, sarif
from mcp_bindgen.findings.baseline import Baseline, Stale
from mcp_bindgen.findings.severity import Severity, worst
from mcp_bindgen.ingest.sources import public_name
from mcp_bindgen.ir.diagnostics import clip, count, plain, printable
from mcp_bindgen.live.target import Command

MAX_TEXT: Final = 300
"""The number of characters of a message that the report shows."""


class Report:
    """What was found, and what of it a baseline accepts.

    Attributes:
        checked: the result.
        server: how the server is given on the command line.
        findings: what is not accepted, errors first.
        accepted: what is.
        stale: the rows of the baseline that no longer have an effect.
    """

    def __init__(self, checked: Checked, wanted: Wanted, baseline: Baseline) -> None:
        self.checked = checked
        target = wanted.target
        self.server = f"-- {shlex.join(target.words)}" if isinstance(target, Command) else public_name(target.url)
        self._typed = wanted.typed
        self._baseline = baseline
        self.findings = [each for each in checked.findings if not self.reason(each)]
        self.accepted = [each for each in checked.findings if self.reason(each)]
        self.stale: Sequence[Stale] = baseline.stale(checked.findings)

    def reason(self, finding: Finding) -> str:
        """Return why a finding is accepted; empty if it is not."""
        row = self._baseline.row_of(finding)
        return row.reason if row else ""

    def number(self, severity: Severity) -> int:
        """Return how many findings have a severity."""
        return sum(each.severity is severity for each in self.findings)

    @property
    def name(self) -> str:
        """The name and version of the server, as it gives them."""
        told = " ".join(str(self.checked.server.get(key, "")) for key in ("name", "version")).strip()
        return plain(told) or self.server.removeprefix("-- ")

    @property
    def summary(self) -> str:
        """How many findings there are, and what was done."""
        errors, warnings, notes = (count(self.number(each), each.level) for each in Severity)
        accepted = f", {len(self.accepted)} accepted" if self.accepted else ""
        done = f"{count(self.checked.probes, 'probe')}, {count(self.checked.calls, 'call')} of tools"
        clean = f" (none in {', '.join(self.clean)})" if self.clean and self.number(Severity.ERROR) else ""
        return f"{errors}{clean}, {warnings}, {notes}{accepted}; {done}, {count(self.checked.messages, 'message')}"

    @property
    def clean(self) -> list[str]:
        """The revisions that it speaks without an error."""
        wrong = {name for each in self.findings if each.severity is Severity.ERROR for name in each.revisions}
        return [name for name in self.checked.revisions if name not in wrong]

    @property
    def unjudged(self) -> list[str]:
        """What could not be judged, one line for each reason."""
        subjects: dict[str, list[str]] = {}
        for each in self.checked.unjudged:
            subject, _, reason = each.partition(": ")
            subjects.setdefault(reason, []).append(subject)
        return [f"{listed(names)}: {plain(reason)}" for reason, names in subjects.items()]

    def again(self, finding: Finding) -> str:
        """Return the command that repeats the probe of a finding alone."""
        is_of_robust = finding.requirement.startswith("robust.") and not finding.probe
        first = "--robust" if is_of_robust else f"--revision {finding.revision}"
        typed = "".join(f"{shlex.quote(word)} " for word in self._typed)
        # What another probe meets is not found by a probe of its own.
        only = " ".join(f"--only {id_}" for id_ in dict.fromkeys((finding.requirement, finding.probe)) if id_)
        return f"mcp-bindgen check {first} {only} {typed}{self.server}"


def text(report: Report) -> str:
    """Return the report for people: errors whole, the first warning of each requirement too, and notes in a line."""
    return "\n".join(map(printable, _lines(report))) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.name}: speaks {', '.join(report.checked.revisions)}"
    for (severity, id_), group in groupby(report.findings, key=lambda each: (each.severity, each.requirement)):
        findings = list(group)
        whole = {Severity.ERROR: len(findings), Severity.WARNING: 1}.get(severity, 0)
        for each in findings[:whole]:
            yield ""
            yield from _whole(report, each)
        if not whole:
            yield ""
            yield f"{severity.level} {id_}: {row_of(id_).text}"
        if others := "; ".join(plain(each.reason) for each in findings[whole:]):
            yield f"  {f'{len(findings) - whole} more: ' if whole else ''}{clip(others, MAX_TEXT)}"
    yield ""
    yield from (f"not judged: {each}" for each in report.unjudged)
    yield report.summary
    yield from (f"stale row {each.row.number} of the baseline ({each.row.rule}): {each.why}" for each in report.stale)


def _whole(report: Report, finding: Finding) -> Iterator[str]:
    yield f"{finding.severity.level} {finding.requirement} ({', '.join(finding.revisions)}): {finding.row.text}"
    yield f"  {plain(finding.reason)}"
    yield from (f"  so it breaks {', '.join(finding.also)} too",) if finding.also else ()
    yield from (f"  {finding.link}",) if finding.link else ()
    yield from (f"  {'>' if said.by_client else '<'} {clip(plain(said.text), MAX_TEXT)}" for said in finding.said)
    yield f"  again: {report.again(finding)}"


def as_json(report: Report) -> str:
    """Return the report for programs."""
    checked = report.checked
    facts = {
        "server": checked.server,
        "revisions": checked.revisions,
        "clean": report.clean,
        "findings": [_facts(report, each) for each in report.findings],
        "accepted": [{**_facts(report, each), "accepted": report.reason(each)} for each in report.accepted],
        "probes": checked.probes,
        "calls": checked.calls,
        "messages": checked.messages,
        "not_judged": [*checked.unjudged],
        "stale": [{"row": each.row.number, "why": each.why} for each in report.stale],
    }
    return json.dumps(facts, indent=2)


def _facts(report: Report, finding: Finding) -> dict[str, Any]:
    return {
        "requirement": finding.requirement,
        "severity": finding.severity.level,
        "place": finding.place,
        "revisions": finding.revisions,
        "text": finding.row.text,
        "reason": finding.reason,
        "also": finding.also,
        "link": finding.link,
        "messages": [{"sender": _sender(said.by_client), "text": said.text} for said in finding.said],
        "again": report.again(finding),
        "fingerprint": finding.fingerprint,
    }


def _sender(by_client: bool) -> str:
    return "client" if by_client else "server"


def markdown(report: Report) -> str:
    """Return the report as Markdown, with a badge."""
    color = (worst(each.severity for each in report.findings) or Severity.INFO).color
    told = f"{count(report.number(Severity.ERROR), 'error')}, {count(report.number(Severity.WARNING), 'warning')}"
    badge = f"https://img.shields.io/badge/MCP-{quote(told.replace('-', '--'))}-{color}"
    lines = [f"# {prose(report.name)}", "", f"![MCP: {told}]({badge})", ""]
    lines += [f"Speaks {', '.join(report.checked.revisions)}. {prose(report.summary)}."]
    for each in report.findings:
        lines += [
            "",
            f"## {each.severity.level} {each.requirement}{f': {code(each.place)}' if each.place else ''}",
            "",
        ]
        lines += [f"{each.row.text} ({', '.join(each.revisions)}{f', [page]({each.link})' if each.link else ''})", ""]
        lines += [prose(each.reason), ""]
        lines += [f"- {_sender(said.by_client)}: {code(clip(said.text, MAX_TEXT))}" for said in each.said]
        lines += [f"- again: {code(report.again(each))}"]
    lines += ["", "## Not judged", ""] if report.checked.unjudged else []
    return "\n".join([*lines, *(f"- {prose(each)}" for each in report.unjudged)]) + "\n"


def as_sarif(report: Report) -> str:
    """Return the report as SARIF, which code scanning services read."""
    every = [*report.findings, *report.accepted]
    ids = list(dict.fromkeys(each.requirement for each in every))
    rules = [
        {"id": id_, "shortDescription": {"text": row_of(id_).text}, **({"helpUri": link} if link else {})}
        for id_ in ids
        for link in [next(each.link for each in every if each.requirement == id_)]
    ]
    results = [_result(report, each, ids.index(each.requirement)) for each in every]
    return json.dumps(sarif.log(rules, results), indent=2) + "\n"


def _result(report: Report, finding: Finding, index: int) -> dict[str, Any]:
    return sarif.result(
        (finding.requirement, index),
        finding.severity,
        f"{finding.reason}. {finding.row.text}",
        sarif.named(finding.place or report.name),
        finding.fingerprint,
        properties={"revisions": finding.revisions, "again": report.again(finding)},
        accepted=report.reason(finding),
    )


def as_junit(report: Report) -> str:
    """Return the report as JUnit XML: errors fail, what is accepted is skipped."""
    cases = [
        junit.Case(
            suite=each.requirement,
            name=plain(f"{each.place}: {each.reason}" if each.place else each.reason),
            text="\n".join(
                [each.row.text, each.link, *(plain(said.text) for said in each.said), f"again: {report.again(each)}"]
            ),
            fails=each.severity.level if each.severity is Severity.ERROR else "",
            accepted=report.reason(each),
        )
        for each in (*report.findings, *report.accepted)
    ]
    return junit.document(f"{report.name}: {report.summary}", cases)


RENDERERS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": text,
    "json": as_json,
    "markdown": markdown,
    "sarif": as_sarif,
    "junit": as_junit,
}
"""The formats of the report."""
